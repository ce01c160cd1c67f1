//go:build e2e && unix

package scale_test

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// wire is between a gateway and the database. It knows which statement of the protocol
// passes, so that a gateway can die before and after each; it counts them, and can
// stop carrying anything.
type wire struct {
	dir        string // of its socket
	upstream   string
	statements atomic.Int64
	trips      atomic.Int64 // round trips
	at         func(point string) bool

	ln net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	held  chan struct{} // closed when nothing holds the wire
}

// wirePort is in the name of a socket.
const wirePort = ".s.PGSQL.5432"

// points of the protocol by what their statement has in it.
var statementPoints = []struct{ has, name string }{
	{"INSERT INTO runs", "claim"},
	{"WITH free AS", "admit"},
	{"SET phase = 1", "sending"},
	{"pg_logical_emit_message", "secure"},
	{"SET phase = 2", "running"},
	{"SELECT conv, epoch = $2", "started"},
	{"SET phase = 3", "end"},
	{"SET deliveries = deliveries + 1", "delivered"},
}

// points are all of them, those at the agent-server too. The gateway may die before
// each, and after: then what was asked is done, and it does not know.
var points = []string{
	"claim", "claim commit", "admit", "open", "watch", "sending", "sending commit", "append", "secure", "running", "run", "started", "end", "end commit", "delivered",
}

func newWire(tb testing.TB, upstream string, at func(string) bool) *wire {
	tb.Helper()
	dir, err := os.MkdirTemp("", "wire") // its path is that of a socket, which is short
	if err != nil {
		tb.Fatal(err)
	}
	w := &wire{dir: dir, upstream: upstream, at: at, conns: make(map[net.Conn]struct{}), held: make(chan struct{})}
	close(w.held)
	if w.ln, err = net.Listen("unix", filepath.Join(dir, wirePort)); err != nil {
		tb.Fatal(err)
	}
	w.wg.Go(func() {
		for {
			c, err := w.ln.Accept()
			if err != nil {
				return
			}
			w.wg.Go(func() { w.carry(c) })
		}
	})
	tb.Cleanup(func() {
		w.let()
		_ = w.ln.Close()
		w.cut()
		w.wg.Wait()
		_ = os.RemoveAll(dir)
	})
	return w
}

// hold lets nothing pass any more, as a network that is cut; let ends that.
func (w *wire) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = make(chan struct{})
}

func (w *wire) let() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.held:
	default:
		close(w.held)
	}
}

func (w *wire) pass() {
	w.mu.Lock()
	held := w.held
	w.mu.Unlock()
	<-held
}

// cut breaks all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		_ = c.Close()
	}
}

func (w *wire) own(c net.Conn, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if is {
		w.conns[c] = struct{}{}
	} else {
		delete(w.conns, c)
		_ = c.Close()
	}
}

// carry carries one connection.
func (w *wire) carry(client net.Conn) {
	w.own(client, true)
	defer w.own(client, false)
	server, err := net.Dial("unix", w.upstream)
	if err != nil {
		return
	}
	w.own(server, true)
	defer w.own(server, false)
	l := &line{wire: w, sql: make(map[string]string)}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer server.Close()
		l.there(client, server)
	})
	l.back(server, client)
	_ = client.Close()
	wg.Wait()
}
