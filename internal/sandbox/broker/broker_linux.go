//go:build amd64 || arm64

package broker

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxCalls limits how many calls are made at the same time. One that waits, such as
// a connect to a listener whose queue is full, has a thread of this process.
const maxCalls = 64

// Broker makes the calls of the programs of one box.
type Broker struct {
	cfg   Config
	slots chan struct{}
	wait  sync.WaitGroup
	maker maker

	mu        sync.Mutex
	closed    bool
	files     []*os.File
	sockets   map[int]bool    // and terminals, of the calls that are being made
	listening map[uint64]bool // inodes of the box's listeners for TCP
	named     map[uint64]bool // and of those that are Unix sockets
	made      map[uint16]bool // ports of connections to the proxy that it has not accepted
}

// New makes a broker without programs.
func New(c Config) *Broker {
	return &Broker{
		cfg: c, slots: make(chan struct{}, maxCalls), sockets: map[int]bool{},
		listening: map[uint64]bool{}, named: map[uint64]bool{}, made: map[uint16]bool{},
	}
}

// Serve takes the notifications of a descriptor, which it takes over.
func (b *Broker) Serve(listener *os.File) error {
	fd, err := unix.FcntlInt(listener.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	_ = listener.Close()
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return err
	}
	file := os.NewFile(uintptr(fd), "notifications")
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errors.Join(os.ErrClosed, file.Close())
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	b.files = append(b.files, file)
	b.wait.Go(func() { b.take(raw) })
	return nil
}

// Close ends the broker. The calls of programs that still run fail from now on.
func (b *Broker) Close() error {
	b.mu.Lock()
	b.closed = true
	var errs []error
	for _, file := range b.files {
		errs = append(errs, file.Close())
	}
	b.files = nil
	for socket := range b.sockets {
		_ = unix.Shutdown(socket, unix.SHUT_RDWR) // ends a connect that waits
	}
	b.mu.Unlock()
	b.wait.Wait()
	b.maker.close()
	return errors.Join(errs...)
}

// take answers the notifications of one descriptor, until it is closed or no
// process is left that could cause one.
func (b *Broker) take(raw rawConn) {
	for {
		var n *notification
		err := raw.Read(func(fd uintptr) (done bool) {
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if _, err := unix.Poll(ready, 0); err != nil || ready[0].Revents == 0 {
				return false
			}
			if ready[0].Revents&unix.POLLIN != 0 {
				n = receive(fd)
			}
			return n != nil || ready[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
		})
		if err != nil || n == nil {
			return
		}
		select {
		case b.slots <- struct{}{}:
			b.wait.Go(func() {
				defer func() { <-b.slots }()
				value, err := b.call(raw, n)
				n.answer(raw, value, errnoOf(err))
			})
		default:
			n.answer(raw, 0, unix.EAGAIN)
		}
	}
}

// rawConn is the descriptor of the notifications while it is open.
type rawConn interface {
	Read(f func(fd uintptr) (done bool)) error
	Control(f func(fd uintptr)) error
}

// notification is a call that a thread wants to make: struct seccomp_notif of
// linux/seccomp.h.
type notification struct {
	id    uint64
	pid   uint32 // of the thread
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// receive takes a notification; nil if its thread has ended.
func receive(fd uintptr) *notification {
	n := &notification{}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(n)))
	if errno != 0 {
		return nil
	}
	return n
}

// answer ends the call of the thread, which may be gone.
func (n *notification) answer(raw rawConn, value int64, errno unix.Errno) {
	r := response{id: n.id, value: value, errno: -int32(errno)}
	_ = raw.Control(func(fd uintptr) {
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
	})
}

// valid says that the thread still waits: what was read of its process is its own,
// and not of another one with the same number.
func (n *notification) valid(raw rawConn) bool {
	ok := false
	_ = raw.Control(func(fd uintptr) {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&n.id)))
		ok = errno == 0
	})
	return ok
}

// enter notes the socket of a call, until leave.
func (b *Broker) enter(socket int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return os.ErrClosed
	}
	b.sockets[socket] = true
	return nil
}

// leave closes the duplicate of a socket.
func (b *Broker) leave(socket int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sockets, socket)
	_ = unix.Close(socket)
}

// Accepts wraps the listener of the proxy: only connections that this broker has
// made are accepted. Other programs of this machine could find the port.
func (b *Broker) Accepts(listener net.Listener) net.Listener { return &own{listener, b} }

type own struct {
	net.Listener

	broker *Broker
}

// Accept waits for a connection of the box.
func (l *own) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if at, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil && l.broker.taken(at.Port()) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// taken reports whether a port is that of a connection the broker has made. It is
// so once.
func (b *Broker) taken(port uint16) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	ok := b.made[port]
	delete(b.made, port)
	return ok
}
