package transport

import (
	"cmp"
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
	Size int64  // of what arrives; -1: the server does not say
	From int64  // how much of the content was left out, as the request's Part says
	ETag string // a strong one, by which the rest can be asked for; "" if there is none
}

// Open makes the request and returns its answer as it arrives. The answer may
// take any time, but not without a byte for longer than the idle limit.
func (c *Client) Open(ctx context.Context, r Request) (*Body, error) {
	var body *Body
	err := c.retry(ctx, r, func() error {
		running, cancel := context.WithCancel(ctx)
		timeout := cmp.Or(r.Timeout, c.o.Timeout)
		guard := time.AfterFunc(timeout, cancel)
		res, err := c.send(running, r)
		if !guard.Stop() && err == nil {
			_ = res.Body.Close() // The context is over.
			err = &Error{Method: r.method(), Host: res.Request.URL.Host, Path: r.Path, Kind: ErrUpstream, Err: running.Err()}
		}
		if err != nil {
			err = c.timed(ctx, running, err, timeout)
			cancel()
			return err
		}
		if kind := contentType(res.Header); kind == "text/html" {
			cancel()
			return &Error{Method: r.method(), Host: res.Request.URL.Host, Path: r.Path, Status: res.StatusCode, Kind: ErrWrongEndpoint, Text: "the answer is " + kind, Err: res.Body.Close()}
		}
		body = c.bodyOf(res, cancel)
		if res.StatusCode == http.StatusPartialContent {
			return c.continued(r, res, body)
		}
		return nil
	})
	return body, err
}

// continued checks that an answer is the rest that was asked for.
func (c *Client) continued(r Request, res *http.Response, body *Body) error {
	if r.Part != nil && strings.HasPrefix(res.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", r.Part.Size)) {
		body.From = r.Part.Size
		return nil
	}
	return &Error{
		Method: r.method(), Host: res.Request.URL.Host, Path: r.Path, Status: res.StatusCode, Kind: ErrUpstream,
		Text: "the answer is another part than the one that was asked for", Err: body.Close(),
	}
}

// strong is an ETag that stands for every byte; "" for another one.
func strong(tag string) string {
	if strings.HasPrefix(tag, `"`) && strings.HasSuffix(tag, `"`) && len(tag) > 2 {
		return tag
	}
	return ""
}

func (c *Client) bodyOf(res *http.Response, cancel context.CancelFunc) *Body {
	name := ""
	if _, params, err := mime.ParseMediaType(res.Header.Get("Content-Disposition")); err == nil {
		name = plainName(params["filename"])
	}
	idle := &idleReader{in: res.Body, cancel: cancel, limit: c.o.Idle, host: res.Request.URL.Host}
	idle.timer = time.AfterFunc(c.o.Idle, idle.expire)
	return &Body{ReadCloser: idle, Type: contentType(res.Header), Name: name, Size: res.ContentLength, ETag: strong(res.Header.Get("ETag"))}
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
	r.timer.Stop() // It counts while the server is waited for, not while the caller works.
	switch {
	case err == nil || err == io.EOF:
		return n, err //nolint:wrapcheck // io.Reader's contract
	case r.expired.Load():
		return n, fmt.Errorf("%w: no data from %s for %s", ErrUpstream, r.host, r.limit)
	}
	return n, fmt.Errorf("%w: the transfer from %s was cut: %w", ErrUpstream, r.host, err)
}

// Close ends the transfer.
func (r *idleReader) Close() error {
	r.timer.Stop()
	defer r.cancel()
	return r.in.Close() //nolint:wrapcheck // it was only read
}
