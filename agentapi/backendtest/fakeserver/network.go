package fakeserver

import (
	"context"
	"net"
	"sync"
)

// network is a listener whose connections can be frozen and broken.
type network struct {
	addr   string
	accept func() (net.Conn, error)
	close  func()
	pipes  chan net.Conn // in memory only

	mu     sync.Mutex
	dead   bool
	conns  map[*conn]struct{}
	frozen chan struct{} // closed when the network thaws; nil while it flows
	gone   chan struct{} // closed when the network is destroyed
}

func listen(addr string, inMemory bool) (*network, error) {
	n := &network{conns: map[*conn]struct{}{}, gone: make(chan struct{})}
	if inMemory {
		n.addr, n.pipes = "agent-server.test", make(chan net.Conn)
		n.close = func() {}
		n.accept = func() (net.Conn, error) {
			select {
			case c := <-n.pipes:
				return c, nil
			case <-n.gone:
				return nil, net.ErrClosed
			}
		}
		return n, nil
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	n.addr, n.accept = listener.Addr().String(), listener.Accept
	n.close = func() { _ = listener.Close() }
	return n, nil
}

// dial makes a connection in memory.
func (n *network) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case n.pipes <- server:
		return client, nil
	case <-n.gone:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept takes the next connection.
func (n *network) Accept() (net.Conn, error) {
	raw, err := n.accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, net: n, broken: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		_ = raw.Close()
		return nil, net.ErrClosed
	}
	n.conns[c] = struct{}{}
	return c, nil
}

// Close stops listening.
func (n *network) Close() error { n.close(); return nil }

// Addr is the address of the server.
func (n *network) Addr() net.Addr { return address(n.addr) }

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

func (n *network) freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen == nil {
		n.frozen = make(chan struct{})
	}
}

func (n *network) thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen != nil {
		close(n.frozen)
		n.frozen = nil
	}
}

// destroy ends the network with all its connections.
func (n *network) destroy() {
	n.mu.Lock()
	n.dead = true
	n.mu.Unlock()
	close(n.gone)
	n.close()
	n.cut()
}

func (n *network) cut() {
	n.mu.Lock()
	conns := n.conns
	n.conns = map[*conn]struct{}{}
	n.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
}

// flows waits until the network is not frozen, or c is closed.
func (n *network) flows(c *conn) {
	n.mu.Lock()
	frozen := n.frozen
	n.mu.Unlock()
	if frozen == nil {
		return
	}
	select {
	case <-frozen:
	case <-c.broken:
	}
}

// conn is a connection to the server.
type conn struct {
	net.Conn
	net    *network
	once   sync.Once
	broken chan struct{} // closed when the connection is
}

func (c *conn) Read(p []byte) (int, error) {
	c.net.flows(c)
	n, err := c.Conn.Read(p)
	c.net.flows(c) // it may have been frozen while it waited
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	c.net.flows(c)
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.broken) })
	c.net.mu.Lock()
	delete(c.net.conns, c)
	c.net.mu.Unlock()
	return c.Conn.Close()
}
