// Package mcp gives the agent the tools of MCP servers: programs that are
// started here and spoken to over a pipe, and servers that are reached by HTTP.
//
// Conversations share a server if its settings, secrets included, and the directory in
// which it is started are the same. It is started only when it is needed: for its list of
// tools, if that is not known yet, or for a call.
//
// Invariants: a server that was started ends when the last Client that used it
// is closed, with all that it started in its own process group; a call that
// failed half way is not made again; secrets are put into the arguments of a
// call on its way out only, and taken out of what comes back.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
)

const (
	// connectTimeout is for all servers together, tools listed.
	connectTimeout = 30 * time.Second
	// callTimeout is for a call where the server's settings say nothing.
	callTimeout = 300 * time.Second
)

// Config is what a Client needs.
type Config struct {
	// Servers is mcp_config of the settings, with its values decrypted.
	Servers json.RawMessage
	// Dir is where servers are started that do not say where.
	Dir string
	// Environ is the environment of ohgw; servers get the part of it that
	// [tool.CleanEnvironment] allows, and what their settings say.
	Environ []string
	// LookupEnv resolves ${NAME} in the settings where no secret has the name.
	LookupEnv func(name string) (string, bool)
	Secrets   *secretenv.Registry // may be nil
	// HTTP reaches remote servers.
	HTTP http.RoundTripper
	Log  *slog.Logger // of lines that servers print between their messages; may be nil
	// Version is that of ohgw, which servers are told.
	Version string
	// Changed is given the tools of all servers when one has other tools than
	// before. It must not wait for the Client; may be nil.
	Changed func([]tool.Tool)
	// Pool has the servers that are shared; nil: none are.
	Pool *Pool
	// Box is where servers over stdio run that Conversation alone uses. Nil: they
	// run in the box of the pool, and may be shared.
	Box          sandbox.Box
	Conversation string
	// Logins are the logins to servers that are stored. A server that it does not know
	// has the login of its settings. Nil: all have.
	Logins oauth.Store
	// Browser is a person who logs in while Connect waits. Nil: a server without a login
	// cannot be used.
	Browser *oauth.Browser
	// Now is for the ends of logins. Nil: the time of the system.
	Now func() time.Time
}

// Client is the servers of one conversation. Its methods may be called at the
// same time.
type Client struct {
	cfg      Config
	members  []*member // by name
	names    *names    // of all tools
	warnings []error
	partial  []error
	failed   map[string]error // of warnings, by the server's name
}

// Connect returns the tools of all servers, and starts or reaches those whose
// tools are not known. A server that cannot be used is left out: see
// [Client.Warnings]. The error is ctx's.
func Connect(ctx context.Context, cfg Config) (*Client, error) {
	if cfg.Pool == nil {
		cfg.Pool = NewPool(sandbox.Outside(sandbox.Off, sandbox.Mark{}))
	}
	find := func(name string) (string, error) {
		value, err := cfg.Secrets.Value(ctx, name)
		if !errors.Is(err, secretenv.ErrUnknown) {
			return value, err
		}
		if cfg.LookupEnv != nil {
			if value, ok := cfg.LookupEnv(name); ok {
				return value, nil
			}
		}
		return "", secretenv.ErrUnknown
	}
	all, count, warnings, failed := servers(cfg.Servers, find)
	c := &Client{cfg: cfg, names: newNames(), warnings: warnings, failed: failed}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m, err := newMember(ctx, c, name, all[name], count > 1)
		if err != nil {
			c.fail(name, unusable(name, err))
			continue
		}
		c.members = append(c.members, m)
	}
	c.learn(ctx)
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// learn asks all servers for their tools at once and drops those that cannot be
// used.
func (c *Client) learn(ctx context.Context) {
	limited, cancel := context.WithCancel(ctx)
	if c.cfg.Browser == nil { // a person is not hurried
		limited, cancel = context.WithTimeout(ctx, connectTimeout)
	}
	defer cancel()
	lists, failed := make([][]*sdk.Tool, len(c.members)), make([]error, len(c.members))
	var wg sync.WaitGroup
	for i, m := range c.members {
		wg.Go(func() { lists[i], failed[i] = m.learn(limited) })
	}
	wg.Wait()
	kept := c.members[:0]
	for i, m := range c.members {
		err := failed[i]
		if err == nil {
			lists[len(kept)] = lists[i]
			kept = append(kept, m)
			continue
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", connectTimeout)
		}
		m.close()
		c.fail(m.name, unusable(m.name, err))
	}
	c.members = kept
	for i, m := range kept {
		c.names.claim(m, lists[i], true)
	}
	for i, m := range kept {
		m.offer(lists[i])
		if err := m.partial(); err != nil {
			c.partial = append(c.partial, err)
		}
	}
}

// fail notes that a server cannot be used.
func (c *Client) fail(name string, err error) {
	c.warnings = append(c.warnings, err)
	c.failed[name] = err
}

func unusable(name string, err error) error {
	if oauth.Needed(err) {
		return fault.New(fmt.Sprintf("the MCP server %q needs a login", name),
			"log in to it in OpenHands' own UI or with POST /api/mcp/oauth/start of ohgw serve --native, or set enabled to false", err)
	}
	return fault.New(fmt.Sprintf("cannot use the MCP server %q", name),
		"check that it is running and that mcp_config in the settings is correct, or set enabled to false", err)
}

// Warnings say which servers cannot be used and why, a [fault.Error] each.
func (c *Client) Warnings() []error { return c.warnings }

// Partial says of which servers some tools cannot be used and why, a [fault.Error]
// each.
func (c *Client) Partial() []error { return c.partial }

// Tools are the tools of all servers at this moment. Their Close does nothing:
// the Client is closed instead.
func (c *Client) Tools() []tool.Tool {
	var all []tool.Tool
	for _, m := range c.members {
		all = append(all, m.list()...)
	}
	return all
}

// Close releases all servers. Those that no other client uses end.
func (c *Client) Close() error {
	var wg sync.WaitGroup
	for _, m := range c.members {
		wg.Go(m.close)
	}
	wg.Wait()
	return nil
}
