package inside

import (
	"errors"
	"net"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// loopbackUp gives the box its own loopback addresses. There is no other interface.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return step("start the loopback interface", err)
	}
	defer func() { _ = unix.Close(fd) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return step("start the loopback interface", err)
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil {
		return step("start the loopback interface", err)
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	return step("start the loopback interface", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo))
}

// The sockets that the daemon answers on, by their names in a message.
const (
	SocketDNS    = "dns"     // UDP, 127.0.0.1:53
	SocketDNSTCP = "dns-tcp" // 127.0.0.1:53
	SocketProxy  = "proxy"   // 127.0.0.1:3128
	Socket443    = "443"     // all addresses
	Socket80     = "80"
	Socket22     = "22"
)

// gateSockets opens the sockets. The daemon accepts on them outside: a socket
// belongs to the namespace that it was made in. A socket for one more port has the
// port as its name.
func gateSockets(more []int) (names []string, fds []int, err error) {
	type wanted struct{ name, network, address string }
	list := []wanted{
		{SocketDNS, "udp4", "127.0.0.1:53"},
		{SocketDNSTCP, "tcp4", "127.0.0.1:53"},
		{SocketProxy, "tcp4", "127.0.0.1:3128"},
		{Socket443, "tcp4", "0.0.0.0:443"},
		{Socket80, "tcp4", "0.0.0.0:80"},
		{Socket22, "tcp4", "0.0.0.0:22"},
	}
	for _, port := range more {
		name := strconv.Itoa(port)
		list = append(list, wanted{name, "tcp4", "0.0.0.0:" + name})
	}
	for _, s := range list {
		fd, err := socket(s.network, s.address)
		if err != nil {
			return nil, nil, step("listen on "+s.address, err)
		}
		names, fds = append(names, s.name), append(fds, fd)
	}
	return names, fds, nil
}

// socket opens one socket, as a descriptor of its own.
func socket(network, address string) (int, error) {
	var raw syscall.Conn
	if network == "udp4" {
		conn, err := net.ListenPacket(network, address) //nolint:noctx // It opens at once or fails.
		if err != nil {
			return -1, err
		}
		defer func() { _ = conn.Close() }()
		raw, _ = conn.(syscall.Conn)
	} else {
		ln, err := net.Listen(network, address)
		if err != nil {
			return -1, err
		}
		defer func() { _ = ln.Close() }()
		raw, _ = ln.(syscall.Conn)
	}
	if raw == nil {
		return -1, errors.New("a socket without a descriptor")
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var dupErr error
	err = control.Control(func(at uintptr) { fd, dupErr = unix.FcntlInt(at, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(err, dupErr)
}
