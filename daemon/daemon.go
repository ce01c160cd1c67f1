// Package daemon is the gateway: it puts the APIs together, listens, and drains.
// routes.go has all routes below /v1 and beside it. Each API is a package below this
// one: completions, responses, conversations; what they share is in gate. If the
// user asks for it, the package also lets clients in to OpenHands' own API
// (native.go), which a [Native] answers; its routes are in the packages below
// daemon/openhandsapi.
//
// What a request means is read in daemon/openai, what an answer is in
// agentapi/turn, whether a request runs at all in daemon/run.
//
// Invariants: nothing reaches the backend before the guard and the token have
// let it pass, but for the probes of OpenHands' own API, which need no token;
// every failure below /v1 has OpenAI's envelope, and one of OpenHands' own API
// has the form of an agent-server.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/conns"
	"github.com/ohgw/ohgw/daemon/conversations"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/metrics"
	"github.com/ohgw/ohgw/daemon/responses"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/loopback"
)

// Config is what the daemon needs. Zero values take the defaults named beside
// them.
type Config struct {
	gate.Config
	completions.Options

	// BackendID names the backend in the state directory, the same after each
	// start; as in run.Config.
	BackendID string
	// Why says in a few words why this backend was chosen, for status.
	Why      string
	Version  string // of ohgw, for status
	Revision string // the commit of this build, for metrics; may be empty

	// Shared is what several gateways share that answer as one. Nil: this one is alone.
	Shared *Shared

	// Native answers OpenHands' own API to clients that may use it. Nil: nothing does.
	// The daemon closes it.
	Native Native

	Drain      time.Duration                // how long runs may go on after ctx has ended; negative: 0
	MaxRuns    int                          // as in run.Config
	BySlots    bool                         // as in run.Config
	MaxQueue   int                          // as in run.Config
	RunTimeout time.Duration                // as in run.Config
	Grace      time.Duration                // as in run.Config
	Tidy       func(workspace string) error // as in run.Config
	// ResponsesTTL is how long a stored response is kept after its last change; 0:
	// 30 days, negative: for ever.
	ResponsesTTL time.Duration
}

const (
	defaultResponsesTTL = 30 * 24 * time.Hour // as OpenAI's
	// sweepEvery is how often old responses are looked for.
	sweepEvery = time.Hour

	// lastWrites is how long answers may take to reach their readers after the
	// last run has ended.
	lastWrites = 5 * time.Second
)

// Daemon is the gateway. Make one with New, end it with Close.
type Daemon struct {
	cfg           Config
	core          *gate.Core
	completions   *completions.API
	responses     *responses.API
	conversations *conversations.API
	pages         gate.Pages // of Config.Native
	handler       http.Handler
	close         func() error
}

// New makes a daemon and takes up what an earlier one left in the state
// directory. It does not listen yet.
func New(cfg Config) (*Daemon, error) {
	if cfg.Tokens == nil && !cfg.NoAuth {
		return nil, errors.New("the daemon needs a token store, unless it runs without keys")
	}
	cfg.ResponsesTTL = cmp.Or(cfg.ResponsesTTL, defaultResponsesTTL)
	d := &Daemon{cfg: cfg, pages: pagesOf(cfg.Native)}
	d.core = gate.NewCore(cfg.Config, metrics.New(metrics.Config{
		Version: cfg.Version, Revision: cfg.Revision, Go: runtime.Version(),
		Runs: func() (running, queued int) { s := d.Runs(); return s.Running, s.Queued }, Servers: serversOf(cfg.Backend),
	}))
	items := clientitems.Open(cfg.StateDir)
	shared := cfg.Shared.orAlone(cfg.StateDir)
	var err error
	d.core.Runs, err = run.New(run.Config{
		Backend: cfg.Backend, Logger: d.core.Logger, Now: d.core.Now,
		MaxRuns: cfg.MaxRuns, BySlots: cfg.BySlots, MaxQueue: cfg.MaxQueue, OneShotTTL: cfg.OneShotTTL, RunTimeout: cfg.RunTimeout, Grace: cfg.Grace,
		Workspace: cfg.Workspace, WorkspaceRoot: d.core.WorkspacesDir(), Tidy: cfg.Tidy, StateDir: cfg.StateDir, BackendID: cfg.BackendID, InProcess: cfg.InProcess,
		Ledger: shared.Ledger, Shots: shared.Shots, Owners: conversations.Owners{Owners: shared.Owners, Items: items}, Earlier: conversations.NewEarlier(items, d.core.Logger), Ended: completions.NewEnded(d.core),
	})
	if err != nil {
		return nil, err
	}
	cfg.SharedChats = shared.Chats
	d.completions = completions.New(d.core, cfg.Options)
	d.responses = responses.New(d.core, d.completions)
	d.conversations = conversations.New(d.core, items, d.responses.Store, d.responses.Forget)
	d.handler = d.routes()
	d.settleRuns()
	d.core.Go(d.sweep)
	if cfg.StateDir != "" {
		d.core.Go(d.removeLeftovers)
	}
	d.close = sync.OnceValue(func() error {
		d.core.Close()
		err := d.core.Runs.Close()
		if d.cfg.Native != nil {
			err = errors.Join(err, d.cfg.Native.Close())
		}
		d.completions.Close()
		d.core.Wait()
		return err
	})
	return d, nil
}

// sweep deletes old responses, and conversations that no agent has, until the daemon ends.
func (d *Daemon) sweep() {
	if d.cfg.ResponsesTTL < 0 {
		return
	}
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-d.core.Life().Done():
			return
		}
		before := d.core.Now().Add(-d.cfg.ResponsesTTL)
		if err := d.conversations.Sweep(before); err != nil && d.core.Life().Err() == nil {
			d.core.Logger.Warn("cannot remove unused conversations", "err", err)
		}
		if err := d.responses.Sweep(before); err != nil && d.core.Life().Err() == nil {
			d.core.Logger.Warn("cannot remove old responses", "err", err)
		}
	}
}

// Close interrupts what still runs and lets go of everything. The backend is
// the caller's.
func (d *Daemon) Close() error { return d.close() }

// ErrNoKeys refuses to serve without keys where others can reach it.
var ErrNoKeys = errors.New("no key is required")

// NeedsKeys is the error for an address at which a daemon without keys must not listen,
// because others can reach it.
func NeedsKeys(addr string) *fault.Error {
	return &fault.Error{
		Msg:  "without tokens, anyone who can reach " + addr + " could run commands here",
		Hint: "remove --no-auth, or listen on 127.0.0.1", Code: fault.Usage, Err: ErrNoKeys,
	}
}

const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
)

// Serve answers on ln until ctx ends, and then drains: new requests are
// refused, runs may end within Config.Drain, the rest are interrupted, and
// every client gets the end of its answer. It closes ln. A drain is not an error.
func (d *Daemon) Serve(ctx context.Context, ln net.Listener) error {
	if d.cfg.NoAuth && !loopback.Listens(ln.Addr()) {
		return errors.Join(NeedsKeys(ln.Addr().String()), ln.Close())
	}
	bounded := conns.New(ln, conns.Answers{Rewrite: gate.OwnWords, Full: gate.TooManyConns})
	server := &http.Server{
		ConnState:         bounded.Follow,
		ConnContext:       conns.With,
		Handler:           d.handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    gate.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(d.core.Logger.Handler(), slog.LevelDebug),
	}
	d.completions.Refresh(ctx)
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
	d.core.Drain()
	server.SetKeepAlivesEnabled(false)
	stats := d.core.Runs.Stats()
	d.core.Logger.Info("draining", "running", stats.Running, "queued", stats.Queued)
	limit, cancel := context.WithTimeout(ctx, max(0, d.cfg.Drain))
	d.core.Runs.Drain(limit)
	d.completions.DrainDirect(limit)
	cancel()
	d.core.End()
	if d.cfg.Native != nil {
		if err := d.cfg.Native.Close(); err != nil {
			d.core.Logger.Warn("cannot end OpenHands' own API", "err", err)
		}
	}
	bounded.CloseWaiting()
	limit, cancel = context.WithTimeout(ctx, lastWrites)
	defer cancel()
	if err := server.Shutdown(limit); err != nil {
		d.core.Logger.Info("connections were closed before their requests ended", "err", errors.Join(err, server.Close()))
	}
}
