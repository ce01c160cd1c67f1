// Package daemon serves OpenAI's API in front of an agent: chat completions,
// responses, conversations and models, with ohgw's own routes for runs, grants of
// the sandbox, health and metrics. If the user asks for it, the package also lets
// clients in to OpenHands' own API (native.go), which a [Native] answers.
//
// What a request means is read in daemon/openai, what an answer is in
// agentapi/turn, whether a request runs at all in daemon/run; this package
// joins them with HTTP and guards the entrance. routes.go has all routes below
// /v1 and beside it, errors.go is the one table of their failures. The routes of
// OpenHands' own API are in the packages below daemon/native.
//
// Invariants: nothing reaches the backend before the guard and the token have
// let it pass, but for the probes of OpenHands' own API, which need no token;
// every failure below /v1 has OpenAI's envelope, and one of OpenHands' own API
// has the form of an agent-server; a stream that has begun
// ends in a finish or in an error frame, never in silence; no log line has a
// secret or a word of a prompt.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/conns"
	"github.com/ohgw/ohgw/daemon/metrics"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/owners"
	"github.com/ohgw/ohgw/daemon/responses"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/rescue"
)

// Config is what the daemon needs. Zero values take the defaults named beside
// them.
type Config struct {
	Backend agentapi.Backend
	// BackendID names the backend in the state directory, the same after each
	// start; as in run.Config.
	BackendID string
	// InProcess says that the backend is in this process; as in run.Config.
	InProcess bool
	// Why says in a few words why this backend was chosen, for status.
	Why      string
	Version  string // of ohgw, for status
	Revision string // the commit of this build, for metrics; may be empty
	Logger   *slog.Logger
	// Now is the clock; nil: the real one. Deadlines are made from it, so it
	// must go on.
	Now func() time.Time

	// Tokens knows who may call. With NoAuth everybody may, and Serve refuses
	// to listen to anything but this machine.
	Tokens Tokens
	NoAuth bool
	// MetricsOpen lets GET /metrics be read without a key.
	MetricsOpen bool
	// AllowHosts are Host names beyond those of this machine, without port.
	AllowHosts []string
	// AllowOrigins are the web origins that may call, exactly as browsers send
	// them, e.g. "https://chat.example:8443". None by default.
	AllowOrigins []string

	// Native answers OpenHands' own API to clients that may use it. Nil: nothing does.
	// The daemon closes it.
	Native Native

	Limits Limits
	// ImageURLs allows images by http(s) URL of public hosts. The daemon never
	// fetches them. Lookup finds the addresses of a host; nil: the system's.
	ImageURLs bool
	Lookup    func(ctx context.Context, host string) ([]netip.Addr, error)

	// Complete asks an LLM without an agent, for what chat UIs want behind the
	// user's back. Nil: there is none.
	Complete CompleteFunc
	// Router is OpenHands' active meta-profile, by which the model auto chooses an LLM
	// profile; nil where there is none. Its error is for clients.
	Router func(context.Context) (*Router, error)
	// Housekeeping says who answers that. Empty: HousekeepingLLM.
	Housekeeping Housekeeping

	// Sees reports whether a model, named as in a profile, is shown images, if
	// that is known. Nil: nothing is.
	Sees func(model string) (sees, known bool)
	// Chats finds the names of chats beyond those known.
	Chats chats.Finder
	// WorkspacePerChat gives each chat a directory of its own, below Workspace
	// if there is one, that all its conversations work in.
	WorkspacePerChat bool

	AnswerOnly    bool // streams carry the final answer only, not every text as it is written
	HideProgress  bool // no reasoning_content
	IgnoreHistory bool // earlier turns of a request are not quoted to a new conversation

	Heartbeat      time.Duration // silence after which a stream gets an empty chunk; 0: 4 s, negative: never
	WholeHeartbeat time.Duration // silence after which an answer in one piece gets white space; 0: 15 s, negative: never
	BodyTimeout    time.Duration // how long a body may take to arrive; 0: 30 s
	WriteTimeout   time.Duration // how long one write may wait for its reader; 0: 30 s
	Drain          time.Duration // how long runs may go on after ctx has ended; negative: 0

	MaxRuns    int           // as in run.Config
	MaxQueue   int           // as in run.Config
	OneShotTTL time.Duration // as in run.Config
	RunTimeout time.Duration // as in run.Config
	Grace      time.Duration // as in run.Config
	Workspace  string        // as in run.Config
	// WorkspaceRoot is where the workspaces of conversations are that were given
	// none. Empty: in the state directory, if there is one.
	WorkspaceRoot string
	Tidy          func(workspace string) error // as in run.Config
	// ResponsesTTL is how long a stored response is kept after its last change; 0:
	// 30 days, negative: for ever.
	ResponsesTTL time.Duration
	// Confirm is the confirmation mode of new conversations, if the user has chosen
	// one; empty: OpenHands' settings say.
	Confirm agentapi.Confirmation
	// StateDir holds records of requests. Empty: they are not kept on disk.
	StateDir string
}

// Limits bound what a request may bring. Zero values take the defaults named
// beside them.
type Limits struct {
	Body     int64 // bytes; 0: 32 MiB
	Messages int   // 0: 2000
	Text     int   // bytes of one message; 0: 1 MiB
	Images   int   // in the message that is asked; 0: 16
}

const (
	defaultHeartbeat      = 4 * time.Second
	defaultWholeHeartbeat = 15 * time.Second
	defaultBodyTimeout    = 30 * time.Second
	defaultWriteTimeout   = 30 * time.Second

	defaultResponsesTTL = 30 * 24 * time.Hour // as OpenAI's
	// sweepEvery is how often old responses are looked for.
	sweepEvery = time.Hour

	// workspaces is where directories of conversations are, below the state
	// directory.
	workspaces = "workspaces"

	// lastWrites is how long answers may take to reach their readers after the
	// last run has ended.
	lastWrites = 5 * time.Second
)

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now //nolint:forbidigo // the default of the injected clock
	}
	if c.Lookup == nil {
		c.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	or(&c.Heartbeat, defaultHeartbeat)
	or(&c.WholeHeartbeat, defaultWholeHeartbeat)
	or(&c.BodyTimeout, defaultBodyTimeout)
	or(&c.WriteTimeout, defaultWriteTimeout)
	or(&c.ResponsesTTL, defaultResponsesTTL)
	or(&c.Limits.Body, 32<<20)
	or(&c.Limits.Messages, 2000)
	or(&c.Limits.Text, 1<<20)
	or(&c.Limits.Images, 16)
	c.Drain = max(0, c.Drain)
	return c
}

// or sets what is zero to its default.
func or[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// Daemon is the gateway. Make one with New, end it with Close.
type Daemon struct {
	cfg         Config
	runs        *run.Manager
	chats       *chats.Registry
	picks       picks
	responses   *responses.Store
	items       *clientitems.Store
	chores      sync.WaitGroup // what goes on until life ends
	rejoining   sync.Mutex     // held while a response of an earlier process is taken up
	models      *catalogue
	state       stateDir
	metrics     *metrics.Metrics
	began       time.Time
	guard       guard
	handler     http.Handler
	directCalls chan struct{} // holds one for each direct call of an LLM that goes on
	draining    atomic.Bool
	drains      context.Context // ends when a drain begins
	life        context.Context // ends when a drain is over, and with the daemon
	beginDrain  context.CancelFunc
	end         context.CancelFunc
	close       func() error
}

// New makes a daemon and takes up what an earlier one left in the state
// directory. It does not listen yet.
func New(cfg Config) (*Daemon, error) {
	cfg = cfg.withDefaults()
	if cfg.Tokens == nil && !cfg.NoAuth {
		return nil, errors.New("the daemon needs a token store, unless it runs without keys")
	}
	d := &Daemon{cfg: cfg, guard: newGuard(cfg), began: cfg.Now(), directCalls: make(chan struct{}, maxDirect)}
	d.drains, d.beginDrain = context.WithCancel(context.Background())
	d.life, d.end = context.WithCancel(context.Background())
	d.state = stateDir{path: cfg.StateDir, now: cfg.Now}
	d.metrics = metrics.New(metrics.Config{Version: cfg.Version, Revision: cfg.Revision, Go: runtime.Version(), Runs: d.counts})
	d.items = clientitems.Open(cfg.StateDir)
	var err error
	d.runs, err = run.New(run.Config{
		Backend: cfg.Backend, Logger: cfg.Logger, Now: cfg.Now,
		MaxRuns: cfg.MaxRuns, MaxQueue: cfg.MaxQueue, OneShotTTL: cfg.OneShotTTL, RunTimeout: cfg.RunTimeout, Grace: cfg.Grace,
		Workspace: cfg.Workspace, WorkspaceRoot: d.workspaceRoot(), Tidy: cfg.Tidy, StateDir: cfg.StateDir, BackendID: cfg.BackendID, InProcess: cfg.InProcess,
		Owners: ownersAndItems{owners.Open(cfg.StateDir), d.items}, Earlier: d.earlier, Ended: d.ended,
	})
	if err != nil {
		return nil, err
	}
	d.responses = responses.Open(cfg.StateDir)
	d.chats = chats.Open(chats.Config{StateDir: cfg.StateDir, Now: cfg.Now, Logger: cfg.Logger, Loose: cfg.OneShotTTL})
	d.models = newCatalogue(cfg.Backend, cfg.Now, func(err error) {
		if p := rescue.Of(err); p != nil {
			cfg.Logger.Error("panic", "panic", p.Error(), "stack", p.Stack())
		}
		d.backendFailed(err)
	})
	d.handler = d.routes()
	d.chores.Go(d.sweepResponses)
	d.close = sync.OnceValue(func() error {
		d.beginDrain()
		d.end()
		err := d.runs.Close()
		if d.cfg.Native != nil {
			err = errors.Join(err, d.cfg.Native.Close())
		}
		d.chats.Close()
		d.models.close()
		d.chores.Wait()
		return err
	})
	return d, nil
}

// workspaceRoot is where the directories are that conversations were given;
// empty if there are none.
func (d *Daemon) workspaceRoot() string {
	if d.cfg.WorkspaceRoot == "" && d.cfg.StateDir != "" {
		return filepath.Join(d.cfg.StateDir, workspaces)
	}
	return d.cfg.WorkspaceRoot
}

// Close interrupts what still runs and lets go of everything. The backend is
// the caller's.
func (d *Daemon) Close() error { return d.close() }

// ErrNoKeys refuses to serve without keys where others can reach it.
var ErrNoKeys = errors.New("no key is required")

const (
	headerTimeout  = 5 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// Serve answers on ln until ctx ends, and then drains: new requests are
// refused, runs may end within Config.Drain, the rest are interrupted, and
// every client gets the end of its answer. It closes ln. A drain is not an error.
func (d *Daemon) Serve(ctx context.Context, ln net.Listener) error {
	if d.cfg.NoAuth && !loopback(ln.Addr()) {
		return errors.Join(&fault.Error{
			Msg: "refusing to listen on " + ln.Addr().String() + " without keys: anyone who can reach it could run commands on this machine", Code: fault.Usage,
			Hint: "remove --no-auth, or listen on 127.0.0.1", Err: ErrNoKeys,
		}, ln.Close())
	}
	bounded := conns.New(ln, conns.Answers{Rewrite: ownWords, Full: tooManyConns})
	server := &http.Server{
		ConnState:         bounded.Follow,
		ConnContext:       conns.With,
		Handler:           d.handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(d.cfg.Logger.Handler(), slog.LevelDebug),
	}
	d.models.refresh(ctx)
	served := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { served <- server.Serve(bounded) }) // ended by drain, or by itself
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
		d.drain(context.WithoutCancel(ctx), server, bounded)
		return nil
	}
}

// drain ends the runs and the direct calls of an LLM, then the connections.
// A connection that does not end by itself is closed.
func (d *Daemon) drain(ctx context.Context, server *http.Server, bounded *conns.Listener) {
	d.draining.Store(true)
	d.beginDrain()
	server.SetKeepAlivesEnabled(false)
	stats := d.runs.Stats()
	d.cfg.Logger.Info("draining", "running", stats.Running, "queued", stats.Queued)
	limit, cancel := context.WithTimeout(ctx, d.cfg.Drain)
	d.runs.Drain(limit)
	d.drainDirect(limit)
	cancel()
	d.end()
	if d.cfg.Native != nil {
		if err := d.cfg.Native.Close(); err != nil {
			d.cfg.Logger.Warn("cannot end OpenHands' own API", "err", err)
		}
	}
	bounded.CloseWaiting()
	limit, cancel = context.WithTimeout(ctx, lastWrites)
	defer cancel()
	if err := server.Shutdown(limit); err != nil {
		d.cfg.Logger.Info("connections were closed before their requests ended", "err", errors.Join(err, server.Close()))
	}
}

// drainDirect waits for the direct calls of an LLM, and lets none begin.
func (d *Daemon) drainDirect(limit context.Context) {
	for range cap(d.directCalls) {
		select {
		case d.directCalls <- struct{}{}:
		case <-limit.Done():
			return
		}
	}
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback() // a connection without TCP cannot come from the network
}

// limits are the limits of a request body's content.
func (c Config) limits() openai.Limits {
	return openai.Limits{Messages: c.Limits.Messages, Text: c.Limits.Text, Images: c.Limits.Images, RemoteImages: c.ImageURLs}
}
