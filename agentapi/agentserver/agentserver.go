// Package agentserver is the backend over a running OpenHands agent-server, by
// its REST API and one WebSocket for each watch.
//
// It knows which release has what and does without what an older one lacks; it
// decides nothing about answers (agentapi/turn does) and keeps nothing on this
// machine: what must be remembered of a conversation is in its tags on the
// server. No secret leaves it: not in an error, not in a log line. LLM keys
// pass through it encrypted for the server, where the server can do that; those
// of Config.Secrets are handed over as they are.
package agentserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/secret"
)

// Config says which server, and how to reach it.
type Config struct {
	// URL is the address of the server: http or https, with a path if a proxy
	// puts it under one.
	URL string
	// Key gives the session key at the time of each request; "" where the
	// server wants none. May be nil.
	Key func() string
	// LLM is used with servers that have no LLM profiles of their own (before
	// 1.22). May be nil.
	LLM *LLM
	// HTTP makes the requests. Default: a client that keeps up to 32 idle
	// connections, sends messages on connections of their own (so that none
	// meets one that the server is just closing), and follows no redirect to
	// another host.
	HTTP *http.Client
	// Logger gets what no caller is told: reconnects, and events that cannot be read.
	// Default: nothing is logged.
	Logger *slog.Logger
	// Now is the clock for time stamps. Default: time.Now.
	Now func() time.Time
	// Secrets gives secrets that take the place of those in an LLM profile
	// when an agent gets that profile's LLM. They go to the server with the
	// conversation and are in no profile. An error keeps the conversation from
	// its LLM. Not asked for profiles with a provider connection: the server
	// alone puts those together. May be nil.
	Secrets func(context.Context, LLMProfile) ([]Secret, error)
	// FileStamp gives the state of the profile files on this machine, mixed
	// into Profile.Revision. May be nil.
	FileStamp func() string
	// Scratch is a directory of this machine, for the user only. A file is written
	// there for a moment, to find out whether the server reads the same files.
	// Empty: it is taken not to.
	Scratch string
	// Titles has the server find a title for each new conversation that is not a one-shot,
	// by a call of its LLM.
	Titles bool
}

// LLMProfile is a profile of the server as far as it matters to its secrets.
type LLMProfile struct {
	Name    string
	Model   string
	BaseURL string // "" is that of the provider
}

// Secret is one secret of an LLM.
type Secret struct {
	Field string // "api_key", or one of the secrets of AWS
	Value secret.Value
}

// LLM is a model that the gateway itself brings along.
type LLM struct {
	Profile string // the name that clients use
	Model   string // as LiteLLM spells it, e.g. "anthropic/claude-sonnet-4-5"
	BaseURL string // empty: the provider's own
	Key     func() string
}

// Backend is an agentapi.Backend over an agent-server.
type Backend struct {
	client  *client
	address string // without credentials
	llm     *LLM
	log     *slog.Logger
	now     func() time.Time
	stamp   func() string
	secrets func(context.Context, LLMProfile) ([]Secret, error)
	scratch string
	titles  bool
	room    *room

	mu     sync.Mutex
	server serverInfo
	asked  time.Time // when server was read; zero: never

	shared      bool // the server shares the files of this machine
	sharedUntil time.Time
}

// The longest that the server may take to answer. What runs tools or waits
// for a lock that a tool holds is not limited here.
const (
	answerTimeout = 10 * time.Second
	startTimeout  = 60 * time.Second // it may clone, and start MCP servers
)

// infoAge is how long the answer of /server_info is good for: servers are
// updated while we run.
const infoAge = 30 * time.Second

// New makes a backend. It does not ask the server anything.
func New(c Config) (*Backend, error) {
	base, err := url.Parse(strings.TrimRight(c.URL, "/"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("parse agent-server address: %w", netcause.Of(err))
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, errors.New("agent-server address: use http://HOST:PORT or https://HOST:PORT")
	case base.RawQuery != "", base.Fragment != "":
		return nil, errors.New("agent-server address: it must not have a query or a fragment")
	}
	if c.Key == nil {
		c.Key = func() string { return "" }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Secrets == nil {
		c.Secrets = func(context.Context, LLMProfile) ([]Secret, error) { return nil, nil }
	}
	if c.FileStamp == nil {
		c.FileStamp = func() string { return "" }
	}
	shared, fresh := c.HTTP, c.HTTP
	if c.HTTP == nil {
		shared, fresh = newClients()
	}
	shown := *base
	shown.User = nil
	return &Backend{
		client:  &client{base: base, key: c.Key, shared: shared, fresh: fresh},
		address: shown.String(),
		llm:     c.LLM,
		log:     c.Logger,
		now:     c.Now,
		stamp:   c.FileStamp,
		secrets: c.Secrets,
		scratch: c.Scratch,
		titles:  c.Titles,
		room:    newRoom(c.Now),
	}, nil
}

// Close lets go of the idle connections. Streams are closed by their owners.
func (b *Backend) Close() error {
	b.client.shared.CloseIdleConnections()
	b.client.fresh.CloseIdleConnections()
	return nil
}

// Remove deletes a conversation, interrupting its run: a delete alone would
// wait until the tool that runs has ended.
func (b *Backend) Remove(ctx context.Context, id string) error {
	if err := b.interrupt(ctx, id); errors.Is(err, agentapi.ErrConversationNotFound) {
		return err
	}
	// Whatever else kept the interrupt from its work, the delete says as well.
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	_, err := b.client.do(limited, request{method: http.MethodDelete, path: conversationPath(id)})
	if gone(err) {
		return conversationNotFound(id, err)
	}
	return b.fault(ctx, "remove the conversation", err)
}

// gone reports whether the server says that there is no such conversation. Some
// of its routes say 400 for that, with no text of their own.
func gone(err error) bool {
	e, ok := errors.AsType[*answerError](err)
	return ok && e.native && (e.status == http.StatusNotFound ||
		e.status == http.StatusBadRequest && e.text == http.StatusText(http.StatusBadRequest))
}

func conversationPath(id string) string { return "/api/conversations/" + url.PathEscape(id) }

// interrupt stops the run of a conversation at once. Servers that cannot do
// that complete the step they are in.
func (b *Backend) interrupt(ctx context.Context, id string) error {
	info, err := b.info(ctx)
	if err != nil {
		return err
	}
	verb := "/interrupt"
	if info.version < sinceInterrupt {
		verb = "/pause"
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err = b.client.do(limited, request{method: http.MethodPost, path: conversationPath(id) + verb})
	if gone(err) {
		return conversationNotFound(id, err)
	}
	return b.fault(ctx, "interrupt the run", err)
}

var (
	_ agentapi.Backend = (*Backend)(nil)
	_ agentapi.Limited = (*Backend)(nil)
)
