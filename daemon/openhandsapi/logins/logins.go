// Package logins lets a person log in to an MCP server before it is in the settings: the
// client gets the address of the page where that happens, the browser comes back to
// ohgw, and the client asks for the login and stores it.
//
// Invariants: the browser comes without a key, and what it brings counts once, for the
// login whose random state it has; no page repeats anything of a request; a login that
// is not finished ends, and all end with [Logins.Close].
package logins

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/catalogue"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// Path is where the browser comes back to. It needs no key.
const Path = "/mcp/oauth/callback"

const (
	// keepTime is how long a client can ask for a login, that of an agent-server.
	keepTime = 15 * time.Minute
	// personTime is how long a person may take, that of an agent-server.
	personTime = 5 * time.Minute
	// maxStart is how long a client waits for the address of the page.
	maxStart = 30 * time.Second
	// maxRunning is how many logins may be on their way.
	maxRunning = 32
	// minState is how long a state must be so that it cannot be guessed.
	minState = 16
)

// Browser is a person who can log in.
type Browser struct {
	// RedirectURL is where the browser comes back to.
	RedirectURL string
	// Visit has the page shown, and waits until the browser comes back.
	Visit func(ctx context.Context, page string) (Return, error)
}

// Return is what the browser brings. Error is why there is no code.
type Return struct{ Code, State, Issuer, Error string }

// Config is what logins need. All fields are required.
type Config struct {
	// Try reaches a server, with a person who can log in.
	Try func(ctx context.Context, t catalogue.Trial, b Browser) (catalogue.Tried, error)
	// Address is where browsers of this machine reach ohgw; "" is not known.
	Address func() string
	Now     func() time.Time
	NewID   func() string
}

// Logins are those on their way, and those that are done.
type Logins struct {
	cfg  Config
	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup

	mu     sync.Mutex
	jobs   map[string]*job // by id
	states map[string]*job // those that wait for a browser
}

// New begins without a login.
func New(cfg Config) *Logins {
	l := &Logins{cfg: cfg, jobs: map[string]*job{}, states: map[string]*job{}}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// Close ends all logins.
func (l *Logins) Close() error {
	l.end()
	l.wg.Wait()
	return nil
}

// Routes are those for clients with a key.
func (l *Logins) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/api/mcp/oauth/start", Summary: "Begin a login to an MCP server", Body: true, Handle: l.start},
		{Method: http.MethodGet, Path: "/api/mcp/oauth/status/{job_id}", Summary: "What has become of a login to an MCP server", Handle: l.status},
		{Method: http.MethodPost, Path: "/api/mcp/oauth/callback/{job_id}", Summary: "Bring the address to which the browser was sent back", Body: true, Handle: l.bring},
	}
}

// Open are those for browsers, which have no key.
func (l *Logins) Open() []wire.Route {
	return []wire.Route{{Method: http.MethodGet, Path: Path, Summary: "Where browsers come back to from a login", Handle: l.comeBack}}
}

// redirect is where the browser comes back to: by the name that authorization servers
// take for a program on the same machine, where ohgw listens there.
func (l *Logins) redirect() (string, error) {
	at, err := url.Parse(l.cfg.Address())
	if err != nil || at.Host == "" {
		return "", wire.Refuse(http.StatusServiceUnavailable, "ohgw does not know its own address yet; try again in a moment.")
	}
	host := at.Host
	if isLocal(at.Hostname()) {
		host = "localhost:" + at.Port()
	}
	return (&url.URL{Scheme: at.Scheme, Host: host, Path: Path}).String(), nil
}

// isLocal reports whether a name is one of this machine for its own programs.
func isLocal(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == "0.0.0.0" || host == "::"
}

// begin starts a login.
func (l *Logins) begin(t catalogue.Trial) (*job, error) {
	to, err := l.redirect()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep()
	running := 0
	for _, j := range l.jobs {
		if !j.over() {
			running++
		}
	}
	if running >= maxRunning || l.life.Err() != nil {
		return nil, wire.Refuse(http.StatusTooManyRequests, "%d logins to MCP servers have begun and not ended; finish one, or try again in %.0f minutes.", running, personTime.Minutes())
	}
	j := &job{id: strings.ReplaceAll(l.cfg.NewID(), "-", ""), made: l.cfg.Now(), redirect: to, shown: make(chan struct{}), done: make(chan struct{}), back: make(chan Return, 1)}
	l.jobs[j.id] = j
	l.wg.Go(func() { l.run(j, t) })
	return j, nil
}

// sweep forgets what is old. mu is held.
func (l *Logins) sweep() {
	for id, j := range l.jobs {
		if l.cfg.Now().Sub(j.made) > keepTime && j.over() {
			delete(l.jobs, id)
		}
	}
}

func (l *Logins) job(id string) (*job, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep()
	if j := l.jobs[id]; j != nil {
		return j, nil
	}
	return nil, wire.Refuse(http.StatusNotFound, "MCP OAuth job not found")
}

// errSlow ends a login whose servers take too long.
var errSlow = errors.New("the server did not answer in time")

// run carries out the whole login. The time that the client allows is that of the
// servers: the person has time of their own.
func (l *Logins) run(j *job, t catalogue.Trial) {
	ctx, cancel := context.WithCancelCause(l.life)
	defer cancel(nil)
	clock := time.AfterFunc(t.Timeout, func() { cancel(errSlow) })
	defer clock.Stop()
	tried, err := l.cfg.Try(ctx, t, Browser{RedirectURL: j.redirect, Visit: func(ctx context.Context, page string) (Return, error) {
		clock.Stop()
		defer clock.Reset(t.Timeout)
		back, err := l.visit(ctx, j, page)
		if errors.Is(err, errPerson) {
			cancel(errPerson)
		}
		return back, err
	}})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // what became of it in Try says less
	}
	j.finish(tried, err)
}

var (
	errPage   = errors.New("the authorization server has no page for browsers")
	errPerson = errors.New("the login was not finished within 5 minutes")
)

// visit waits until the browser comes back.
func (l *Logins) visit(ctx context.Context, j *job, page string) (Return, error) {
	at, err := url.Parse(page)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
		return Return{}, errPage
	}
	state := at.Query().Get("state")
	if len(state) < minState {
		return Return{}, errPage
	}
	l.mu.Lock()
	l.states[state] = j
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.states, state)
		l.mu.Unlock()
	}()
	j.show(page)
	limit := time.NewTimer(personTime)
	defer limit.Stop()
	select {
	case back := <-j.back:
		return back, nil
	case <-limit.C:
		return Return{}, errPerson
	case <-ctx.Done():
		return Return{}, ctx.Err()
	}
}

// deliver gives a login what its browser brings, once. only is the login that it must
// be; nil is any. It reports false for what is of none.
func (l *Logins) deliver(q url.Values, only *job) bool {
	back := Return{Code: q.Get("code"), State: q.Get("state"), Issuer: q.Get("iss"), Error: q.Get("error")}
	if back.Code == "" && back.Error == "" {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.states[back.State]
	if j == nil || only != nil && j != only {
		return false
	}
	delete(l.states, back.State)
	j.back <- back // there is room for the one of each state
	return true
}
