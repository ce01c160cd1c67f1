package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "ohgw-test-key-0123456789"

type tokens struct{}

func (tokens) Check(presented string) (gate.Client, error) {
	if presented != key {
		return gate.Client{}, gate.ErrUnknownKey
	}
	return gate.Client{ID: "id-test", Name: "test"}, nil
}

// script makes a backend with the profile default that always does this.
func script(steps ...daemontest.Step) *daemontest.Backend {
	b := daemontest.New("default", "cheap")
	b.Script = func(string) []daemontest.Step { return steps }
	return b
}

// network is a listener in memory, which works in a synctest bubble. Its
// connections can be cut.
type network struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu    sync.Mutex
	open  []net.Conn
	down  bool
	dials int
}

func newNetwork() *network {
	return &network{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	n.mu.Lock()
	n.dials++
	down := n.down
	n.open = append(n.open, near)
	n.mu.Unlock()
	if !down {
		select {
		case n.conns <- far:
			return near, nil
		case <-ctx.Done():
		case <-n.closed:
		}
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
}

// cut breaks all connections; down reports whether new ones are refused from now on.
func (n *network) cut(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
	for _, c := range n.open {
		_ = c.Close()
	}
	n.open = nil
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

func (n *network) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// client makes a client on the network.
func (n *network) client(t testing.TB, change ...func(*gateway.Config)) *gateway.Client {
	t.Helper()
	transport := &http.Transport{DialContext: n.dial}
	t.Cleanup(transport.CloseIdleConnections)
	cfg := gateway.Config{
		URL: "http://localhost", Key: key, HTTP: &http.Client{Transport: transport}, Now: time.Now, NewKey: uuid.New,
	}
	for _, f := range change {
		f(&cfg)
	}
	return gateway.New(cfg)
}

// serve runs a daemon on the network until the test ends.
func (n *network) serve(t testing.TB, b *daemontest.Backend, change ...func(*daemon.Config)) {
	t.Helper()
	cfg := daemon.Config{Config: gate.Config{Backend: b, Tokens: tokens{}}}
	for _, f := range change {
		f(&cfg)
	}
	d, err := daemon.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx, n) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-served, d.Close(), b.Close()); err != nil {
			t.Errorf("end the daemon: %v", err)
		}
	})
}

// handle serves a handler on the network until the test ends.
func (n *network) handle(t testing.TB, h http.HandlerFunc) {
	t.Helper()
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(n) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("end the server: %v", err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
}

// start makes a daemon and a client of it.
func start(t testing.TB, b *daemontest.Backend, change ...func(*daemon.Config)) (*gateway.Client, *network) {
	t.Helper()
	n := newNetwork()
	n.serve(t, b, change...)
	return n.client(t), n
}

// answer is everything that came.
type answer struct {
	text     string
	progress []string
	started  []gateway.Started
	calls    []gateway.Call
	waits    []int
	lost     []gateway.Lost
	done     *gateway.Done
	err      error
	order    []string // kinds of pieces, without repetition
}

func (a *answer) add(p gateway.Piece) {
	switch p := p.(type) {
	case gateway.Started:
		a.started = append(a.started, p)
		a.text, a.progress = "", nil // what follows is the whole answer
	case gateway.Waiting:
		a.waits = append(a.waits, p.Queue)
	case gateway.Lost:
		a.lost = append(a.lost, p)
	case gateway.Text:
		a.text += string(p)
	case gateway.Progress:
		a.progress = append(a.progress, string(p))
	case gateway.Call:
		a.calls = append(a.calls, p)
	case gateway.Done:
		a.done = &p
	}
	if kind := strings.TrimPrefix(fmt.Sprintf("%T", p), "gateway."); len(a.order) == 0 || a.order[len(a.order)-1] != kind {
		a.order = append(a.order, kind)
	}
}

// ask reads an answer to its end.
func ask(ctx context.Context, c gateway.Endpoint, q gateway.Question) answer {
	if q.Model == "" {
		q.Model = "openhands"
	}
	if q.Text == "" {
		q.Text = "hi"
	}
	var a answer
	for p, err := range c.Ask(ctx, q) {
		if err != nil {
			a.err = err
			break
		}
		a.add(p)
	}
	return a
}

// wantError checks that an answer ended in an error of this kind.
func wantError(t *testing.T, err error, kind gateway.Kind) *gateway.Error {
	t.Helper()
	e, ok := errors.AsType[*gateway.Error](err)
	if !ok {
		t.Fatalf("the error %v is not a *gateway.Error", err)
	}
	if e.Kind != kind {
		t.Errorf("kind %d, want %d: %v (%v)", e.Kind, kind, e, e.Err)
	}
	if e.Message == "" {
		t.Errorf("%+v has no message", e)
	}
	return e
}
