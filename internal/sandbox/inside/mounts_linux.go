package inside

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/subpath"
)

// mounts is the file system of a box while it is built.
type mounts struct {
	policy    *policy.Policy
	terminals int      // the directory of the outer terminals
	masks     []string // file systems in memory that become read-only at the end
	writable  []string // what programs may write to
}

// place is one mount of the box. Places are made in the order of their paths: what
// is below another place is made after it.
type place struct {
	at   string
	rank int // at the same path: hidden first, shown after it
	make func(at string) error
}

// buildMounts makes the box's view of the file system. Everything that stays as it
// is becomes read-only; what is shown elsewhere, or writable, is taken beforehand.
func buildMounts(p *policy.Policy) (*mounts, error) {
	m := &mounts{policy: p, terminals: -1}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, step("separate the mounts from the system's", err)
	}
	var err error
	if m.terminals, err = unix.Open("/dev/pts", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return nil, step("open /dev/pts", err)
	}
	places, err := m.shown()
	if err != nil {
		return nil, err
	}
	devices, err := takeDevices()
	if err != nil {
		return nil, err
	}
	all := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &all); err != nil {
		return nil, step("make the system read-only", err)
	}
	for _, hidden := range p.Hide {
		places = append(places, place{at: hidden, make: m.hide})
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(strings.Compare(order(a.at), order(b.at)), cmp.Compare(a.rank, b.rank))
	})
	for _, pl := range append(m.private(devices), places...) {
		if err := pl.make(pl.at); err != nil {
			return nil, err
		}
	}
	if err := m.links(); err != nil {
		return nil, step("make links in /run", err)
	}
	return m, m.finish()
}

// links makes those of /run. What is there already is something of the box.
func (m *mounts) links() error {
	for _, link := range m.policy.Links {
		if err := os.MkdirAll(path.Dir(link.At), 0o755); err != nil { //nolint:gosec // as it is outside
			return err
		}
		if err := os.Symlink(link.To, link.At); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// order makes a path sort before everything below it, and that before its
// neighbours.
func order(at string) string { return strings.ReplaceAll(at, "/", "\x01") }

// shown takes the trees that the policy shows, as they are before the rest of the
// system becomes read-only.
func (m *mounts) shown() ([]place, error) {
	p := m.policy
	trees := []struct {
		from, at string
		readonly bool
	}{{p.Home, p.HomeAt, false}, {p.Workspace, p.Workspace, false}}
	for _, at := range m.temporary() {
		if p.Tmp != "" {
			trees = append(trees, struct {
				from, at string
				readonly bool
			}{p.Tmp, at, false})
		}
	}
	for _, at := range p.Write {
		trees = append(trees, struct {
			from, at string
			readonly bool
		}{at, at, false})
	}
	for _, at := range p.Read {
		trees = append(trees, struct {
			from, at string
			readonly bool
		}{at, at, true})
	}
	var places []place
	for _, t := range trees {
		fd, dir, err := take(t.from, t.readonly)
		if errors.Is(err, fs.ErrNotExist) && t.readonly && subpath.Within("/run", t.from) {
			continue // What is there ends with the machine, or with who has made it.
		}
		if err != nil {
			return nil, step("take "+t.from, err)
		}
		if !t.readonly {
			m.writable = append(m.writable, t.at)
		}
		places = append(places, place{at: t.at, rank: 1, make: func(at string) error {
			return step("show "+at, m.attach(fd, dir, at))
		}})
	}
	return places, nil
}

// take copies a tree of mounts, as a descriptor that is mounted nowhere.
func take(from string, readonly bool) (fd int, dir bool, err error) {
	at, err := open(from)
	if err != nil {
		return -1, false, err
	}
	defer func() { _ = unix.Close(at) }()
	var stat unix.Stat_t
	if err := unix.Fstat(at, &stat); err != nil {
		return -1, false, err
	}
	fd, err = unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, false, err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if readonly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
	return fd, stat.Mode&unix.S_IFMT == unix.S_IFDIR, err
}

// open opens a path without following a symbolic link: a policy has none, so one
// that is there now was put there since.
func open(at string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	return unix.Openat2(unix.AT_FDCWD, at, &how)
}

// attach mounts a taken tree, and makes the place for it if there is none.
func (m *mounts) attach(fd int, dir bool, at string) error {
	to, err := m.target(at, dir)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(to) }()
	return unix.MoveMount(fd, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// target opens the place for a mount. Where it is missing, it is made: in a file
// system of the box it can be, elsewhere it fails. In the home directory, which the
// agent writes, something else may be in the way; it is removed.
func (m *mounts) target(at string, dir bool) (int, error) {
	if fd, err := open(at); err == nil {
		return fd, nil
	}
	parent, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	done := "/"
	names := strings.Split(strings.TrimPrefix(at, "/"), "/")
	for i, name := range names {
		next, err := m.descend(parent, name, done, dir || i < len(names)-1)
		_ = unix.Close(parent)
		if err != nil {
			return -1, err
		}
		parent, done = next, path.Join(done, name)
	}
	return parent, nil
}

// descend opens one element of a path, and makes it where it is missing.
func (m *mounts) descend(parent int, name, in string, dir bool) (int, error) {
	flags := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if dir {
		flags |= unix.O_DIRECTORY
	}
	fd, err := unix.Openat(parent, name, flags, 0)
	if err == nil {
		return fd, nil
	}
	if !errors.Is(err, unix.ENOENT) {
		if !subpath.Within(m.policy.HomeAt, in) {
			return -1, err
		}
		if err := unix.Unlinkat(parent, name, 0); err != nil {
			return -1, err
		}
	}
	if dir {
		err = unix.Mkdirat(parent, name, 0o755)
	} else {
		fd, err = unix.Openat(parent, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		if err == nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil && !errors.Is(err, unix.EEXIST) { // another box of the workspace was quicker
		return -1, err
	}
	return unix.Openat(parent, name, flags, 0)
}

// hide shows a directory or a file as empty.
func (m *mounts) hide(at string) error {
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ENOTDIR):
		return nil // There is nothing that a program could see.
	case err != nil:
		return step("hide "+at, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil // A policy hides what is behind it by its own path.
	case info.IsDir():
		m.masks = append(m.masks, at)
		return step("hide "+at, unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"))
	}
	return step("hide "+at, m.bindEmpty(at))
}

// bindEmpty mounts an empty file over another one.
func (m *mounts) bindEmpty(at string) error {
	const empty = "/run/.empty"
	f, err := os.OpenFile(empty, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444) //nolint:gosec // it is empty
	if err != nil {
		return err
	}
	_ = f.Close()
	if err := over(empty, at, true); err != nil {
		return err
	}
	return os.Remove(empty)
}

// over mounts a path over another one, or over itself.
func over(from, at string, readonly bool) error {
	fd, _, err := take(from, readonly)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	to, err := open(at)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(to) }()
	return unix.MoveMount(fd, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// finish completes the file system after the trees are in place: pins, protected
// paths, resolv.conf, hosts and .gitconfig. Then it makes the masks read-only and
// enters the home directory.
func (m *mounts) finish() error {
	for _, dir := range m.policy.Pins() {
		if err := over(dir, dir, false); err != nil {
			return step("pin "+dir, err)
		}
	}
	for _, at := range m.policy.Protect {
		if err := over(at, at, true); err != nil {
			return step("protect "+at, err)
		}
	}
	if err := m.resolver(); err != nil {
		return step("show a resolv.conf", err)
	}
	if err := m.hosts(); err != nil {
		return step("show a hosts file", err)
	}
	if err := m.writeGitConfig(); err != nil {
		return step("write .gitconfig", err)
	}
	sealed := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	for _, at := range append(m.masks, "/dev") {
		if err := unix.MountSetattr(unix.AT_FDCWD, at, 0, &sealed); err != nil {
			return step("make "+at+" read-only", err)
		}
	}
	home, err := open(m.policy.HomeAt)
	if err != nil {
		return step("enter the home directory", err)
	}
	defer func() { _ = unix.Close(home) }()
	return step("enter the home directory", unix.Fchdir(home))
}

// writeGitConfig writes the git configuration. What the agent has left there, a
// link among them, is replaced; the file system is the box's by now, so a link
// in a directory above cannot lead out of it either.
func (m *mounts) writeGitConfig() error {
	if m.policy.GitConfig == "" {
		return nil
	}
	at := path.Join(m.policy.HomeAt, ".gitconfig")
	// Programs of another box of the workspace may read the file, or it is being written there.
	f, err := os.CreateTemp(m.policy.HomeAt, ".gitconfig-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(m.policy.GitConfig)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil && os.Rename(f.Name(), at) != nil {
		if err = os.RemoveAll(at); err == nil { // it was a directory
			err = os.Rename(f.Name(), at)
		}
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it is incomplete
	}
	return err
}
