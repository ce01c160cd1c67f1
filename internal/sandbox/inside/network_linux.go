package inside

import (
	"strconv"

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

// The sockets that the daemon answers on, by their names in a message. The name of
// each other one is its port, which it has at all addresses.
const (
	SocketDNS    = "dns"     // UDP, 127.0.0.1:53
	SocketDNSTCP = "dns-tcp" // 127.0.0.1:53
	SocketProxy  = "proxy"   // 127.0.0.1:3128
)

// gateSockets opens the sockets. The daemon accepts on them outside: a socket
// belongs to the namespace that it was made in.
func gateSockets(more []int) (names []string, fds []int, err error) {
	loopback, every := [4]byte{127, 0, 0, 1}, [4]byte{}
	type wanted struct {
		name string
		kind int
		at   unix.SockaddrInet4
	}
	list := []wanted{
		{SocketDNS, unix.SOCK_DGRAM, unix.SockaddrInet4{Addr: loopback, Port: 53}},
		{SocketDNSTCP, unix.SOCK_STREAM, unix.SockaddrInet4{Addr: loopback, Port: 53}},
		{SocketProxy, unix.SOCK_STREAM, unix.SockaddrInet4{Addr: loopback, Port: 3128}},
	}
	for _, port := range append([]int{443, 80, 22}, more...) {
		list = append(list, wanted{strconv.Itoa(port), unix.SOCK_STREAM, unix.SockaddrInet4{Addr: every, Port: port}})
	}
	for _, s := range list {
		fd, err := socket(s.kind, &s.at)
		if err != nil {
			return nil, nil, step("listen on port "+strconv.Itoa(s.at.Port), err)
		}
		names, fds = append(names, s.name), append(fds, fd)
	}
	return names, fds, nil
}

// backlog is how many connections may wait; the kernel has a limit of its own.
const backlog = 4096

// socket opens one socket. The package net is not used: it would be initialised in
// each helper.
func socket(kind int, at *unix.SockaddrInet4) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, at); err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
