// Package netgate connects a sandbox to the network by name.
//
// A sandbox has no route out. Three kinds of sockets, made inside of it and given
// to this package, are its whole network: a resolver that answers every question
// itself, with an address of 127.1.0.0/16 for each name; listeners that take the
// connections to these addresses; and an HTTP proxy. For each connection the gate
// asks the policy about the name, resolves it once, checks the addresses and dials
// one of those it checked. Before the policy has allowed a name, nothing about it
// leaves the machine.
//
// The gate keeps no credentials and reads no content, other than the server name
// of a TLS ClientHello and the target of a request to the proxy.
package netgate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox/addresses"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
)

// The limits of one gate.
const (
	maxNames       = 8192             // names that have an address
	maxConnections = 1024             // open at the same time
	maxDial        = 4                // addresses of a name that are tried
	dialLimit      = 15 * time.Second // for one address
	resolveLimit   = 15 * time.Second
	helloLimit     = 30 * time.Second // for a ClientHello, or the headers of a request
	askLimit       = 60 * time.Second
	idleLimit      = 15 * time.Minute // for a connection that transfers nothing
	bufferSize     = 32 << 10         // for each direction
)

// Sockets are the network of one sandbox. The gate closes them. Any may be nil.
type Sockets struct {
	DNS     net.PacketConn // 127.0.0.1:53
	DNSTCP  net.Listener
	Capture []net.Listener // on every address, one for each port of Policy.Ports
	Proxy   net.Listener
	// Token is the password that clients of the proxy must have (RFC 7617), under any
	// name. Empty: none, as only the sandbox reaches the proxy.
	Token string
}

// Config is what a gate needs. Only Policy must be set.
type Config struct {
	Policy *netpolicy.Policy
	// Dial connects to an address that was checked; nil is net.Dialer.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// Resolve lists the addresses of a name; nil is this machine's resolver, without
	// its search domains.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Own lists the addresses of this machine; nil is addresses.Own.
	Own func() ([]netip.Addr, error)
	// Blocked is called for each refusal, one at a time. It must not wait.
	Blocked func(Block)
	// Ask decides about a host that is not on the allow list, while the connection is
	// held. Its context ends after 60 s, which is a refusal. Nil refuses at once.
	Ask func(ctx context.Context, b Block) bool
	// Strict refuses TLS connections with an Encrypted ClientHello.
	Strict bool
	// Now is the clock of Blocks; nil is time.Now.
	Now func() time.Time
	// Logger gets what failed and is not a refusal; nil is silent.
	Logger *slog.Logger
}

// Gate is the network of one sandbox while it is open.
type Gate struct {
	cfg    Config
	ctx    context.Context // ends with the gate
	cancel context.CancelFunc
	names  *names
	blocks *blocks
	asks   asks
	slots  chan struct{}

	wait    sync.WaitGroup
	mu      sync.Mutex
	closed  bool
	sockets map[interface{ Close() error }]struct{}
}

// Serve opens a gate. It runs until ctx ends or Close is called.
func Serve(ctx context.Context, s Sockets, c Config) *Gate {
	c = withDefaults(c)
	g := &Gate{
		cfg: c, names: newNames(maxNames), slots: make(chan struct{}, maxConnections),
		sockets: map[interface{ Close() error }]struct{}{},
	}
	g.ctx, g.cancel = context.WithCancel(ctx)
	g.blocks = &blocks{now: c.Now, report: c.Blocked}
	if s.DNS != nil {
		g.own(s.DNS)
		g.wait.Go(func() { g.serveUDP(s.DNS) })
	}
	if s.DNSTCP != nil {
		g.accept(s.DNSTCP, g.serveTCP)
	}
	for _, listener := range s.Capture {
		port := portOf(listener.Addr())
		g.accept(listener, func(c net.Conn) { g.capture(c, port) })
	}
	if s.Proxy != nil {
		g.accept(s.Proxy, func(c net.Conn) { g.serveProxy(c, s.Token) })
	}
	g.wait.Go(func() { <-g.ctx.Done(); g.closeSockets() })
	return g
}

func withDefaults(c Config) Config {
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr.String())
		}
	}
	if c.Resolve == nil {
		c.Resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	if c.Own == nil {
		c.Own = addresses.Own
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Close closes the sockets and every connection, and waits for the gate's work to
// end. It may be called again.
func (g *Gate) Close() error {
	g.cancel()
	g.closeSockets()
	g.wait.Wait()
	return nil
}

// Blocks lists what was refused so far, the oldest first.
func (g *Gate) Blocks() []Block { return g.blocks.list() }

// own makes Close close a socket. A socket that comes too late is closed at once.
func (g *Gate) own(s interface{ Close() error }) {
	g.mu.Lock()
	closed := g.closed
	g.sockets[s] = struct{}{}
	g.mu.Unlock()
	if closed {
		s.Close()
	}
}

// release closes a socket before the gate's end.
func (g *Gate) release(s interface{ Close() error }) {
	g.mu.Lock()
	delete(g.sockets, s)
	g.mu.Unlock()
	s.Close()
}

func (g *Gate) closeSockets() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for s := range g.sockets {
		s.Close()
	}
}

// accept serves the connections of a listener, each on its own goroutine. When all
// slots are taken, clients wait in the listener's queue.
func (g *Gate) accept(listener net.Listener, serve func(net.Conn)) {
	g.own(listener)
	g.wait.Go(func() {
		for {
			select {
			case g.slots <- struct{}{}:
			case <-g.ctx.Done():
				return
			}
			conn, err := listener.Accept()
			if err != nil {
				<-g.slots
				if g.again(listener, err) {
					continue
				}
				return
			}
			g.own(conn)
			g.wait.Go(func() {
				defer func() { <-g.slots }()
				defer g.release(conn)
				serve(conn)
			})
		}
	})
}

// again reports whether to continue after an error of a listener, and waits a
// moment: descriptors may be used up for a while.
func (g *Gate) again(listener net.Listener, err error) bool {
	if g.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return false
	}
	g.cfg.Logger.Warn("the sandbox's network cannot accept a connection", "address", listener.Addr().String(), "err", err)
	select {
	case <-time.After(50 * time.Millisecond):
		return true
	case <-g.ctx.Done():
		return false
	}
}

// after is a deadline. Deadlines of connections are in the machine's time, so
// Config.Now does not count.
func after(d time.Duration) time.Time {
	return time.Now().Add(d) //nolint:forbidigo // see above
}

func portOf(addr net.Addr) uint16 {
	if at, err := netip.ParseAddrPort(addr.String()); err == nil {
		return at.Port()
	}
	return 0
}

// hostOf is the address of this end of a connection.
func hostOf(conn net.Conn) (netip.Addr, error) {
	at, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return netip.Addr{}, fmt.Errorf("read the address of a connection: %w", err)
	}
	return at.Addr().Unmap(), nil
}
