package broker

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock cannot name the terminals that a program will make: all of the user's are
// in one directory. So a program asks the master side for its other side, as the C
// library does, and the broker opens that one.

// openTerminal opens the other side of the terminal that the program has made, and
// gives it to the program. The value is its descriptor there.
func (n *notification) openTerminal(raw rawConn, master int) (value int64, err error) {
	if uint32(n.args[1]) != unix.TIOCGPTPEER {
		return 0, unix.ENOSYS
	}
	var stat unix.Stat_t
	if err := unix.Fstat(master, &stat); err != nil {
		return 0, err
	}
	// Other devices have another meaning for the same number.
	if stat.Mode&unix.S_IFMT != unix.S_IFCHR || stat.Rdev != unix.Mkdev(5, 2) {
		return 0, unix.ENOTTY
	}
	// It must not become the terminal of this process.
	flags := int(n.args[2])&(unix.O_ACCMODE|unix.O_NONBLOCK) | unix.O_NOCTTY | unix.O_CLOEXEC
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, uintptr(flags))
	if errno != 0 {
		return 0, errno
	}
	defer func() { _ = unix.Close(int(slave)) }()
	return n.give(raw, int(slave), uint32(n.args[2])&unix.O_CLOEXEC)
}

// addition is struct seccomp_notif_addfd of linux/seccomp.h.
type addition struct {
	id              uint64
	flags           uint32
	file            uint32
	number          uint32
	descriptorFlags uint32
}

// give gives a file to the process that waits. The result is its descriptor there.
func (n *notification) give(raw rawConn, file int, flags uint32) (number int64, err error) {
	a := addition{id: n.id, file: uint32(file), descriptorFlags: flags}
	closed := raw.Control(func(fd uintptr) {
		got, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(&a)))
		if errno != 0 {
			err = errno
		}
		number = int64(got)
	})
	if closed != nil {
		return 0, closed
	}
	return number, err
}
