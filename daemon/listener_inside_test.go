package daemon

import (
	"net"
	"net/http"
	"testing"
)

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
	d := newBoundedListener(nil)
	d.max = 3
	enter := func() (*fakeConn, *conn, bool) {
		f := &fakeConn{}
		c := &conn{Conn: f, listener: d}
		return f, c, d.enter(c)
	}
	busy, c0, _ := enter()
	d.follow(c0, http.StateActive)
	oldest, _, _ := enter()
	used, c2, _ := enter()
	d.follow(c2, http.StateActive)
	d.follow(c2, http.StateIdle)
	_, c3, ok := enter()
	if !ok || !oldest.closed || used.closed || busy.closed {
		t.Fatalf("room: %t; closed: oldest %t, used %t, busy %t", ok, oldest.closed, used.closed, busy.closed)
	}
	d.follow(c2, http.StateActive)
	d.follow(c3, http.StateActive)
	if _, _, ok := enter(); ok {
		t.Error("a connection too many")
	}
	if err := c3.Close(); err != nil {
		t.Fatal(err)
	}
	d.follow(c3, http.StateClosed)
	if _, _, ok := enter(); !ok {
		t.Error("a closed connection takes room")
	}
	if len(d.open) != 3 || d.waiting.Len() != 1 {
		t.Errorf("%d connections, %d idle", len(d.open), d.waiting.Len())
	}
}

func TestTheLimitOfConnectionsLeavesDescriptors(t *testing.T) {
	t.Parallel()
	if n := connLimit(); n < 1 || n > mostConns {
		t.Errorf("limit %d", n)
	}
}
