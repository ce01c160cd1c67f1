package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Upload sends the body of the request as it is read, once, and reads the JSON
// answer. It may take any time, but the server must not take nothing for longer than
// the idle limit, and must answer within the timeout of the request after the last
// byte. If reading the body fails, that is the error.
func (c *Client) Upload(ctx context.Context, r Request) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &sender{in: r.Body, limit: c.o.Idle, last: r.Timeout}
	out.timer = time.AfterFunc(c.o.Idle, cancel)
	defer out.timer.Stop()
	r.Body = out
	if r.Target == nil || SameServer(r.Target.Base, c.root) {
		if err := c.limit.wait(ctx); err != nil {
			return c.unsent(r, err)
		}
	}
	res, err := c.send(running, r)
	if err == nil {
		defer func() { _ = res.Body.Close() }() // It was only read.
		err = c.decode(r, res)
	}
	switch e, ok := errors.AsType[*Error](err); {
	case err == nil:
		return nil
	case ctx.Err() == nil && running.Err() != nil && ok:
		return &Error{Method: e.Method, Host: e.Host, Path: e.Path, Kind: ErrUpstream, Err: fmt.Errorf("it takes nothing, or does not answer: %w", context.DeadlineExceeded)}
	}
	return err
}

// sender is a body that is sent. Its timer counts while the server is waited for.
type sender struct {
	in    io.Reader
	timer *time.Timer
	limit time.Duration
	last  time.Duration // after the last byte
}

// Read reads what is sent next.
func (s *sender) Read(p []byte) (int, error) {
	s.timer.Stop()
	n, err := s.in.Read(p)
	if errors.Is(err, io.EOF) {
		s.timer.Reset(s.last)
	} else {
		s.timer.Reset(s.limit)
	}
	return n, err //nolint:wrapcheck // io.Reader's contract
}
