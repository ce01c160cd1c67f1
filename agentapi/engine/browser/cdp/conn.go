// Package cdp speaks the Chrome DevTools Protocol over the two pipes of a Chromium that
// was started with --remote-debugging-pipe: JSON messages that end with NUL. It knows no
// method of the protocol.
//
// A command ends with its answer, its context or the connection, whichever comes first.
// Events are handed over in their order, by the one goroutine that reads.
package cdp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxMessage bounds a message of Chromium. One that is longer ends the connection.
const maxMessage = 96 << 20

// ErrClosed is the error of a command when the connection has ended.
var ErrClosed = errors.New("the connection to the browser has ended")

// Event is something that has happened in Chromium.
type Event struct {
	Session string // of the target; "" for the browser as a whole
	Method  string
	Params  json.RawMessage
}

// Error is what Chromium answers to a command that it refuses.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error is Chromium's own sentence.
func (e *Error) Error() string { return e.Message }

// Conn is a connection. Its methods may be called at the same time.
type Conn struct {
	in     io.WriteCloser
	out    io.ReadCloser
	events func(Event)
	send   chan []byte
	done   chan struct{}
	end    func()
	work   sync.WaitGroup

	mu      sync.Mutex
	next    int64
	waiting map[int64]chan message
}

// message is what comes from Chromium: an answer, or an event.
type message struct {
	ID      int64           `json:"id"`
	Session string          `json:"sessionId"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *Error          `json:"error"`
}

// New connects two pipes: what is written to in reaches Chromium, and what it writes is
// read from out. events must not wait. Close ends all of it.
func New(in io.WriteCloser, out io.ReadCloser, events func(Event)) *Conn {
	c := &Conn{
		in: in, out: out, events: events, send: make(chan []byte), done: make(chan struct{}), waiting: map[int64]chan message{},
	}
	c.end = sync.OnceFunc(func() {
		close(c.done)
		_ = c.in.Close()
		_ = c.out.Close()
	})
	c.work.Go(c.read)
	c.work.Go(c.write)
	return c
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Close ends the connection, and waits for it.
func (c *Conn) Close() error {
	c.end()
	c.work.Wait()
	return nil
}

// Call carries a command out in a session, "" for the browser as a whole. params and
// result may be nil.
func (c *Conn) Call(ctx context.Context, session, method string, params, result any) error {
	id, answer := c.expect()
	defer c.forget(id)
	data, err := json.Marshal(struct {
		ID      int64  `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{id, session, method, params})
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	select {
	case c.send <- append(data, 0):
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return ErrClosed
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return m.Error
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("decode the answer to %s: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return ErrClosed
	}
}

// expect makes the number of a command, and the channel of its answer.
func (c *Conn) expect() (int64, <-chan message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	answer := make(chan message, 1)
	c.waiting[c.next] = answer
	return c.next, answer
}

func (c *Conn) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// write sends messages until the connection ends.
func (c *Conn) write() {
	defer c.end()
	for {
		select {
		case data := <-c.send:
			if _, err := c.in.Write(data); err != nil {
				return
			}
		case <-c.done:
			return
		}
	}
}

// read takes messages until the connection ends.
func (c *Conn) read() {
	defer c.end()
	messages := bufio.NewScanner(c.out)
	messages.Buffer(make([]byte, 0, 64<<10), maxMessage)
	messages.Split(split)
	for messages.Scan() {
		var m message
		if json.Unmarshal(messages.Bytes(), &m) != nil {
			return
		}
		if m.ID == 0 {
			c.events(Event{Session: m.Session, Method: m.Method, Params: m.Params})
			continue
		}
		c.mu.Lock()
		answer := c.waiting[m.ID]
		delete(c.waiting, m.ID)
		c.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	}
}

// split finds the ends of messages, which are NUL.
func split(data []byte, _ bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}
