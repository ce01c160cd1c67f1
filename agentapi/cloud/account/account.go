// Package account is an account on OpenHands Cloud, or on an app-server of one's
// own: its conversations, whichever version of the API they belong to, and how to
// wake them, read them and fetch their files.
//
// It runs no turn: that is done by the agent-server of a conversation, which
// Wake and Runtime lead to. Nothing that starts something is sent twice. A key
// stays with its host; see package transport.
package account

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	v0 "github.com/ohgw/ohgw/agentapi/cloud/v0"
	v1 "github.com/ohgw/ohgw/agentapi/cloud/v1"
	"github.com/ohgw/ohgw/internal/hidden"
)

// The kinds of failure, for errors.Is.
var (
	ErrUnauthorized  = transport.ErrUnauthorized
	ErrForbidden     = transport.ErrForbidden
	ErrNotFound      = transport.ErrNotFound
	ErrArchived      = transport.ErrArchived
	ErrRateLimited   = transport.ErrRateLimited
	ErrWrongEndpoint = transport.ErrWrongEndpoint
	ErrUpstream      = transport.ErrUpstream
	ErrRefused       = transport.ErrRefused
	// ErrAsleep: the conversation has to be woken first.
	ErrAsleep = transport.ErrNotRunning
	// ErrAmbiguous: several conversations have an id that begins so.
	ErrAmbiguous = errors.New("several conversations match")
	// ErrUncertain: the request was sent, and it is not known whether it was carried
	// out. It must not be repeated unseen.
	ErrUncertain = errors.New("the outcome is unknown")
	// ErrStart: the server could not start the conversation.
	ErrStart = errors.New("the conversation did not start")
)

// Options is what a Client is made of. URL and Key are needed.
type Options struct {
	URL          string
	Key          func(context.Context) (hidden.Text, error)
	Header       transport.Header // that worked before; "" to find out
	Known        *Server          // what a former Probe found; nil to find out
	Organization string
	HTTP         http.RoundTripper
	Client       string
	Version      string
	Logger       *slog.Logger
	Now          func() time.Time
	Sleep        func(context.Context, time.Duration) error
	Timeout      time.Duration // of one call; 0: 30 s
	Idle         time.Duration // without a byte of a download; 0: one minute
	StartLimit   time.Duration // of a start or a wake; 0: 5 minutes
}

const startLimit = 5 * time.Minute

// Client is one account. It is safe for concurrent use.
type Client struct {
	t     *transport.Client
	v0    v0.API
	v1    v1.API
	log   *slog.Logger
	limit time.Duration

	mu     sync.Mutex
	server *Server // nil until it was probed
}

// New makes a Client. It sends nothing.
func New(o Options) (*Client, error) {
	t, err := transport.New(transport.Options{
		URL: o.URL, Key: o.Key, Header: o.Header, Organization: o.Organization, HTTP: o.HTTP, Client: o.Client, Version: o.Version,
		Logger: o.Logger, Now: o.Now, Sleep: o.Sleep, Timeout: o.Timeout, Idle: o.Idle,
	})
	if err != nil {
		return nil, err
	}
	c := &Client{t: t, v0: v0.API{T: t}, v1: v1.API{T: t}, log: o.Logger, limit: o.StartLimit}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.limit == 0 {
		c.limit = startLimit
	}
	if o.Known != nil {
		known := *o.Known
		c.server = &known
		if o.Header == "" {
			t.SetHeader(known.Header)
		}
	}
	return c, nil
}

// URL is the root of the server.
func (c *Client) URL() string { return c.t.Root().String() }

// Close closes connections that nothing uses.
func (c *Client) Close() { c.t.CloseIdle() }
