// Package conns accepts the connections of clients. It bounds how many there are,
// notices clients that vanished, and has the last word where net/http answers by
// itself. It knows nothing of requests: what is answered belongs to the daemon.
package conns

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// vanished is how long a client that acknowledges nothing is taken for one
	// that is there.
	vanished = 45 * time.Second
	// mostConns bounds the connections where the system does not.
	mostConns = 16 << 10
	// refusalTime is how long the answer on a refused connection may take. A new
	// connection accepts so few bytes without waiting.
	refusalTime = 50 * time.Millisecond
)

// Answers are what is sent on a connection on which there is no exchange: whole
// HTTP/1.1 responses.
type Answers struct {
	// Rewrite returns the response to send in place of one that net/http makes by
	// itself, in plain text and before there is a request; nil for any other bytes.
	Rewrite func(p []byte) []byte
	// Full returns the response on a connection beyond the limit.
	Full func() []byte
}

// Listener accepts connections for a server. It bounds how many there are, so
// that a client that opens thousands of them leaves descriptors to the agents.
type Listener struct {
	net.Listener
	answers Answers
	max     int

	mu      sync.Mutex
	open    map[*conn]struct{}
	waiting list.List // of *conn without a request, those that wait longest first
}

// New returns a listener over ln. It closes ln when it is closed.
func New(ln net.Listener, answers Answers) *Listener {
	return &Listener{Listener: ln, answers: answers, max: limit(), open: make(map[*conn]struct{})}
}

// conn is a connection of a client.
type conn struct {
	net.Conn
	listener *Listener
	at       *list.Element // in listener.waiting; nil: a request is under way
}

// Accept waits for a connection. Where there are too many, the one that has
// been without a request for longest makes room; if none is, the new one is
// refused.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		noticeLoss(accepted)
		c := &conn{Conn: accepted, listener: l}
		if l.enter(c) {
			return c, nil
		}
		l.refuse(accepted)
	}
}

// enter takes up c and reports whether there was room.
func (l *Listener) enter(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.max {
		first := l.waiting.Front()
		if first == nil {
			return false
		}
		longest := first.Value.(*conn)
		l.drop(longest)
		_ = longest.Conn.Close() // nothing was under way on it
	}
	l.open[c] = struct{}{}
	c.at = l.waiting.PushBack(c)
	return true
}

// drop forgets c. The caller holds l.mu.
func (l *Listener) drop(c *conn) {
	delete(l.open, c)
	if c.at != nil {
		l.waiting.Remove(c.at)
		c.at = nil
	}
}

// Follow implements net/http's callback for the state of a connection. It lists the
// idle connections, the oldest first.
func (l *Listener) Follow(nc net.Conn, state http.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, open := l.open[c]; !open {
		return
	}
	switch state {
	case http.StateActive:
		if c.at != nil {
			l.waiting.Remove(c.at)
			c.at = nil
		}
	case http.StateIdle:
		c.at = l.waiting.PushBack(c)
	}
}

// CloseWaiting closes the connections on which there is no request.
func (l *Listener) CloseWaiting() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.waiting.Front(); e != nil; e = l.waiting.Front() {
		c := e.Value.(*conn)
		l.drop(c)
		_ = c.Conn.Close() // nothing was under way on it
	}
}

// Close makes room for another connection.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.drop(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite says that nothing more comes; net/http does so before it closes a
// connection whose client still sends.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Write sends Answers.Rewrite of what net/http answers by itself.
func (c *conn) Write(p []byte) (int, error) {
	answer := c.listener.answers.Rewrite(p)
	if answer == nil {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(answer); err != nil {
		return 0, err
	}
	return len(p), nil
}

// refuse answers on a connection beyond the limit, and closes it. Its deadline is
// in the clock of the network, which no change of the day's time touches.
func (l *Listener) refuse(c net.Conn) {
	_ = c.SetWriteDeadline(time.Now().Add(refusalTime)) //nolint:forbidigo // see above
	_, _ = c.Write(l.answers.Full())                    // it is refused, whether it reads the answer or not
	_ = c.Close()
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
