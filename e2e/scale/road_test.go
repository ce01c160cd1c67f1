//go:build e2e && unix

package scale_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/proxytest"
)

// road is a proxy between a gateway and an agent-server. It knows the requests of the
// protocol, as a wire does.
type road struct {
	URL string

	mu   sync.Mutex
	held chan struct{} // nil: nothing is held
	open map[*lane]struct{}
}

// lane is a connection of a road to the agent-server.
type lane struct {
	net.Conn

	road *road
	held chan struct{} // nil: not held
}

func (l *lane) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	l.road.mu.Lock()
	held := l.held
	l.road.mu.Unlock()
	if held != nil {
		<-held
	}
	return n, err
}

func (l *lane) Close() error {
	l.road.mu.Lock()
	delete(l.road.open, l)
	l.road.mu.Unlock()
	return l.Conn.Close()
}

// hold lets nothing more come from the agent-server over the connections of now.
func (r *road) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = make(chan struct{})
	for l := range r.open {
		l.held = r.held
	}
}

func (r *road) let() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		return
	}
	close(r.held)
	r.held = nil
	for l := range r.open {
		l.held = nil
	}
}

func (r *road) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l := &lane{Conn: c, road: r}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[l] = struct{}{}
	return l, nil
}

func newRoad(tb testing.TB, to string, at func(string) bool) *road {
	tb.Helper()
	way := &road{open: make(map[*lane]struct{})}
	target, err := url.Parse(to)
	if err != nil {
		tb.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: way.dial}
	p := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1, Transport: transport,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ModifyResponse: func(res *http.Response) error {
			if point := requestPoint(res.Request); point != "" && at("after "+point) {
				return errGone
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	s := httptest.NewServer(proxytest.Duplex(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if point := requestPoint(r); point != "" && at("before "+point) {
			panic(http.ErrAbortHandler)
		}
		p.ServeHTTP(w, r)
	})))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	tb.Cleanup(func() {
		way.let()
		s.CloseClientConnections()
		s.Close()
	})
	way.URL = s.URL
	return way
}

func requestPoint(r *http.Request) string {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/sockets/"):
		return "watch"
	case r.Method != http.MethodPost:
	case path == "/api/conversations":
		return "open"
	case strings.HasSuffix(path, "/events"):
		return "append"
	case strings.HasSuffix(path, "/run"):
		return "run"
	}
	return ""
}

// balancer gives each connection to the next gateway that takes it. It repeats nothing:
// what was sent to one gateway is sent to no other.
type balancer struct {
	URL string

	ln       net.Listener
	gateways []*gateway
	out      []atomic.Bool // of those, not ready
	next     atomic.Int64
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func newBalancer(tb testing.TB, gateways []*gateway) *balancer {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	b := &balancer{URL: "http://" + ln.Addr().String(), ln: ln, gateways: gateways, out: make([]atomic.Bool, len(gateways)), conns: make(map[net.Conn]struct{})}
	b.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			b.wg.Go(func() { b.carry(c) })
		}
	})
	tb.Cleanup(func() {
		_ = ln.Close()
		b.mu.Lock()
		for c := range b.conns {
			_ = c.Close()
		}
		b.mu.Unlock()
		b.wg.Wait()
	})
	return b
}

// choose connects to the next gateway that is not out, or else to one that is.
func (b *balancer) choose() (net.Conn, error) {
	first := int(b.next.Add(1))
	for _, also := range []bool{false, true} {
		for i := range b.gateways {
			at := (first + i) % len(b.gateways)
			if b.out[at].Load() != also {
				continue
			}
			if c, err := net.Dial("tcp", b.gateways[at].address); err == nil {
				return c, nil
			}
		}
	}
	return nil, errors.New("no gateway takes the connection")
}

func (b *balancer) own(c net.Conn, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if is {
		b.conns[c] = struct{}{}
	} else {
		delete(b.conns, c)
		_ = c.Close()
	}
}

func (b *balancer) carry(client net.Conn) {
	b.own(client, true)
	defer b.own(client, false)
	server, err := b.choose()
	if err != nil {
		return
	}
	b.own(server, true)
	defer b.own(server, false)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	_, _ = io.Copy(client, server)
	_ = client.Close()
	wg.Wait()
}
