package transport

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/redact"
)

const (
	maxAnswer = 128 << 20 // of JSON: a page of events may hold 100 images
	maxWordsB = 64 << 10  // of an error's body
)

// Target is a runtime: another host with a key of its own.
type Target struct {
	Base *url.URL
	Key  hidden.Text
}

// Request is one call.
type Request struct {
	Method  string // "" is GET
	Path    string // below the root, escaped
	Query   url.Values
	In      any        // sent as JSON
	Form    url.Values // sent as a form
	Out     any        // read from JSON; nil to ignore the answer
	Target  *Target    // nil: the server itself
	Repeat  bool       // it can be repeated without harm; reading always can
	Keyless bool       // without a key
	Timeout time.Duration
}

func (r Request) method() string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

func (r Request) repeatable() bool { return r.Repeat || r.method() == http.MethodGet }

// Call makes the request and reads its JSON answer.
func (c *Client) Call(ctx context.Context, r Request) error {
	return c.retry(ctx, r, func() error {
		timeout := cmp.Or(r.Timeout, c.o.Timeout)
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		res, err := c.send(limited, r)
		if err != nil {
			return c.timed(ctx, limited, err, timeout)
		}
		defer func() { _ = res.Body.Close() }() // It was only read.
		return c.timed(ctx, limited, c.decode(r, res), timeout)
	})
}

// timed names the limit where it was the limit that ended a call.
func (c *Client) timed(ctx, limited context.Context, err error, after time.Duration) error {
	if err == nil || ended(ctx) || limited.Err() == nil {
		return err
	}
	if e, ok := errors.AsType[*Error](err); ok {
		late := *e
		late.Err = fmt.Errorf("no answer within %s: %w", after, context.DeadlineExceeded)
		return &late
	}
	return err
}

// decode reads the JSON of a good answer.
func (c *Client) decode(r Request, res *http.Response) error {
	fail := func(kind error, text string, err error) error {
		return &Error{Method: r.method(), Host: res.Request.URL.Host, Path: r.Path, Status: res.StatusCode, Kind: kind, Text: text, Err: err}
	}
	if !isJSON(res.Header) {
		if r.Out == nil && res.StatusCode == http.StatusNoContent {
			return nil
		}
		return fail(ErrWrongEndpoint, "the answer is "+contentType(res.Header)+", not JSON", nil)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fail(ErrUpstream, "the answer was cut", err)
	case len(data) > maxAnswer:
		return fail(ErrRefused, fmt.Sprintf("the answer is larger than %d MiB", maxAnswer>>20), nil)
	case !json.Valid(data):
		return fail(ErrUpstream, "the answer is not complete JSON", nil)
	case r.Out == nil:
		return nil
	}
	if err := json.Unmarshal(data, r.Out); err != nil {
		return fail(ErrWrongEndpoint, "the answer has another shape", nil)
	}
	return nil
}

func isJSON(h http.Header) bool {
	kind := contentType(h)
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

func contentType(h http.Header) string {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind == "" {
		return "of no type"
	}
	return kind
}

// send makes one attempt and returns an answer with a good status.
func (c *Client) send(ctx context.Context, r Request) (*http.Response, error) {
	req, key, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	began := c.o.Now()
	res, err := c.http.Do(req)
	if err != nil {
		err = netcause.Of(err)
		c.o.Logger.DebugContext(ctx, "cloud request failed", "method", req.Method, "host", req.URL.Host, "path", r.Path, "err", err)
		return nil, &Error{Method: req.Method, Host: req.URL.Host, Path: r.Path, Kind: ErrUpstream, Err: err}
	}
	c.o.Logger.DebugContext(ctx, "cloud request", "method", req.Method, "host", req.URL.Host, "path", r.Path, "status", res.StatusCode, "took", c.o.Now().Sub(began))
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }() // It was only read.
	return nil, c.refusal(r, res, key)
}

// refusal reads the error out of an answer whose status is not a success. The text of
// the answer comes without the key.
func (c *Client) refusal(r Request, res *http.Response, key hidden.Text) error {
	data, err := io.ReadAll(io.LimitReader(res.Body, maxWordsB))
	if err != nil {
		data = nil // The status says enough.
	}
	e := &Error{Method: r.method(), Host: res.Request.URL.Host, Path: r.Path, Status: res.StatusCode}
	e.explain(data, res.Header.Get("Content-Type"))
	if !key.IsZero() {
		e.Text = strings.ReplaceAll(e.Text, key.Reveal(), redact.Mark)
	}
	e.Kind = kindOf(res.StatusCode, e.Text)
	if to, err := res.Location(); err == nil && res.StatusCode < 400 {
		e.Text = "it redirects to " + to.Scheme + "://" + to.Host
	}
	e.RetryAfter = retryAfter(res.Header, c.o.Now())
	return e
}

// request builds the request with its key. The key goes to its own host.
func (c *Client) request(ctx context.Context, r Request) (*http.Request, hidden.Text, error) {
	base := c.root
	if r.Target != nil {
		base = r.Target.Base
	}
	target := strings.TrimRight(base.String(), "/") + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	var content io.Reader
	kind := ""
	switch {
	case r.In != nil:
		data, err := json.Marshal(r.In)
		if err != nil {
			return nil, hidden.Text{}, fmt.Errorf("encode %s: %w", r.Path, errors.Join(err, errNotSent))
		}
		content, kind = bytes.NewReader(data), "application/json"
	case r.Form != nil:
		content, kind = strings.NewReader(r.Form.Encode()), "application/x-www-form-urlencoded"
	}
	req, err := http.NewRequestWithContext(ctx, r.method(), target, content)
	if err != nil {
		return nil, hidden.Text{}, fmt.Errorf("%s %s: %w", r.method(), r.Path, errors.Join(netcause.Of(err), errNotSent))
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	req.Header.Set("Accept", "application/json, */*;q=0.5")
	key, err := c.sign(ctx, req, r)
	return req, key, err
}

// sign adds the key that belongs to the host of the request.
func (c *Client) sign(ctx context.Context, req *http.Request, r Request) (hidden.Text, error) {
	foreign := r.Target != nil && !SameServer(r.Target.Base, c.root)
	if !foreign {
		req.Header.Set("X-OpenHands-Client", c.o.Client)
		req.Header.Set("X-OpenHands-Client-Version", c.o.Version)
	}
	switch {
	case r.Keyless:
		return hidden.Text{}, nil
	case r.Target != nil && !r.Target.Key.IsZero():
		req.Header.Set(sessionKey, r.Target.Key.Reveal())
		return r.Target.Key, nil
	case foreign:
		return hidden.Text{}, nil
	}
	key, err := c.o.Key(ctx)
	if err != nil {
		return hidden.Text{}, fmt.Errorf("read the key of %s: %w", c.root.Host, errors.Join(err, errNotSent))
	}
	if key.IsZero() {
		return hidden.Text{}, nil
	}
	c.put(req.Header, key, r.Target != nil)
	return key, nil
}

// put writes the server's key. A runtime on the server's own host takes it in the
// header of runtimes.
func (c *Client) put(h http.Header, key hidden.Text, runtime bool) {
	if c.o.Organization != "" {
		h.Set("X-Org-Id", c.o.Organization)
	}
	mode := c.Header()
	if runtime {
		mode = HeaderSession
	}
	switch mode {
	case HeaderSession:
		h.Set(sessionKey, key.Reveal())
	case HeaderAccess:
		h.Set("X-Access-Token", key.Reveal())
	default:
		h.Set("Authorization", "Bearer "+key.Reveal())
	}
}
