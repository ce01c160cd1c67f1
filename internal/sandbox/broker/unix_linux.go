package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/subpath"
)

// unixCall makes the call of a Unix socket. One is made in the writable trees only,
// and connected to listeners of the box and to what the user allows.
func (b *Broker) unixCall(n *notification, socket int, address []byte) error {
	switch n.nr {
	case unix.SYS_CONNECT:
		return b.connectUnix(n, socket, address)
	case unix.SYS_BIND:
		return b.bindUnix(n, socket, address)
	case unix.SYS_LISTEN:
		return b.listenUnix(socket, int(int32(n.args[1])))
	}
	return unix.ENOSYS
}

// unixPath is the path of struct sockaddr_un. Names without a path are those of every
// program of this machine.
func unixPath(address []byte) (string, error) {
	if binary.NativeEndian.Uint16(address) != unix.AF_UNIX {
		return "", unix.EINVAL
	}
	name, _, _ := bytes.Cut(address[2:], []byte{0})
	if len(name) == 0 {
		return "", unix.EACCES
	}
	return string(name), nil
}

// directory is that of the process, in which its paths begin.
func (n *notification) directory() (int, error) {
	return unix.Open("/proc/"+strconv.Itoa(int(n.pid))+"/cwd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// umask is that of the process.
func (n *notification) umask() int {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(int(n.pid)) + "/status")
	if err == nil {
		for line := range strings.Lines(string(status)) {
			if value, ok := strings.CutPrefix(line, "Umask:"); ok {
				if mask, err := strconv.ParseUint(strings.TrimSpace(value), 8, 16); err == nil {
					return int(mask)
				}
			}
		}
	}
	return 0o077
}

// bindUnix makes a socket a file, as the program would, on a thread that can make
// nothing outside of the trees: what the program moves meanwhile has no effect.
func (b *Broker) bindUnix(n *notification, socket int, address []byte) error {
	name, err := unixPath(address)
	if err != nil {
		return err
	}
	dir, err := n.directory()
	if err != nil {
		return unix.EACCES
	}
	defer func() { _ = unix.Close(dir) }()
	mask := n.umask()
	return b.maker.do(b.cfg.Trees, func() error {
		if !path.IsAbs(name) {
			if err := unix.Fchdir(dir); err != nil {
				return err
			}
			defer func() { _ = unix.Chdir("/") }()
		}
		unix.Umask(mask)
		return rawBind(socket, address)
	})
}

// listenUnix makes a socket a listener of the box.
func (b *Broker) listenUnix(socket, backlog int) error {
	var stat unix.Stat_t
	if err := unix.Fstat(socket, &stat); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := unix.Listen(socket, backlog); err != nil {
		return err
	}
	b.named[stat.Ino] = true
	return nil
}

// connectUnix connects a socket to the file that the path led to when it was looked at.
func (b *Broker) connectUnix(n *notification, socket int, address []byte) error {
	name, err := unixPath(address)
	if err != nil {
		return err
	}
	dir, err := n.directory()
	if err != nil {
		return unix.EACCES
	}
	defer func() { _ = unix.Close(dir) }()
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	target, err := unix.Openat2(dir, name, how)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(target) }()
	var stat unix.Stat_t
	if err := unix.Fstat(target, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return unix.ECONNREFUSED
	}
	at := "/proc/self/fd/" + strconv.Itoa(target)
	real, err := os.Readlink(at)
	if err != nil {
		return err
	}
	if slices.Contains(b.cfg.Sockets, real) || b.writable(real) && b.listens(target) {
		return connectSoon(socket, at)
	}
	return unix.EACCES
}

// connectPatience is how long a connection may wait for a listener whose queue is
// full, in seconds. Nothing else would end the wait if the listener is outside.
const connectPatience = 10

// connectSoon connects a socket to a path.
func connectSoon(socket int, at string) error {
	old, err := unix.GetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	if err != nil {
		return err
	}
	if old.Sec == 0 && old.Usec == 0 { // for ever
		if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: connectPatience}); err != nil {
			return err
		}
		defer func() { _ = unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO, old) }()
	}
	return unix.Connect(socket, &unix.SockaddrUnix{Name: at})
}

// writable says that programs can make files at a path.
func (b *Broker) writable(at string) bool {
	return slices.ContainsFunc(b.cfg.Trees, func(tree string) bool { return subpath.Within(tree, at) })
}

// listens says that an open socket file is that of a listener of the box.
func (b *Broker) listens(file int) bool {
	want, err := identify(file)
	if err != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	rows, err := unixListeners()
	if err != nil {
		return false
	}
	alive, found := make(map[uint64]bool, len(b.named)), false
	for _, row := range rows {
		if b.named[row.inode] {
			alive[row.inode] = true
			found = found || row.file == want
		}
	}
	b.named = alive
	return found
}

// identity is a file as the kernel numbers it. What stat(2) says is another number in
// some file systems.
type identity struct {
	device uint32 // as in the kernel: 12 and 20 bits
	inode  uint32
}

// identify reads the identity of an open file.
func identify(file int) (identity, error) {
	info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(file))
	if err != nil {
		return identity{}, err
	}
	inode, err := strconv.ParseUint(field(info, "ino:"), 10, 32) // more could be two files
	if err != nil {
		return identity{}, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return identity{}, err
	}
	mount := field(info, "mnt_id:")
	for line := range bytes.Lines(mounts) {
		// ID, parent, MAJOR:MINOR, … (proc_pid_mountinfo(5))
		fields := strings.Fields(string(line))
		if len(fields) < 3 || fields[0] != mount {
			continue
		}
		major, minor, _ := strings.Cut(fields[2], ":")
		high, err := strconv.ParseUint(major, 10, 12)
		low, lowErr := strconv.ParseUint(minor, 10, 20)
		return identity{device: uint32(high<<20 | low), inode: uint32(inode)}, errors.Join(err, lowErr)
	}
	return identity{}, fs.ErrNotExist
}

// field is the value of a line of a file in /proc.
func field(text []byte, name string) string {
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}
