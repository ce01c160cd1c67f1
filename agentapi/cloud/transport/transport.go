// Package transport makes the requests to an OpenHands Cloud server, or an
// app-server of one's own, and to the runtimes of its conversations.
//
// A key goes to the host it belongs to and nowhere else: no redirect leaves its
// host, and a runtime never gets the key of the server. An answer counts only if
// it is JSON where JSON is expected. Requests that can be repeated are repeated at
// most three times; all others are sent once. It knows no route of the API.
package transport

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/pause"
)

// Header is how the server's key is sent.
type Header string

// The headers that servers take a key in. The zero value is for a server that
// was not asked yet: it is sent as HeaderBearer.
const (
	HeaderBearer  Header = "bearer"            // hosted
	HeaderSession Header = "x-session-api-key" // self-hosted, and every runtime
	HeaderAccess  Header = "x-access-token"    // hosted, where a proxy takes Authorization away
)

const (
	callTimeout = 30 * time.Second
	idleTimeout = time.Minute
	sessionKey  = "X-Session-API-Key"
)

// Options is what a Client is made of. URL and Key are needed.
type Options struct {
	URL          string
	Key          func(context.Context) (hidden.Text, error)
	Header       Header
	Organization string            // sent as X-Org-Id; "" for the key's own
	HTTP         http.RoundTripper // nil: a connection pool of its own
	Client       string            // what X-OpenHands-Client says
	Version      string
	Logger       *slog.Logger
	Now          func() time.Time
	Sleep        func(context.Context, time.Duration) error
	Timeout      time.Duration // of one call; 0: 30 s
	Idle         time.Duration // without a byte of a download; 0: one minute
}

// Client speaks to one server. It is safe for concurrent use.
type Client struct {
	o     Options
	root  *url.URL
	http  *http.Client
	limit *limiter

	mu     sync.Mutex
	header Header
}

// New makes a Client. It sends nothing.
func New(o Options) (*Client, error) {
	root, err := ParseRoot(o.URL)
	if err != nil {
		return nil, err
	}
	o = withDefaults(o)
	return &Client{
		o: o, root: root, header: o.Header,
		http:  &http.Client{Transport: o.HTTP, CheckRedirect: stay},
		limit: &limiter{now: o.Now, sleep: o.Sleep},
	}, nil
}

func withDefaults(o Options) Options {
	if o.HTTP == nil {
		dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
		o.HTTP = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2: true, IdleConnTimeout: 4 * time.Second, MaxIdleConnsPerHost: 8,
		}
	}
	if o.Key == nil {
		o.Key = func(context.Context) (hidden.Text, error) { return hidden.Text{}, nil }
	}
	if o.Client == "" {
		o.Client = "ohgw"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = pause.For
	}
	if o.Timeout == 0 {
		o.Timeout = callTimeout
	}
	if o.Idle == 0 {
		o.Idle = idleTimeout
	}
	return o
}

// Root is the server, without a trailing slash.
func (c *Client) Root() *url.URL {
	root := *c.root
	return &root
}

// Header is how the key is sent.
func (c *Client) Header() Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header
}

// SetHeader changes how the key is sent.
func (c *Client) SetHeader(h Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header = h
}

// Now is the client's clock.
func (c *Client) Now() time.Time { return c.o.Now() }

// Sleep waits by the client's clock.
func (c *Client) Sleep(ctx context.Context, d time.Duration) error { return c.o.Sleep(ctx, d) }

// CloseIdle closes connections that nothing uses.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// stay follows redirects of reading requests within their host, and no other:
// net/http would take a key in a header of its own along.
func stay(req *http.Request, via []*http.Request) error {
	if len(via) > 3 || !SameServer(req.URL, via[0].URL) || via[0].Method != http.MethodGet && via[0].Method != http.MethodHead {
		return http.ErrUseLastResponse
	}
	return nil
}
