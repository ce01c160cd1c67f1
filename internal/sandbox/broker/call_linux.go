//go:build amd64 || arm64

package broker

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxAddress is more than the address of a socket takes (struct sockaddr_storage).
const maxAddress = 128

// call decides about a call, makes it, and returns how it ended.
func (b *Broker) call(raw rawConn, n *notification) (value int64, err error) {
	file, address, err := n.open()
	if err != nil {
		return 0, err
	}
	defer b.leave(file)
	if err := b.enter(file); err != nil {
		return 0, unix.EACCES
	}
	if !n.valid(raw) {
		return 0, unix.EINTR // No process waits for the answer.
	}
	if n.nr == unix.SYS_IOCTL {
		return n.openTerminal(raw, file)
	}
	return 0, b.socketCall(n, file, address)
}

// socketCall makes the call of a socket.
func (b *Broker) socketCall(n *notification, socket int, address []byte) error {
	domain, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	switch {
	case domain == unix.AF_NETLINK && n.nr == unix.SYS_BIND:
		return bindNetlink(socket, address)
	case domain == unix.AF_UNIX:
		return b.unixCall(n, socket, address)
	case domain != unix.AF_INET && domain != unix.AF_INET6:
		return unix.EACCES
	}
	s := &stream{fd: socket, domain: domain}
	switch n.nr {
	case unix.SYS_CONNECT:
		return b.connect(s, address)
	case unix.SYS_BIND:
		return b.bind(s, address)
	case unix.SYS_LISTEN:
		return b.listen(s, int(int32(n.args[1])))
	}
	return unix.ENOSYS
}

// errnoOf is the number of an error. What is not from the kernel is a refusal.
func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		return errno
	}
	return unix.EACCES
}

// open duplicates the socket or terminal of a call, and copies the address.
func (n *notification) open() (file int, address []byte, err error) {
	pidfd, err := openThread(int(n.pid))
	if err != nil {
		return -1, nil, unix.EACCES
	}
	defer func() { _ = unix.Close(pidfd) }()
	if n.nr == unix.SYS_CONNECT || n.nr == unix.SYS_BIND {
		if address, err = n.address(); err != nil {
			return -1, nil, err
		}
	}
	// A process that does not let others look into it cannot be helped.
	if file, err = unix.PidfdGetfd(pidfd, int(int32(n.args[0])), 0); err != nil {
		return -1, nil, err
	}
	return file, address, nil
}

// openThread opens the process of a thread: a descriptor for a thread alone needs
// Linux 6.9.
func openThread(tid int) (int, error) {
	if fd, err := unix.PidfdOpen(tid, unix.O_EXCL); err == nil { // PIDFD_THREAD
		return fd, nil
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return -1, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "Tgid:"); ok {
			pid, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				return -1, err
			}
			return unix.PidfdOpen(pid, 0)
		}
	}
	return -1, unix.ESRCH
}

// address copies the address of a call out of the thread's memory.
func (n *notification) address() ([]byte, error) {
	size := int(int32(n.args[2]))
	if size < 2 || size > maxAddress {
		return nil, unix.EINVAL
	}
	address := make([]byte, size)
	local := []unix.Iovec{{Base: &address[0]}}
	local[0].SetLen(size)
	got, err := unix.ProcessVMReadv(int(n.pid), local, []unix.RemoteIovec{{Base: uintptr(n.args[1]), Len: size}}, 0)
	if err != nil {
		return nil, err
	}
	if got != size {
		return nil, unix.EFAULT
	}
	return address, nil
}

// stream is the duplicate of a TCP socket.
type stream struct{ fd, domain int }

// parse reads struct sockaddr_in or sockaddr_in6, as the domain of the socket has it.
func (s *stream) parse(address []byte) (netip.AddrPort, error) {
	family := int(binary.NativeEndian.Uint16(address))
	switch {
	case family != s.domain:
		return netip.AddrPort{}, unix.EAFNOSUPPORT
	case family == unix.AF_INET && len(address) >= unix.SizeofSockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(address[4:8])), binary.BigEndian.Uint16(address[2:])), nil
	case family == unix.AF_INET6 && len(address) >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(address[8:24])), binary.BigEndian.Uint16(address[2:])), nil
	}
	return netip.AddrPort{}, unix.EINVAL
}

// sockaddr is an address as the domain of the socket has it.
func (s *stream) sockaddr(at netip.AddrPort) unix.Sockaddr {
	if s.domain == unix.AF_INET {
		return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().Unmap().As4()}
	}
	return &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()}
}

// local is where the socket is bound.
func (s *stream) local() (netip.AddrPort, error) {
	at, err := unix.Getsockname(s.fd)
	if err != nil {
		return netip.AddrPort{}, err
	}
	switch at := at.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port)), nil
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(at.Addr), uint16(at.Port)), nil
	}
	return netip.AddrPort{}, unix.EAFNOSUPPORT
}

// loopback is the address that stands for all of the socket's.
func (s *stream) loopback() netip.Addr {
	if s.domain == unix.AF_INET {
		return localhost
	}
	if only, err := unix.GetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY); err == nil && only == 1 {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom16(localhost.As16()) // reached as 127.0.0.1
}

var localhost = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// connect connects a socket to the proxy or to a listener of the box.
func (b *Broker) connect(s *stream, address []byte) error {
	if binary.NativeEndian.Uint16(address) == unix.AF_UNSPEC {
		return disconnect(s.fd)
	}
	to, err := s.parse(address)
	if err != nil {
		return err
	}
	if to.Addr().Unmap().IsUnspecified() { // To the kernel it is the loopback address.
		to = netip.AddrPortFrom(s.loopback(), to.Port())
	}
	if !to.Addr().Unmap().IsLoopback() {
		if b.cfg.Refused != nil {
			b.cfg.Refused(netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
		}
		return unix.ENETUNREACH
	}
	if to.Port() == ProxyPort && to.Addr().Unmap() == localhost && b.cfg.Proxy.IsValid() {
		return b.connectProxy(s)
	}
	at, ok := b.listener(to)
	if !ok {
		return unix.ECONNREFUSED
	}
	return unix.Connect(s.fd, s.sockaddr(at))
}

// disconnect dissolves the association of a socket: it connects it to no address.
func disconnect(fd int) error {
	return rawConnect(fd, make([]byte, unix.SizeofSockaddrInet4))
}

// connectProxy connects a socket to the proxy. Its port is known beforehand: the
// proxy accepts no other connections.
func (b *Broker) connectProxy(s *stream) error {
	at, err := s.local()
	if err != nil {
		return err
	}
	if at.Port() == 0 {
		from := netip.AddrFrom4(localhost.As4())
		if s.domain == unix.AF_INET6 {
			from = netip.AddrFrom16(localhost.As16())
		}
		if err := unix.Bind(s.fd, s.sockaddr(netip.AddrPortFrom(from, 0))); err != nil {
			return err
		}
		if at, err = s.local(); err != nil {
			return err
		}
	}
	b.mu.Lock()
	b.made[at.Port()] = true
	b.mu.Unlock()
	to := netip.AddrPortFrom(netip.AddrFrom16(localhost.As16()), b.cfg.Proxy.Port())
	err = unix.Connect(s.fd, s.sockaddr(to))
	if err != nil && !errors.Is(err, unix.EINPROGRESS) && !errors.Is(err, unix.EISCONN) {
		b.taken(at.Port())
	}
	return err
}

// bind binds a socket on loopback. A server that asks for all addresses gets that.
func (b *Broker) bind(s *stream, address []byte) error {
	at, err := s.parse(address)
	if err != nil {
		return err
	}
	if err := b.permit(at.Port()); err != nil {
		return err
	}
	switch {
	case at.Addr().IsUnspecified():
		at = netip.AddrPortFrom(s.loopback(), at.Port())
	case !at.Addr().Unmap().IsLoopback():
		return unix.EADDRNOTAVAIL
	}
	return unix.Bind(s.fd, s.sockaddr(at))
}

// privileged are the ports that an ordinary user cannot have.
const privileged = 1024

// permit says whether a program may have a port; 0 is any.
func (b *Broker) permit(port uint16) error {
	switch {
	case port == 0:
		return nil
	case port < privileged:
		return unix.EACCES
	case port == ProxyPort, slices.Contains(b.cfg.Reserved, port):
		return unix.EADDRINUSE
	}
	return nil
}

// listen makes a socket a listener of the box. One that is not bound would be bound
// on all addresses.
func (b *Broker) listen(s *stream, backlog int) error {
	at, err := s.local()
	if err != nil {
		return err
	}
	if at.Port() == 0 {
		if err := unix.Bind(s.fd, s.sockaddr(netip.AddrPortFrom(s.loopback(), 0))); err != nil {
			return err
		}
	} else if !at.Addr().Unmap().IsLoopback() {
		return unix.EACCES
	}
	var stat unix.Stat_t
	if err := unix.Fstat(s.fd, &stat); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := unix.Listen(s.fd, backlog); err != nil {
		return err
	}
	b.listening[stat.Ino] = true
	return nil
}

// bindNetlink binds a socket for routes, which programs ask for their addresses.
func bindNetlink(fd int, address []byte) error {
	if len(address) < unix.SizeofSockaddrNetlink || binary.NativeEndian.Uint16(address) != unix.AF_NETLINK {
		return unix.EINVAL
	}
	return unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: binary.NativeEndian.Uint32(address[8:])})
}

// listener finds the listener of the box that a connection would reach. The
// loopback address of IPv6 is also that of a listener that has only the other one.
func (b *Broker) listener(to netip.AddrPort) (netip.AddrPort, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rows := listeners()
	alive := make(map[uint64]bool, len(b.listening))
	for _, row := range rows {
		if b.listening[row.inode] {
			alive[row.inode] = true
		}
	}
	b.listening = alive
	if b.owns(rows, to) {
		return to, true
	}
	other := netip.AddrPortFrom(netip.AddrFrom16(localhost.As16()), to.Port())
	return other, to.Addr() == netip.IPv6Loopback() && !taken(rows, to) && b.owns(rows, other)
}

// owns says that whatever listens for an address belongs to the box.
func (b *Broker) owns(rows []row, to netip.AddrPort) bool {
	found := false
	for _, row := range rows {
		if row.takes(to) {
			if !b.listening[row.inode] {
				return false
			}
			found = true
		}
	}
	return found
}

// taken says that something listens for an address.
func taken(rows []row, to netip.AddrPort) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return r.takes(to) })
}
