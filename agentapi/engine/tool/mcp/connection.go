package mcp

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/redact"
	"github.com/ohgw/ohgw/internal/sandbox"
)

const (
	// endWait is how long a server may take to end when its input is closed,
	// and again when it is told to.
	endWait = 2 * time.Second
)

// connection is one server that runs, or is to be reached.
type connection struct {
	pool   *Pool
	key    key
	cfg    Config // of who came first; what others have in common with it
	server server
	told   chan struct{} // the list of tools has changed; one is enough
	wg     sync.WaitGroup
	stop   context.CancelFunc
	users  map[*member]struct{} // belongs to the pool's mutex

	mu      sync.Mutex // held while connecting, so that there is one session
	session *sdk.ClientSession
	closed  bool
	process *program
	login   *oauth.Handler // nil: the server has no login
	lost    chan struct{}  // closed when the session is
	http    *remote        // nil for a program

	listMu sync.Mutex
	list   []*sdk.Tool // nil: not known
}

func newConnection(p *Pool, m *member) *connection {
	c := &connection{
		pool: p, key: m.key, cfg: m.client.cfg, server: m.server,
		told: make(chan struct{}, 1), users: map[*member]struct{}{},
	}
	c.cfg.Secrets, c.cfg.Changed = nil, nil // a conversation's own
	c.login = newLogin(c.cfg, m.server)
	if c.cfg.Box == nil {
		c.cfg.Box = p.box
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.wg.Go(func() { c.refreshWhenTold(ctx) })
	return c
}

var errClosed = errors.New("the connection was closed")

// open returns the session, and makes one if there is none or it was lost. A new
// session is asked for its tools.
func (c *connection) open(ctx context.Context) (*sdk.ClientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.session != nil {
		if !c.broken() {
			return c.session, nil
		}
		c.end()
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "ohgw", Version: c.cfg.Version}, &sdk.ClientOptions{
		// No roots, sampling or questions: the server gets nothing but calls.
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case c.told <- struct{}{}:
			default:
			}
		},
	})
	session, err := c.begin(ctx, client)
	if err != nil {
		return nil, err
	}
	c.session, c.lost = session, make(chan struct{})
	lost := c.lost
	c.wg.Go(func() {
		_ = session.Wait()
		close(lost)
	})
	if err := c.listTools(ctx, session); err != nil {
		c.end()
		return nil, err
	}
	return session, nil
}

// broken reports whether the session is of no use any more. mu is held.
func (c *connection) broken() bool {
	select {
	case <-c.lost:
		return true
	default:
		return c.http != nil && c.http.forgotten.Load()
	}
}

// explain adds what the program itself said. Who tells it takes the secrets of
// its conversation out.
func (c *connection) explain(err error, words *bounded.Tail) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	if needed, ok := errors.AsType[*oauth.NeededError](err); ok {
		return needed
	}
	if failed, ok := errors.AsType[*oauth.Error](err); ok {
		err = failed
	}
	text := err.Error()
	if u, perr := url.Parse(c.server.URL); perr == nil && u.Host != "" {
		// The rest of a URL can be a key.
		text = strings.ReplaceAll(text, c.server.URL, u.Scheme+"://"+u.Host)
	}
	text = redact.Text(anyURL().ReplaceAllStringFunc(text, hostOnly))
	if said := words.String(); said != "" {
		return &spokenError{text, redact.Text(said)}
	}
	return errors.New(text)
}

// anyURL is a URL in an error. HTTP clients write a password as stars, so it is not
// always the one of the settings.
var anyURL = pattern.Of(`(?i)https?://[^\s"'<>]+`)

// hostOnly is a URL without all that can be a key.
func hostOnly(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "its url"
	}
	return u.Scheme + "://" + u.Host
}

// transport connects to the server.
func (c *connection) transport() (sdk.Transport, *bounded.Tail, error) {
	words := &bounded.Tail{Max: maxLastWords}
	if c.server.Transport == "stdio" {
		c.process = &program{words: words, noise: &noise{words: words, report: c.reportNoise}, box: c.cfg.Box, start: sandbox.Program{
			Args: append([]string{c.server.Command}, c.server.Args...), Dir: cmp.Or(c.server.Cwd, c.cfg.Dir),
			Env: tool.CleanEnvironment(c.cfg.Environ, c.server.Env),
		}}
		return c.process, words, nil
	}
	set, err := c.server.headers()
	if err != nil {
		return nil, nil, err
	}
	endpoint, err := url.Parse(c.server.URL)
	if err != nil || endpoint.Host == "" {
		return nil, nil, errors.New("its url is malformed")
	}
	c.http = &remote{base: c.cfg.HTTP, host: endpoint.Host, scheme: endpoint.Scheme, set: set}
	return remoteTransport(c.server, endpoint.Host, c.http, c.login), words, nil
}

// close ends the server.
func (c *connection) close() {
	c.stop()
	c.mu.Lock()
	c.closed = true
	c.end()
	c.mu.Unlock()
	c.wg.Wait()
}

// end lets go of the session. mu is held.
func (c *connection) end() {
	if c.session != nil {
		_ = c.session.Close()
		<-c.lost
		c.session = nil
	}
	c.killProcess()
	if idle, ok := c.cfg.HTTP.(interface{ CloseIdleConnections() }); ok && c.http != nil {
		idle.CloseIdleConnections()
	}
}

// killProcess ends what is left of a program's process group.
func (c *connection) killProcess() {
	if c.process != nil {
		_ = c.process.kill() // it may have ended
		c.process = nil
	}
}

// maxLastWords is how much of a program's errors is kept: the end of them.
const maxLastWords = 2 << 10
