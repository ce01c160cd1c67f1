package inside

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// devices are those of a box. console is where a terminal from outside is shown.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// readOnlyProc are parts of /proc that change the machine, and emptyProc parts that
// tell about it. They are the user's own where the user is root.
var (
	readOnlyProc = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
	emptyProc    = []string{"/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kmsg", "/proc/timer_list"}
)

// takeDevices takes the devices before /dev is replaced.
func takeDevices() (map[string]int, error) {
	taken := map[string]int{}
	for _, name := range devices {
		fd, _, err := take("/dev/"+name, false)
		if err != nil {
			return nil, step("take /dev/"+name, err)
		}
		taken[name] = fd
	}
	return taken, nil
}

// private lists the directories that each box has for itself, and marks them as
// writable.
func (m *mounts) private(devices map[string]int) []place {
	memory := func(options string) func(string) error {
		return func(at string) error {
			return step("make "+at, unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options))
		}
	}
	m.writable = append(m.writable, "/run", "/dev", "/proc")
	places := []place{
		{at: "/run", make: memory("mode=755")},
		{at: "/dev", make: func(at string) error { return step("make "+at, makeDevices(at, devices)) }},
		{at: "/proc", make: func(at string) error { return step("make "+at, m.makeProc(at)) }},
	}
	if m.policy.Tmp == "" {
		for _, at := range m.temporary() {
			places = append(places, place{at: at, make: memory("mode=1777")})
			m.writable = append(m.writable, at)
		}
	}
	return places
}

// temporary are the directories for everybody's temporary files. Both are the same
// one if the policy has it. One may be a link to the other.
func (m *mounts) temporary() []string {
	return slices.DeleteFunc([]string{"/tmp", "/var/tmp"}, func(at string) bool {
		info, err := os.Lstat(at)
		return err != nil || !info.IsDir()
	})
}

// makeDevices makes /dev, with a place for a terminal from outside.
func makeDevices(at string, devices map[string]int) error {
	if err := unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755"); err != nil {
		return err
	}
	for _, dir := range []string{"pts", "shm", "mqueue"} {
		if err := os.Mkdir(path.Join(at, dir), 0o755); err != nil { //nolint:gosec // a mount point
			return err
		}
	}
	for name, fd := range devices {
		if err := touch(path.Join(at, name)); err != nil {
			return err
		}
		if err := unix.MoveMount(fd, "", unix.AT_FDCWD, path.Join(at, name), unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return step(name, err)
		}
		_ = unix.Close(fd)
	}
	links := [][2]string{{"pts/ptmx", "ptmx"}, {"/proc/self/fd", "fd"}, {"fd/0", "stdin"}, {"fd/1", "stdout"}, {"fd/2", "stderr"}}
	for _, link := range links {
		if err := os.Symlink(link[0], path.Join(at, link[1])); err != nil {
			return err
		}
	}
	return errors.Join(
		touch(path.Join(at, "console")),
		unix.Mount("devpts", path.Join(at, "pts"), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"),
		unix.Mount("tmpfs", path.Join(at, "shm"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"),
		unix.Mount("mqueue", path.Join(at, "mqueue"), "mqueue", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""),
	)
}

func touch(at string) error {
	f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// makeProc shows the processes of the box alone. Of what else is in it, nothing
// can be changed.
func (m *mounts) makeProc(at string) error {
	if err := unix.Mount("proc", at, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	for _, part := range readOnlyProc {
		if err := over(part, part, true); err != nil && !errors.Is(err, unix.ENOENT) {
			return step(part, err)
		}
	}
	for _, part := range emptyProc {
		if _, err := os.Lstat(part); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := over("/dev/null", part, false); err != nil {
			return step(part, err)
		}
	}
	return nil
}

// resolver makes every look-up of a name ask the box's own loopback address. If
// there is no server on it, the look-up fails at once.
func (m *mounts) resolver() error {
	const link = "/etc/resolv.conf"
	at, err := filepath.EvalSymlinks(link)
	if errors.Is(err, fs.ErrNotExist) {
		// It leads to /run, which is the box's own by now, or it does not exist.
		if at, err = os.Readlink(link); err != nil {
			return nil //nolint:nilerr // Without the file, the same address is asked.
		}
		if !path.IsAbs(at) {
			at = path.Join("/etc", at)
		}
		if err := os.MkdirAll(path.Dir(at), 0o755); err != nil { //nolint:gosec // as it is outside
			return nil //nolint:nilerr // A link that leads nowhere outside, too.
		}
		return os.WriteFile(at, []byte(resolvConf), 0o644) //nolint:gosec // as it is outside
	}
	if err != nil {
		return err
	}
	const ours = "/run/resolv.conf"
	if err := os.WriteFile(ours, []byte(resolvConf), 0o644); err != nil { //nolint:gosec // as it is outside
		return err
	}
	return over(ours, at, true)
}

const resolvConf = "nameserver 127.0.0.1\noptions edns0\n"

// showTerminal shows a terminal from outside as /dev/console: programs that look
// for the name of their terminal find it there. What is not a terminal of the outer
// /dev/pts has no name; showTerminal then returns nil.
func (h *helper) showTerminal(fd int) error {
	link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return step("find the terminal", err)
	}
	name := path.Base(link)
	if _, err := strconv.Atoi(name); err != nil {
		return nil // another kind of terminal
	}
	slave, err := unix.Openat(h.terminals, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // a terminal of another devpts
	}
	defer func() { _ = unix.Close(slave) }()
	var given, found unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &given), unix.Fstat(slave, &found)); err != nil {
		return step("find the terminal", err)
	}
	if given.Dev != found.Dev || given.Ino != found.Ino {
		return nil
	}
	tree, err := unix.OpenTree(slave, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return step("take the terminal", err)
	}
	defer func() { _ = unix.Close(tree) }()
	// The one of the last program goes; where there was none, there is none to go.
	if h.console {
		if err := unix.Unmount("/dev/console", unix.MNT_DETACH); err != nil {
			return step("show the terminal", err)
		}
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, "/dev/console", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return step("show the terminal", fmt.Errorf("/dev/console: %w", err))
	}
	h.console = true
	return nil
}
