// Package mcp gives the agent the tools of MCP servers: programs that are
// started here and spoken to over a pipe, and servers that are reached by HTTP.
//
// Invariants: a server that was started ends with Close, with all that it
// started in its own process group; a call that failed half way is not made
// again; secrets are put into the arguments of a call on its way out only, and
// taken out of what comes back.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/engine/secretenv"
	"github.com/ohgw/ohgw/internal/engine/tool"
	"github.com/ohgw/ohgw/internal/fault"
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
	// Version is that of ohgw, which servers are told.
	Version string
	// Changed is given the tools of all servers when one has other tools than
	// before. It must not wait for the Client; may be nil.
	Changed func([]tool.Tool)
}

// Client is the servers of one conversation. Its methods may be called at the
// same time.
type Client struct {
	cfg     Config
	servers []*connection // by name
	prefix  bool          // there are several
	wg      sync.WaitGroup
	stop    context.CancelFunc
}

// Connect starts and reaches all servers and asks for their tools. It fails if
// one of them fails, with a [fault.Error] that names it; then none is left
// running. Nil settings give a Client without tools.
func Connect(ctx context.Context, cfg Config) (*Client, error) {
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
	all, err := servers(cfg.Servers, find)
	if err != nil {
		return nil, err
	}
	lifetime, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &Client{cfg: cfg, prefix: len(all) > 1, stop: stop}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.servers = append(c.servers, newConnection(c, name, all[name]))
	}
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	for _, s := range c.servers {
		c.wg.Go(func() { s.refreshWhenTold(lifetime) })
	}
	return c, nil
}

func (c *Client) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	failed := make([]error, len(c.servers))
	var wg sync.WaitGroup
	for i, s := range c.servers {
		wg.Go(func() { failed[i] = s.connect(ctx) })
	}
	wg.Wait()
	for i, err := range failed {
		if err == nil {
			continue
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", connectTimeout)
		}
		return fault.New(fmt.Sprintf("cannot use the MCP server %q", c.servers[i].name),
			"see that it runs and that mcp_config in the settings is right, or set enabled to false", err)
	}
	return c.distinct()
}

// distinct makes sure that a name means one tool.
func (c *Client) distinct() error {
	seen := map[string]bool{}
	for _, t := range c.Tools() {
		name := t.Definition().Name
		if seen[name] {
			return fault.New(fmt.Sprintf("two MCP servers have a tool with the name %q", name),
				"rename one of the servers in mcp_config, or set enabled to false", nil)
		}
		seen[name] = true
	}
	return nil
}

// Tools are the tools of all servers at this moment. Their Close does nothing:
// the Client is closed instead.
func (c *Client) Tools() []tool.Tool {
	var all []tool.Tool
	for _, s := range c.servers {
		all = append(all, s.list()...)
	}
	return all
}

// Close ends all servers that were started and lets go of the others.
func (c *Client) Close() error {
	c.stop()
	var wg sync.WaitGroup
	for _, s := range c.servers {
		wg.Go(s.close)
	}
	wg.Wait()
	c.wg.Wait()
	return nil
}
