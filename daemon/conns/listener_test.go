package conns

import (
	"net"
	"net/http"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeConn only knows whether it was closed.
type fakeConn struct {
	net.Conn
	closed bool
}

func (f *fakeConn) Close() error { f.closed = true; return nil }

// Beyond the limit the connection that has been idle for longest makes room;
// one with a request never does.
func TestTooManyConnectionsTakeTheIdleOnes(t *testing.T) {
	t.Parallel()
	l := New(nil, Answers{})
	l.max = 3
	enter := func() (*fakeConn, *conn, bool) {
		f := &fakeConn{}
		c := &conn{Conn: f, listener: l}
		return f, c, l.enter(c)
	}
	busy, c0, _ := enter()
	l.Follow(c0, http.StateActive)
	oldest, _, _ := enter()
	used, c2, _ := enter()
	l.Follow(c2, http.StateActive)
	l.Follow(c2, http.StateIdle)
	_, c3, ok := enter()
	if !ok || !oldest.closed || used.closed || busy.closed {
		t.Fatalf("room: %t; closed: oldest %t, used %t, busy %t", ok, oldest.closed, used.closed, busy.closed)
	}
	l.Follow(c2, http.StateActive)
	l.Follow(c3, http.StateActive)
	if _, _, ok := enter(); ok {
		t.Error("a connection too many")
	}
	if err := c3.Close(); err != nil {
		t.Fatal(err)
	}
	l.Follow(c3, http.StateClosed)
	if _, _, ok := enter(); !ok {
		t.Error("a closed connection takes room")
	}
	if len(l.open) != 3 || l.waiting.Len() != 1 {
		t.Errorf("%d connections, %d idle", len(l.open), l.waiting.Len())
	}
}

func TestTheLimitOfConnectionsLeavesDescriptors(t *testing.T) {
	t.Parallel()
	if n := limit(); n < 1 || n > mostConns {
		t.Errorf("limit %d", n)
	}
}
