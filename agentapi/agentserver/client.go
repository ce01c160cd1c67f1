package agentserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/redact"
)

const (
	keyHeader    = "X-Session-API-Key"
	exposeHeader = "X-Expose-Secrets"

	// maxAnswer bounds a JSON answer: a page of events may hold 100 images.
	maxAnswer = 256 << 20
	// maxErrorText bounds what is read of an error's body.
	maxErrorText = 64 << 10
)

// client speaks the agent-server's REST API. It knows paths and shapes, not
// what they are good for.
type client struct {
	base *url.URL // without a trailing slash
	key  func() string
	// shared keeps connections alive; fresh makes one for each request, so that
	// a request that must not be repeated never meets a connection that the
	// server is just closing. Sockets use it too.
	shared, fresh *http.Client
}

// keepAlive stays below the 5 s after which the server closes an idle connection.
const keepAlive = 4 * time.Second

func newClients() (shared, fresh *http.Client) {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	transport := func() *http.Transport {
		return &http.Transport{
			Proxy:               http.ProxyFromEnvironment, // never for loopback addresses
			DialContext:         dialer.DialContext,
			TLSHandshakeTimeout: 5 * time.Second,
		}
	}
	kept := transport()
	kept.IdleConnTimeout = keepAlive
	kept.MaxIdleConnsPerHost = 32
	kept.MaxConnsPerHost = 128
	once := transport()
	once.DisableKeepAlives = true
	return &http.Client{Transport: kept, CheckRedirect: sameHost}, &http.Client{Transport: once, CheckRedirect: sameHost}
}

// sameHost follows redirects that add or drop a slash, and no other: the key
// would go with them.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > 3 || req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// request is one call of the API.
type request struct {
	method, path string
	query        url.Values
	in           any          // encoded as JSON; nil for no body
	out          any          // decoded from JSON; nil to ignore the answer
	expose       string       // value of X-Expose-Secrets
	fresh        bool         // on a connection of its own
	header       *http.Header // gets the header of the answer; nil to ignore it
}

func (c *client) url(path string, query url.Values) string {
	u := *c.base
	u.Path += path
	u.RawQuery = query.Encode()
	return u.String()
}

// do makes the call and returns the status of the answer. An answer other than
// 2xx is an *answerError.
func (c *client) do(ctx context.Context, r request) (int, error) {
	status, err := c.roundTrip(ctx, r)
	if err != nil {
		return status, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	return status, nil
}

func (c *client) roundTrip(ctx context.Context, r request) (int, error) {
	var body io.Reader
	if r.in != nil {
		data, err := json.Marshal(r.in)
		if err != nil {
			return 0, fmt.Errorf("encode: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.url(r.path, r.query), body)
	if err != nil {
		return 0, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.expose != "" {
		req.Header.Set(exposeHeader, r.expose)
	}
	c.sign(req.Header)
	doer := c.shared
	if r.fresh {
		doer = c.fresh
	}
	res, err := doer.Do(req)
	if err != nil {
		return 0, netcause.Of(err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return res.StatusCode, c.readAnswerError(res)
	}
	if r.header != nil {
		*r.header = res.Header
	}
	return res.StatusCode, decodeAnswer(res, r.out)
}

func decodeAnswer(res *http.Response, out any) error {
	// The body is read to its end, or the connection could not be used again.
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("read answer: %w", err)
	case len(data) > maxAnswer:
		return fmt.Errorf("response is larger than %d MiB", maxAnswer>>20)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%w: %w", errGarbled, err)
	}
	return nil
}

// errGarbled is an answer that says yes in another language.
var errGarbled = errors.New("decode answer")

func (c *client) sign(h http.Header) {
	if key := c.key(); key != "" {
		h.Set(keyHeader, key)
	}
}

// answerError is an answer that says no.
type answerError struct {
	status int
	// text is the server's own explanation, without what looks like a key.
	text string
	// native reports that the body has the agent-server's shape: it was not a
	// proxy that answered.
	native bool
}

func (e *answerError) Error() string {
	if e.text == "" {
		return fmt.Sprintf("status %d", e.status)
	}
	return fmt.Sprintf("status %d: %s", e.status, e.text)
}

// readAnswerError takes the explanation out of the body: detail, where it is a
// text and the status is below 500; else exception; else detail as it is.
func (c *client) readAnswerError(res *http.Response) error {
	e := &answerError{status: res.StatusCode}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxErrorText))
	if err != nil {
		return e
	}
	var body struct {
		Detail    json.RawMessage `json:"detail"`
		Exception string          `json:"exception"`
	}
	if json.Unmarshal(data, &body) != nil || body.Detail == nil {
		return e
	}
	e.native = true
	var detail string
	isText := json.Unmarshal(body.Detail, &detail) == nil
	switch {
	case isText && (res.StatusCode < 500 || body.Exception == ""):
		e.text = c.redact(detail)
	case body.Exception != "":
		e.text = c.redact(body.Exception)
	default:
		e.text = c.redact(string(body.Detail))
	}
	return e
}

// redact takes out what a server may repeat of the request.
func (c *client) redact(text string) string {
	if key := c.key(); key != "" {
		text = strings.ReplaceAll(text, key, redact.Mark)
	}
	return redact.Text(text)
}

// answered returns the status with which the server said no, 0 if it did not answer.
func answered(err error) int {
	if e, ok := errors.AsType[*answerError](err); ok {
		return e.status
	}
	return 0
}

// Address is how to reach an agent-server, for who passes requests on to it.
type Address struct {
	Base *url.URL // without a trailing slash
	// Key gives the session key at the time of a request; "" where the server wants
	// none.
	Key func() string
	// Transport makes the requests, each on a connection of its own: one that the
	// server is just closing would lose a request that must not be repeated.
	Transport http.RoundTripper
}

// Reach is how to reach the agent-server.
func (b *Backend) Reach() Address {
	base := *b.client.base
	return Address{Base: &base, Key: b.client.key, Transport: b.client.fresh.Transport}
}
