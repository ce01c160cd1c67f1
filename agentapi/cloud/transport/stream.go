package transport

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"
)

// Body is an answer that is read as it arrives.
type Body struct {
	io.ReadCloser

	Type string // without parameters
	Name string // that the server suggests; a plain file name or ""
	Size int64  // -1: the server does not say
}

// Open makes the request and returns its answer as it arrives. The answer may
// take any time, but not without a byte for longer than the idle limit.
func (c *Client) Open(ctx context.Context, r Request) (*Body, error) {
	var body *Body
	err := c.retry(ctx, r, func() error {
		running, cancel := context.WithCancel(ctx)
		guard := time.AfterFunc(c.o.Timeout, cancel)
		res, err := c.send(running, r)
		if !guard.Stop() && err == nil {
			_ = res.Body.Close() // The context is over.
			err = &Error{Method: r.method(), Host: res.Request.URL.Host, Path: r.Path, Kind: ErrUpstream, Err: context.DeadlineExceeded}
		}
		if err != nil {
			cancel()
			return err
		}
		if kind := contentType(res.Header); kind == "text/html" {
			cancel()
			return &Error{Method: r.method(), Host: res.Request.URL.Host, Path: r.Path, Status: res.StatusCode, Kind: ErrWrongEndpoint, Text: "the answer is " + kind, Err: res.Body.Close()}
		}
		body = c.bodyOf(res, cancel)
		return nil
	})
	return body, err
}

func (c *Client) bodyOf(res *http.Response, cancel context.CancelFunc) *Body {
	name := ""
	if _, params, err := mime.ParseMediaType(res.Header.Get("Content-Disposition")); err == nil {
		name = plainName(params["filename"])
	}
	idle := &idleReader{in: res.Body, cancel: cancel, limit: c.o.Idle, host: res.Request.URL.Host}
	idle.timer = time.AfterFunc(c.o.Idle, idle.expire)
	return &Body{ReadCloser: idle, Type: contentType(res.Header), Name: name, Size: res.ContentLength}
}

// plainName is the last element of a suggested name, "" if it is not a name.
func plainName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == ".." || name == "/" || strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f || r == ':' }) {
		return ""
	}
	return name
}

// idleReader ends an answer that stops arriving.
type idleReader struct {
	in      io.ReadCloser
	cancel  context.CancelFunc
	limit   time.Duration
	host    string
	timer   *time.Timer
	expired atomic.Bool
}

func (r *idleReader) expire() {
	r.expired.Store(true)
	r.cancel()
}

// Read reads what has arrived.
func (r *idleReader) Read(p []byte) (int, error) {
	r.timer.Reset(r.limit)
	n, err := r.in.Read(p)
	r.timer.Stop() // The timer runs while ohgw waits for the server, not while the caller works.
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case r.expired.Load():
		return n, fmt.Errorf("%w: no data from %s for %s", ErrUpstream, r.host, r.limit)
	}
	return n, fmt.Errorf("%w: the transfer from %s was cut: %w", ErrUpstream, r.host, err)
}

// Close ends the transfer.
func (r *idleReader) Close() error {
	r.timer.Stop()
	defer r.cancel()
	return r.in.Close()
}
