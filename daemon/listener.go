package daemon

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	headerTimeout  = 5 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10

	// vanished is how long a client that does not acknowledge anything is taken
	// for one that is there.
	vanished = 45 * time.Second
	// mostConns bounds the connections where the system does not.
	mostConns = 16 << 10
)

// boundedListener accepts connections for the server. It bounds how many there are, so
// that whoever opens thousands of them leaves descriptors to the agents, and
// notices clients that vanished without a word.
type boundedListener struct {
	net.Listener
	max int

	mu      sync.Mutex
	open    map[*conn]struct{}
	waiting list.List // of *conn without a request, those that wait longest first
}

func newBoundedListener(ln net.Listener) *boundedListener {
	return &boundedListener{Listener: ln, max: connLimit(), open: make(map[*conn]struct{})}
}

// conn is a connection of a client.
type conn struct {
	net.Conn
	listener *boundedListener
	at       *list.Element // in listener.waiting; nil: a request is under way
}

// Accept waits for a connection. Where there are too many, the one that has
// been without a request for longest makes room; if none is, the new one is
// refused.
func (d *boundedListener) Accept() (net.Conn, error) {
	for {
		accepted, err := d.Listener.Accept()
		if err != nil {
			return nil, err //nolint:wrapcheck // net/http reads its type
		}
		noticeLoss(accepted)
		c := &conn{Conn: accepted, listener: d}
		if d.enter(c) {
			return c, nil
		}
		refuse(accepted)
	}
}

// enter takes up c and reports whether there was room.
func (d *boundedListener) enter(c *conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) >= d.max {
		first := d.waiting.Front()
		if first == nil {
			return false
		}
		longest := first.Value.(*conn)
		d.drop(longest)
		_ = longest.Conn.Close() // nothing was under way on it
	}
	d.open[c] = struct{}{}
	c.at = d.waiting.PushBack(c)
	return true
}

// drop forgets c. The caller holds d.mu.
func (d *boundedListener) drop(c *conn) {
	delete(d.open, c)
	if c.at != nil {
		d.waiting.Remove(c.at)
		c.at = nil
	}
}

// follow is net/http's callback for the state of a connection.
func (d *boundedListener) follow(nc net.Conn, state http.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, open := d.open[c]; !open {
		return
	}
	switch state {
	case http.StateActive:
		if c.at != nil {
			d.waiting.Remove(c.at)
			c.at = nil
		}
	case http.StateIdle:
		c.at = d.waiting.PushBack(c)
	}
}

// closeWaiting closes the connections on which there is no request.
func (d *boundedListener) closeWaiting() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for e := d.waiting.Front(); e != nil; e = d.waiting.Front() {
		c := e.Value.(*conn)
		d.drop(c)
		_ = c.Conn.Close() // nothing was under way on it
	}
}

// Close makes room for another connection.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.drop(c)
	c.listener.mu.Unlock()
	return c.Conn.Close() //nolint:wrapcheck // c is that connection
}

// CloseWrite says that nothing more comes; net/http does so before it closes a
// connection whose client still sends.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite() //nolint:wrapcheck // c is that connection
	}
	return nil
}

// Write puts the errors that net/http answers by itself, in plain text and
// before there is a request, into OpenAI's envelope.
func (c *conn) Write(p []byte) (int, error) {
	answer := ownWords(p)
	if answer == nil {
		return c.Conn.Write(p) //nolint:wrapcheck // c is that connection
	}
	if _, err := c.Conn.Write(answer); err != nil {
		return 0, err //nolint:wrapcheck // c is that connection
	}
	return len(p), nil
}

// noticeLoss lets the system find out that a client is gone which could not
// say so: its machine sleeps, or its network is another one now. Where there is
// a heartbeat, data waits to be acknowledged and keep-alive alone never asks.
func noticeLoss(c net.Conn) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	// What cannot be set makes the loss known later.
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: vanished / 3, Interval: vanished / 3, Count: 2})
	limitUnacknowledged(tcp, vanished)
}
