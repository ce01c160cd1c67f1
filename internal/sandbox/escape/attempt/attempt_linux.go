package attempt

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// connectWait is how long a connection may take.
const connectWait = 5

// connect connects to a canary: "tcp" to a port of 127.0.0.1, or "unix".
func connect(network, address string) error {
	family, to := unix.AF_UNIX, unix.Sockaddr(&unix.SockaddrUnix{Name: address})
	if network == "tcp" {
		port, err := strconv.ParseUint(strings.TrimPrefix(address, "127.0.0.1:"), 10, 16)
		if err != nil {
			return err
		}
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: connectWait}); err != nil {
		return err
	}
	for {
		switch err := unix.Connect(fd, to); {
		case errors.Is(err, unix.EINTR): // a signal of the runtime
		case errors.Is(err, unix.EISCONN): // before that signal
			return nil
		default:
			return err
		}
	}
}

// serve listens on a port of 127.0.0.1 and connects to it.
func serve() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 1); err != nil {
		return err
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	own, ok := at.(*unix.SockaddrInet4)
	if !ok {
		return unix.EAFNOSUPPORT
	}
	return connect("tcp", "127.0.0.1:"+strconv.Itoa(own.Port))
}

// errOther says that the number is not ohgw's: in the namespace, another process
// has it, or none.
var errOther = errors.New("the process is another one")

// sendSignal sends a signal that a program ignores. That it was sent says nothing:
// the canary outside knows.
func sendSignal(pid int) error {
	if err := unix.Kill(pid, unix.SIGWINCH); err != nil {
		return err
	}
	return errOther
}

// unshare starts a program in a new user namespace. A process with threads, as this
// one is, cannot enter one itself.
func unshare() error {
	p, err := os.StartProcess("/proc/self/exe", []string{"ohgw", Name}, &os.ProcAttr{ //nolint:forbidigo // it must not start
		Files: []*os.File{nil, nil, nil}, Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER},
	})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}
