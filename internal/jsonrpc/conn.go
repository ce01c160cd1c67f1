// Package jsonrpc speaks JSON-RPC 2.0 in lines, one message each, with another
// program: both sides send requests and notifications. It knows no methods.
//
// Invariants: messages are written whole and one after the other. A request
// has exactly one answer, unless the connection ends before. What the other
// side sends, however broken, never ends the program.
package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"

	"github.com/ohgw/ohgw/internal/plainjson"
)

const (
	// defaultMax bounds a message, in bytes. A gateway takes bodies of 32 MiB.
	defaultMax = 48 << 20
	// maxRequests bounds the requests of the other side that run at a time.
	maxRequests = 256
	// cancelMethod is the notification that cancels one request.
	cancelMethod = "$/cancel_request"
)

// ErrClosed is the cause of what ends because the other side has gone.
var ErrClosed = errors.New("the connection was closed by the other side")

// Work computes the result of a request. Another error than an *Error reaches
// the other side as an internal error.
type Work func() (result any, err error)

// Handler is asked for what the other side wants. Its methods are called one
// after the other, in the order of the messages, and must not wait.
type Handler interface {
	// Request takes a request. Its result is nil with an error, or where the
	// work is still to be done, beside other requests. ctx is for that, and ends
	// when the request is cancelled or the connection ends.
	Request(ctx context.Context, method string, params json.RawMessage) (result any, work Work, err error)
	// Notification takes a notification.
	Notification(ctx context.Context, method string, params json.RawMessage)
}

// Conn is a connection. Its methods are safe for concurrent use.
type Conn struct {
	// Max bounds a message that is read, in bytes. 0: 48 MiB.
	Max int

	log *slog.Logger

	writing sync.Mutex
	w       io.Writer

	mu      sync.Mutex
	nextID  uint64
	calls   map[string]chan incoming      // ours, by id
	running map[string]context.CancelFunc // theirs, by id
	work    sync.WaitGroup
}

// New makes a connection that writes to w.
func New(w io.Writer, log *slog.Logger) *Conn {
	return &Conn{w: w, log: log, calls: map[string]chan incoming{}, running: map[string]context.CancelFunc{}}
}

// line is a line that was read, or why there is none.
type line struct {
	data []byte
	err  error
}

// Serve reads messages from r until it ends, and waits for all work. It returns
// nil at the end of r, else ctx's cause or the error of r. If ctx ends while a
// read waits, that read is left behind.
func (c *Conn) Serve(ctx context.Context, r io.Reader, h Handler) error {
	life, end := context.WithCancelCause(ctx)
	limit := c.Max
	if limit <= 0 {
		limit = defaultMax
	}
	incoming := make(chan line)
	go func() { // ends with the read; see above
		defer close(incoming)
		in := newLines(r, limit)
		for {
			data, err := in.next()
			select {
			case incoming <- line{data, err}:
			case <-life.Done():
				return
			}
			if err != nil && !errors.Is(err, errLong) {
				return
			}
		}
	}()
	err := c.read(life, incoming, limit, h)
	end(ErrClosed)
	c.work.Wait()
	return err
}

// read handles lines until there are no more.
func (c *Conn) read(ctx context.Context, from <-chan line, limit int, h Handler) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case l := <-from:
			switch {
			case errors.Is(l.err, errLong):
				c.refuse(noID, Errorf(CodeInvalidRequest, "the message is longer than %d MiB", limit>>20))
			case errors.Is(l.err, io.EOF):
				return nil
			case l.err != nil:
				return l.err
			default:
				c.take(ctx, l.data, h)
			}
		}
	}
}

// take handles one message.
func (c *Conn) take(ctx context.Context, data []byte, h Handler) {
	m, bad := parse(data)
	switch {
	case bad != nil:
		if m.ID == nil {
			m.ID = noID
		}
		c.refuse(m.ID, bad)
	case m.Method == nil:
		c.answered(m)
	case m.ID != nil:
		c.start(ctx, m, h)
	case *m.Method == cancelMethod:
		c.cancel(m.Params)
	default:
		h.Notification(ctx, *m.Method, m.Params)
	}
}

// start begins the work of a request.
func (c *Conn) start(ctx context.Context, m incoming, h Handler) {
	id := string(m.ID)
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	_, twice := c.running[id]
	full := len(c.running) >= maxRequests
	if !twice && !full {
		c.running[id] = cancel
	}
	c.mu.Unlock()
	if twice || full {
		cancel()
		if twice {
			c.refuse(m.ID, Errorf(CodeInvalidRequest, "a request with this id is running"))
			return
		}
		c.refuse(m.ID, Errorf(CodeInternal, "%d requests are running; wait for one of them", maxRequests))
		return
	}
	end := func(result any, err error) {
		c.mu.Lock()
		delete(c.running, id)
		c.mu.Unlock()
		c.answer(ctx, m.ID, result, err)
		cancel()
	}
	result, work, err := h.Request(ctx, *m.Method, m.Params)
	if work == nil {
		end(result, err)
		return
	}
	c.work.Go(func() { end(work()) })
}

// answer answers a request.
func (c *Conn) answer(ctx context.Context, id json.RawMessage, result any, err error) {
	if err != nil {
		c.refuse(id, wireError(ctx, err))
		return
	}
	if result == nil {
		result = struct{}{}
	}
	c.write(outgoing{ID: id, Result: result})
}

// wireError is an error as the other side reads it.
func wireError(ctx context.Context, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return Errorf(CodeCancelled, "the request was cancelled")
	}
	return Errorf(CodeInternal, "%s", err)
}

// cancel ends the work of a request that the other side names.
func (c *Conn) cancel(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return // A notification has no answer.
	}
	c.mu.Lock()
	cancel := c.running[string(p.ID)]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// answered takes the answer to a request of ours. It drops one that no caller waits for.
func (c *Conn) answered(m incoming) {
	c.mu.Lock()
	to := c.calls[string(m.ID)]
	delete(c.calls, string(m.ID))
	c.mu.Unlock()
	if to != nil {
		to <- m // It has room.
	}
}

// Call sends a request and reads its result. The error is ctx's cause, one of
// the connection, or the *Error of the other side.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	answer := make(chan incoming, 1)
	c.mu.Lock()
	c.nextID++
	id := strconv.FormatUint(c.nextID, 10)
	c.calls[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
	}()
	if err := c.send(outgoing{ID: json.RawMessage(id), Method: method, Params: params}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case m := <-answer:
		if m.Error != nil {
			return m.Error
		}
		return json.Unmarshal(m.Result, result)
	}
}

// Notify sends a notification.
func (c *Conn) Notify(method string, params any) error {
	return c.send(outgoing{Method: method, Params: params})
}

// refuse answers with an error.
func (c *Conn) refuse(id json.RawMessage, e *Error) { c.write(outgoing{ID: id, Error: e}) }

// write sends an answer. Where that fails the other side has gone, and the end
// of its messages follows.
func (c *Conn) write(m outgoing) {
	if err := c.send(m); err != nil {
		c.log.Debug("cannot send an answer", "error", err)
	}
}

// send writes a message.
func (c *Conn) send(m outgoing) error {
	m.Version = "2.0"
	line, err := plainjson.Marshal(m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.w.Write(append(line, '\n'))
	return err
}
