package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/internal/engine/tool"
	"github.com/ohgw/ohgw/internal/redact"
)

const (
	// endWait is how long a server may take to end when its input is closed,
	// and again when it is told to.
	endWait = 2 * time.Second
	// maxTools bounds what a server can make the model read.
	maxTools = 512
)

// connection is one server.
type connection struct {
	client *Client
	name   string
	server server
	told   chan struct{} // the list of tools has changed; one is enough

	mu      sync.Mutex // held while connecting, so that there is one session
	session *sdk.ClientSession
	closed  bool
	process *exec.Cmd
	lost    chan struct{} // closed when the session is
	http    *headers

	toolsMu sync.Mutex
	tools   []tool.Tool
}

func newConnection(c *Client, name string, s server) *connection {
	return &connection{client: c, name: name, server: s, told: make(chan struct{}, 1)}
}

var errClosed = errors.New("the connection was closed")

// connect makes a session and lists the tools.
func (c *connection) connect(ctx context.Context) error {
	session, err := c.open(ctx)
	if err != nil {
		return err
	}
	return c.listTools(ctx, session)
}

// open gives the session, and makes one if there is none or it was lost.
func (c *connection) open(ctx context.Context) (*sdk.ClientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.session != nil {
		select {
		case <-c.lost:
			c.end()
		default:
			return c.session, nil
		}
	}
	transport, words, err := c.transport()
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "ohgw", Version: c.client.cfg.Version}, &sdk.ClientOptions{
		// No roots, sampling or questions: the server gets nothing but calls.
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case c.told <- struct{}{}:
			default:
			}
		},
	})
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		c.killProcess()
		return nil, c.explain(err, words)
	}
	c.session, c.lost = session, make(chan struct{})
	lost := c.lost
	c.client.wg.Go(func() {
		_ = session.Wait()
		close(lost)
	})
	return session, nil
}

// explain adds what the program itself said, without secrets.
func (c *connection) explain(err error, words *lastWords) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	text := err.Error()
	if u, perr := url.Parse(c.server.URL); perr == nil && u.Host != "" {
		// The rest of a URL can be a key.
		text = strings.ReplaceAll(text, c.server.URL, u.Scheme+"://"+u.Host)
	}
	text = redact.Text(c.client.cfg.Secrets.Mask(text))
	if said := words.text(); said != "" {
		text += "; it said: " + redact.Text(c.client.cfg.Secrets.Mask(said))
	}
	return errors.New(text)
}

// transport is the way to the server.
func (c *connection) transport() (sdk.Transport, *lastWords, error) {
	words := &lastWords{}
	if c.server.Transport == "stdio" {
		cmd := exec.Command(c.server.Command, c.server.Args...) //nolint:noctx // it ends with Close
		cmd.Dir = c.client.cfg.Dir
		if c.server.Cwd != "" {
			cmd.Dir = c.server.Cwd
		}
		cmd.Env = tool.CleanEnvironment(c.client.cfg.Environ, c.server.Env)
		cmd.Stderr = words
		cmd.WaitDelay = endWait
		ownGroup(cmd)
		c.process = cmd
		return &sdk.CommandTransport{Command: cmd, TerminateDuration: endWait}, words, nil
	}
	set, err := c.server.headers()
	if err != nil {
		return nil, nil, err
	}
	endpoint, err := url.Parse(c.server.URL)
	if err != nil || endpoint.Host == "" {
		return nil, nil, errors.New("its url is malformed")
	}
	c.http = &headers{base: c.client.cfg.HTTP, host: endpoint.Host, scheme: endpoint.Scheme, set: set}
	if c.server.Transport == "sse" {
		return &sdk.SSEClientTransport{Endpoint: c.server.URL, HTTPClient: &http.Client{Transport: c.http}}, words, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: c.server.URL, HTTPClient: &http.Client{Transport: c.http}}, words, nil
}

// headers adds the server's headers to requests to that server, and to no
// other that it sends us to.
type headers struct {
	base         http.RoundTripper
	host, scheme string
	set          http.Header
}

// RoundTrip makes one request.
func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == h.host && req.URL.Scheme == h.scheme {
		req = req.Clone(req.Context())
		for name, values := range h.set {
			req.Header[name] = values
		}
	}
	return h.base.RoundTrip(req)
}

// listTools asks for the tools and keeps them.
func (c *connection) listTools(ctx context.Context, session *sdk.ClientSession) error {
	var tools []tool.Tool
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the tools: %w", c.explain(err, &lastWords{}))
		}
		if len(tools) == maxTools {
			return fmt.Errorf("it has more than %d tools", maxTools)
		}
		made, err := newTool(c, t)
		if err != nil {
			return err
		}
		tools = append(tools, made)
	}
	c.toolsMu.Lock()
	defer c.toolsMu.Unlock()
	c.tools = tools
	return nil
}

func (c *connection) list() []tool.Tool {
	c.toolsMu.Lock()
	defer c.toolsMu.Unlock()
	return c.tools
}

// refreshWhenTold asks for the tools again when the server says that it has
// others. It ends with ctx.
func (c *connection) refreshWhenTold(ctx context.Context) {
	for {
		select {
		case <-c.told:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, connectTimeout)
		session, err := c.open(limited)
		if err == nil {
			err = c.listTools(limited, session)
		}
		cancel()
		if err == nil && c.client.cfg.Changed != nil {
			c.client.cfg.Changed(c.client.Tools())
		}
	}
}

// close ends the server.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.end()
}

// end lets go of the session. mu is held.
func (c *connection) end() {
	if c.session != nil {
		_ = c.session.Close()
		<-c.lost
		c.session = nil
	}
	c.killProcess()
	if idle, ok := c.client.cfg.HTTP.(interface{ CloseIdleConnections() }); ok && c.http != nil {
		idle.CloseIdleConnections()
	}
}

// killProcess ends what is left of a program's process group.
func (c *connection) killProcess() {
	if c.process != nil {
		killGroup(c.process)
		c.process = nil
	}
}

// maxLastWords is how much of a program's errors is kept: the end of them.
const maxLastWords = 2 << 10

// lastWords keeps the end of what a program wrote to its error output.
type lastWords struct {
	mu   sync.Mutex
	tail []byte
}

// Write keeps the end.
func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail = append(w.tail, p...)
	if over := len(w.tail) - maxLastWords; over > 0 {
		w.tail = append(w.tail[:0], w.tail[over:]...)
	}
	return len(p), nil
}

func (w *lastWords) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(string(w.tail)), "")
}
