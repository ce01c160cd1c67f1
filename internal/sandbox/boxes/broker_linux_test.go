package boxes_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/localport"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// insideVariable makes the test binary a program in a box, which makes an attempt.
const insideVariable = "OHGW_TEST_INSIDE"

// tryInside makes an attempt, and reports it with the exit code.
func tryInside(attempt string) int {
	name, argument, _ := strings.Cut(attempt, " ")
	if err := attempts[name](argument); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// attempts are what programs of a box try.
var attempts = map[string]func(string) error{
	"serve":    func(string) error { return serveInside() },
	"dial":     dialInside,
	"listen":   listenInside,
	"refused":  func(string) error { return refusedInside() },
	"swap":     swapInside,
	"pty":      func(string) error { return terminalInside() },
	"unix":     unixInside,
	"reach":    reachInside,
	"dialunix": func(at string) error { return dialAndRead("unix", at) },
}

// serveInside is a server that asks for all addresses, and its clients.
func serveInside() error {
	for network, hosts := range map[string][]string{
		"tcp":  {"127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1", "localhost"},
		"tcp4": {"127.0.0.1", "localhost"},
		"tcp6": {"::1"},
	} {
		ln, err := net.Listen(network, ":0")
		if err != nil {
			return err
		}
		at := ln.Addr().(*net.TCPAddr)
		if !at.IP.IsLoopback() {
			return fmt.Errorf("%s listens on %s", network, at)
		}
		go echo(ln)
		for _, host := range hosts {
			if err := dialEcho(net.JoinHostPort(host, strconv.Itoa(at.Port))); err != nil {
				return fmt.Errorf("%s: %w", network, err)
			}
		}
		ln.Close()
		if conn, err := net.Dial("tcp", at.String()); err == nil {
			return fmt.Errorf("connected to %s, which is closed", conn.RemoteAddr())
		}
	}
	_, err := net.InterfaceAddrs() // by netlink
	return err
}

func echo(ln net.Listener) {
	for conn, err := ln.Accept(); err == nil; conn, err = ln.Accept() {
		_, _ = io.Copy(conn, conn)
		conn.Close()
	}
}

func dialEcho(at string) error {
	conn, err := net.Dial("tcp", at)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("tea")); err != nil {
		return err
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	if said, err := io.ReadAll(conn); string(said) != "tea" {
		return fmt.Errorf("%q, %w", said, err)
	}
	return nil
}

func dialInside(at string) error { return dialAndRead("tcp", at) }

// dialAndRead connects and prints what it reads.
func dialAndRead(network, at string) error {
	conn, err := net.Dial(network, at)
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, conn)
	return err
}

func listenInside(at string) error {
	ln, err := net.Listen("tcp", at)
	if err == nil {
		ln.Close()
	}
	return err
}

// refusedInside makes the system calls that go round connect.
func refusedInside() error {
	var open []error
	try := func(name string, err error) {
		if err == nil {
			open = append(open, errors.New(name))
		}
	}
	for _, s := range []struct {
		name                   string
		domain, kind, protocol int
	}{
		{"UDP", unix.AF_INET, unix.SOCK_DGRAM, 0},
		{"UDP of IPv6", unix.AF_INET6, unix.SOCK_DGRAM, 0},
		{"MPTCP", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
		{"a Unix socket for datagrams", unix.AF_UNIX, unix.SOCK_DGRAM, 0},
		{"a raw socket", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
		{"ping", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP},
		{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		{"netlink for sockets", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_INET_DIAG},
	} {
		_, err := unix.Socket(s.domain, s.kind|unix.SOCK_CLOEXEC, s.protocol)
		try(s.name, err)
	}
	_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	try("a pair for datagrams", err)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	try("fast open", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1))
	try("a route of the sender", unix.SetsockoptString(fd, unix.IPPROTO_IP, unix.IP_OPTIONS, "\x01\x01\x01\x01"))
	to := &unix.SockaddrInet4{Port: 443, Addr: [4]byte{127, 0, 0, 1}}
	try("fast open by sendto", unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, to))
	try("fast open by sendmsg", unix.Sendmsg(fd, []byte("x"), nil, to, unix.MSG_FASTOPEN))
	try("a limit of another process", unix.Prlimit(os.Getppid(), unix.RLIMIT_CPU, nil, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}))
	_, err = unix.SysvShmGet(1, 4096, unix.IPC_CREAT|0o600)
	try("shared memory", err)
	_, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0) // it is allowed
	return errors.Join(append(open, err)...)
}

// swapInside exchanges the port of the address all the time, between a listener of
// the box and the canary.
func swapInside(canary string) error {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go echo(ln)
	port, err := strconv.Atoi(canary)
	if err != nil {
		return err
	}
	raw := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, 1}}
	place := (*uint32)(unsafe.Pointer(&raw)) // the family and the port
	value := func(port int) uint32 {
		copied := raw
		copied.Port = uint16(port>>8 | port&0xff<<8)
		return *(*uint32)(unsafe.Pointer(&copied))
	}
	own, evil := value(ln.Addr().(*net.TCPAddr).Port), value(port)
	var stop atomic.Bool
	defer stop.Store(true)
	go func() {
		for !stop.Load() {
			atomic.StoreUint32(place, own)
			atomic.StoreUint32(place, evil)
		}
	}()
	for range 30 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		_, _, _ = unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&raw)), unix.SizeofSockaddrInet4)
		unix.Close(fd)
	}
	return nil
}

// terminalInside makes a terminal as the C library does, and asks other files for
// their other side.
func terminalInside() error {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	other := func(fd int) (int, error) {
		number, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if errno != 0 {
			return -1, errno
		}
		return int(number), nil
	}
	slave, err := other(master)
	if err != nil {
		return fmt.Errorf("open the other side: %w", err)
	}
	if flags, err := unix.FcntlInt(uintptr(slave), unix.F_GETFD, 0); err != nil || flags != unix.FD_CLOEXEC {
		return fmt.Errorf("flags %d, %w", flags, err)
	}
	if err := unix.IoctlSetWinsize(slave, unix.TIOCSWINSZ, &unix.Winsize{Row: 7, Col: 70}); err != nil {
		return err
	}
	if size, err := unix.IoctlGetWinsize(master, unix.TIOCGWINSZ); err != nil || size.Row != 7 {
		return fmt.Errorf("the size is %v, %w", size, err)
	}
	if _, err := unix.Write(slave, []byte("x")); err != nil {
		return err
	}
	if n, err := unix.Read(master, make([]byte, 9)); n != 1 {
		return fmt.Errorf("read %d bytes: %w", n, err)
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	for _, fd := range []int{null, slave} {
		if _, err := other(fd); !errors.Is(err, unix.ENOTTY) {
			return fmt.Errorf("the other side of %d: %w", fd, err)
		}
	}
	return nil
}

// inside makes an attempt in the box.
func (w *world) inside(attempt string) (output string, code int) {
	w.t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := w.box.Start(w.t.Context(), sandbox.Program{
		Args: []string{self}, Env: append(w.env(), insideVariable+"="+attempt), Dir: w.workspace, Files: []*os.File{nil, in, in},
	})
	in.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = p.Kill() })
	defer stuck.Stop()
	said, _ := io.ReadAll(out)
	code, _ = p.Wait()
	return strings.TrimSpace(string(said)), code
}

func TestReducedNetwork(t *testing.T) {
	t.Parallel()
	canary, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer canary.Close()
	number := canary.Addr().(*net.TCPAddr).Port
	port := strconv.Itoa(number)
	w := newWorld(t, reduced, func(_ *world, c *boxes.Config) { c.Reserved = []uint16{uint16(number)} })
	for _, attempt := range []string{"serve", "refused", "swap " + port} {
		if out, code := w.inside(attempt); code != 0 {
			t.Errorf("%s: output = %s", attempt, out)
		}
	}
	for _, attempt := range []string{
		"dial 127.0.0.1:" + port, "dial [::1]:" + port, "dial 0.0.0.0:" + port, "dial [::ffff:127.0.0.1]:" + port,
		"dial 192.0.2.1:443", "dial [2001:db8::1]:443", "dial 127.0.0.1:3128",
		"listen 127.0.0.1:80", "listen 127.0.0.1:3128", "listen 127.0.0.2:" + port, "listen 192.0.2.1:0",
	} {
		if out, code := w.inside(attempt); code != 1 || out == "" {
			t.Errorf("%s: exit code %d: %s", attempt, code, out)
		}
	}
	// Everything above is over: what came to the canary waits there.
	nobodyCame(t, canary)
}

// A program that listened where ohgw looks for servers would be taken for one.
func TestNoProgramListensWhereServersAreLookedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reduced, func(_ *world, c *boxes.Config) { c.Sought = []uint16{24861} })
	for _, port := range append(localport.Sought(), 24861) {
		for _, at := range []string{"127.0.0.1", "[::1]", "0.0.0.0", "127.0.0.9"} {
			attempt := fmt.Sprintf("listen %s:%d", at, port)
			if out, code := w.inside(attempt); code != 1 || !strings.Contains(out, "address already in use") {
				t.Errorf("%s: exit code %d: %s", attempt, code, out)
			}
		}
	}
}

// nobodyCame checks that no connection waits at a listener.
func nobodyCame(t *testing.T, ln net.Listener) {
	t.Helper()
	raw, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		if conn, _, err := unix.Accept(int(fd)); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("somebody came to %s (%v)", ln.Addr(), err)
			_ = unix.Close(conn)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The proxy is for the box, and for no other process on this machine.
func TestReducedProxy(t *testing.T) {
	t.Parallel()
	at := make(chan string, 1)
	w := newWorld(t, reduced, func(_ *world, c *boxes.Config) {
		c.Policy.Network = true
		c.Serve = func(s boxes.Sockets) (func() error, error) {
			at <- s.Proxy.Addr().String()
			go func() {
				for conn, err := s.Proxy.Accept(); err == nil; conn, err = s.Proxy.Accept() {
					_, _ = io.WriteString(conn, "the proxy\n")
					conn.Close()
				}
			}()
			return s.Close, nil
		}
	})
	for range 3 {
		if out, code := w.inside("dial 127.0.0.1:3128"); out != "the proxy" {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
	proxy := <-at
	if out, code := w.inside("dial " + proxy); code != 1 {
		t.Errorf("%s was reached by its own port: %s", proxy, out)
	}
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if said, _ := io.ReadAll(conn); len(said) > 0 {
		t.Errorf("a stranger got %q", said)
	}
}
