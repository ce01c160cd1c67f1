// Package browser is a real Chromium for the browser tools of conversations. No other
// package starts one.
//
// All conversations share one process, which starts with the first action and ends
// some time after the last conversation that used it. Each has a browser context of
// its own: cookies, storage, tabs, and a proxy, which is its whole network. Chromium's own
// sandbox is always on: where it cannot be, Chromium does not start.
//
// Pages are strangers: what they say is bounded, what they do is limited in time, and
// the scripts of this package run in a world that a page's scripts cannot reach.
package browser

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// How long something may be unused.
const (
	idleSession  = 10 * time.Minute // then a conversation's tabs are closed
	idleChromium = 30 * time.Second // without a conversation
)

// errLost is told once to each conversation that had pages in a Chromium that ended.
var errLost = errors.New("the browser has ended unexpectedly. Its tabs, cookies and storage are gone. The next action starts a new one")

// errEnding is the error of actions while ohgw shuts down.
var errEnding = errors.New("ohgw is shutting down")

// Config is what a pool needs.
type Config struct {
	// Find returns the path of Chromium.
	Find func() (string, error)
	// Window finds the display on which Chromium shows its windows. Nil: it shows none.
	Window func() (*Window, error)
	// Dir is for what Chromium writes. It is made when it is needed.
	Dir  string
	Mark sandbox.Mark // of its processes
	Log  *slog.Logger
}

// Pool is the Chromium of this process. Its methods may be called at the same time, and
// none of them holds the lock while Chromium starts or ends.
type Pool struct {
	cfg    Config
	ctx    context.Context // ends with the pool
	cancel context.CancelFunc
	work   sync.WaitGroup // what starts and ends Chromium

	mu       sync.Mutex
	chromium *chromium // nil: it does not run
	starting *starting // nil: it does not start
	users    int       // sessions that use it
	linger   *time.Timer
	closed   bool
}

// starting is a Chromium that starts. Those who wait for it may leave.
type starting struct {
	done chan struct{} // closed when err is known
	err  error
}

// SessionConfig is what the browser of one conversation needs.
type SessionConfig struct {
	// Proxy opens the conversation's way to the network: an HTTP proxy on loopback, for
	// processes of a user.
	Proxy func(uid int) (address string, end func() error, err error)
	// Save puts a download into the workspace, and returns its path.
	Save func(name string, file io.Reader) (path string, err error)
	// Load opens a file of the workspace for an upload. Nil: there are no uploads.
	Load func(path string) (io.ReadCloser, error)
}

// NewPool makes a pool. It starts no Chromium, and removes what is left of those of processes
// that have died.
func NewPool(cfg Config) *Pool {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pool{cfg: cfg}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.work.Go(func() { sweep(cfg.Dir) })
	return p
}

// Check says why there is no Chromium, or no display for its windows.
func (p *Pool) Check() error {
	_, err := p.cfg.Find()
	if err == nil && p.cfg.Window != nil {
		_, err = p.cfg.Window()
	}
	return err
}

// Usable reports whether there is a Chromium.
func (p *Pool) Usable() bool { return p.Check() == nil }

// Open makes the browser of a conversation. Nothing runs before its first action.
func (p *Pool) Open(cfg SessionConfig) *Session { return &Session{pool: p, cfg: cfg} }

// Close ends Chromium, and waits for its end.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.stop()
	p.mu.Unlock()
	p.cancel()
	p.work.Wait()
	return nil
}

// stop ends Chromium without waiting for it. The lock is held.
func (p *Pool) stop() {
	if p.linger != nil {
		p.linger.Stop()
		p.linger = nil
	}
	if c := p.chromium; c != nil {
		p.work.Go(c.Close)
		p.chromium = nil
		p.users = 0
	}
}

// maxStarts is how often an action waits for a Chromium that ends as soon as it runs.
const maxStarts = 3

// acquire returns the running Chromium, or starts it. It waits no longer than ctx; then
// Chromium is there for the next action.
func (p *Pool) acquire(ctx context.Context) (*chromium, error) {
	for range maxStarts {
		c, begun, err := p.take()
		if c != nil || err != nil {
			return c, err
		}
		select {
		case <-begun.done:
			if begun.err != nil {
				return nil, begun.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, errors.New("the browser ends as soon as it has started")
}

// take returns the running Chromium, or the one that starts.
func (p *Pool) take() (*chromium, *starting, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errEnding
	}
	if p.chromium != nil && !p.chromium.alive() {
		p.stop()
	}
	if p.chromium != nil {
		if p.linger != nil {
			p.linger.Stop()
			p.linger = nil
		}
		p.users++
		return p.chromium, nil, nil
	}
	if p.starting == nil {
		path, err := p.cfg.Find()
		if err != nil {
			return nil, nil, err
		}
		begun := &starting{done: make(chan struct{})}
		p.starting = begun
		p.work.Go(func() { p.start(begun, path) })
	}
	return nil, p.starting, nil
}

// start starts Chromium for those who wait. If all of them have left, it ends as one that
// is not used.
func (p *Pool) start(begun *starting, path string) {
	c, err := start(p.ctx, path, p.cfg)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(begun.done)
	p.starting = nil
	switch {
	case err != nil:
		begun.err = err
	case p.closed:
		p.work.Go(c.Close)
		begun.err = errEnding
	default:
		p.chromium, p.users = c, 0
		p.rest()
	}
}

// release says that a session does not use it any more.
func (p *Pool) release(c *chromium) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.chromium != c {
		return
	}
	if p.users--; p.users == 0 {
		p.rest()
	}
}

// rest ends Chromium some time later, if it is not used until then. The lock is held.
func (p *Pool) rest() {
	c := p.chromium
	p.linger = time.AfterFunc(idleChromium, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.chromium == c && p.users == 0 && !p.closed {
			p.stop()
		}
	})
}

// broken ends a Chromium that does not answer. Its sessions are told with their next
// action.
func (p *Pool) broken(c *chromium) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.chromium == c && !p.closed {
		p.stop()
	}
}
