// Package gate is what all APIs of the daemon share: who may send a request, the
// request with its answer as an [Exchange], the headers that mean the same
// everywhere, and errors.go, the one table of failures.
//
// Invariants: nothing reaches a handler before [Guard] and the token have let it
// pass; every failure has OpenAI's envelope; no log line has a secret or a word of
// a prompt.
package gate

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/metrics"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/budget"
)

// Config is what all APIs need. Zero values take the defaults named beside them.
type Config struct {
	Backend agentapi.Backend
	// InProcess says that the backend is in this process; as in run.Config.
	InProcess bool
	Logger    *slog.Logger
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

	Limits Limits
	// ImageURLs allows images by http(s) URL of public hosts. The daemon never
	// fetches them.
	ImageURLs bool

	BodyTimeout  time.Duration // how long a body may take to arrive; 0: 30 s
	WriteTimeout time.Duration // how long one write may wait for its reader; 0: 30 s

	OneShotTTL time.Duration // as in run.Config
	Workspace  string        // as in run.Config
	// WorkspaceRoot is where the workspaces of conversations are that were given
	// none. Empty: in the state directory, if there is one.
	WorkspaceRoot string
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
	defaultBodyTimeout  = 30 * time.Second
	defaultWriteTimeout = 30 * time.Second
)

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now //nolint:forbidigo // the default of the injected clock
	}
	c.BodyTimeout = cmp.Or(c.BodyTimeout, defaultBodyTimeout)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, defaultWriteTimeout)
	c.Limits.Body = cmp.Or(c.Limits.Body, 32<<20)
	c.Limits.Messages = cmp.Or(c.Limits.Messages, 2000)
	c.Limits.Text = cmp.Or(c.Limits.Text, 1<<20)
	c.Limits.Images = cmp.Or(c.Limits.Images, 16)
	return c
}

// OpenAILimits are the limits of a request body's content.
func (c Config) OpenAILimits() openai.Limits {
	return openai.Limits{Messages: c.Limits.Messages, Text: c.Limits.Text, Images: c.Limits.Images, RemoteImages: c.ImageURLs}
}

// Core is what all APIs of a daemon share. Make one with NewCore; Runs is set before
// the first request.
type Core struct {
	Config
	Runs    *run.Manager
	Metrics *metrics.Metrics
	State   stateDir
	Ledger  *budget.Ledger // of what tokens spend
	Began   time.Time      // of the daemon

	chores sync.WaitGroup

	draining   atomic.Bool
	drains     context.Context // ends when a drain begins
	beginDrain context.CancelFunc
	life       context.Context
	end        context.CancelFunc
}

// NewCore returns the core of a daemon; m counts what happens.
func NewCore(cfg Config, m *metrics.Metrics) *Core {
	cfg = cfg.withDefaults()
	core := &Core{Config: cfg, Metrics: m, Began: cfg.Now(), State: stateDir{path: cfg.StateDir, now: cfg.Now}, Ledger: budget.NewLedger(cfg.StateDir, cfg.Now)}
	core.Ledger.Paid = func(a budget.Amount) { m.Paid(a.Cost, a.Tokens) }
	core.drains, core.beginDrain = context.WithCancel(context.Background())
	core.life, core.end = context.WithCancel(context.Background())
	return core
}

// Drain refuses new requests from now on.
func (core *Core) Drain() {
	core.draining.Store(true)
	core.beginDrain()
}

// IsDraining reports whether new requests are refused.
func (core *Core) IsDraining() bool { return core.draining.Load() }

// End ends what goes on beside requests: a drain is over.
func (core *Core) End() { core.end() }

// Life ends when a drain is over, and with the daemon.
func (core *Core) Life() context.Context { return core.life }

// Go starts what goes on beside requests. It ends with the life of the daemon.
func (core *Core) Go(chore func()) { core.chores.Go(chore) }

// Wait returns when all of that has ended.
func (core *Core) Wait() { core.chores.Wait() }

// Close ends the life of the daemon.
func (core *Core) Close() {
	core.beginDrain()
	core.end()
}
