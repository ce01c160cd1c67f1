package conns

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// A client that vanished is noticed within a minute, with heartbeats on their
// way and without.
func TestConnectionsAreTimedOutByTheSystem(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := New(ln, Answers{}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	raw, err := accepted.(*conn).Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(level, name int) (v int) {
		t.Helper()
		var failed error
		if err := raw.Control(func(fd uintptr) { v, failed = unix.GetsockoptInt(int(fd), level, name) }); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		return v
	}
	if ms := option(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); ms <= 0 || ms > 60_000 {
		t.Errorf("unacknowledged data waits %d ms", ms)
	}
	idle, every, probes := option(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE), option(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL), option(unix.IPPROTO_TCP, unix.TCP_KEEPCNT)
	if option(unix.SOL_SOCKET, unix.SO_KEEPALIVE) == 0 || idle+every*probes > 60 {
		t.Errorf("an idle client is asked after %d s, then %d times every %d s", idle, probes, every)
	}
}
