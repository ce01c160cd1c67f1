package daemon

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/metrics"
	"github.com/ohgw/ohgw/daemon/owners"
	"github.com/ohgw/ohgw/daemon/responses"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/internal/budget"
)

// Shared is what gateways that answer as one keep together. Without it everything is in
// the state directory, and this gateway is the only one.
type Shared struct {
	// Address is where the state is, without credentials, for status.
	Address string
	// Check asks whether the state can be used now.
	Check func(ctx context.Context) error

	// Places counts the places for runs of all gateways.
	Places func(ctx context.Context) (metrics.Places, error)

	// Provide changes how many runs all gateways have together.
	Provide func(ctx context.Context, runs int) error

	// Ledger says which run answers a request.
	Ledger ledger.Ledger
	// Shots are the conversations that nobody asked to keep, and Owners are whose all
	// conversations are.
	Shots  ledger.Shots
	Owners run.Owners
	// Chats are those of user interfaces, and Items what clients add to conversations.
	Chats chats.Store
	Items clientitems.Files
	// Responses are those of the Responses API.
	Responses responses.Shared
	// Book is what tokens have spent.
	Book budget.Book
	// Chore reports whether this gateway is to do what one of them does for all: the
	// last one has done it so long ago.
	Chore func(ctx context.Context, name string, every time.Duration) (bool, error)
}

// StateHealth is the state that several gateways share.
type StateHealth struct {
	Address string `json:"address"`
	Error   string `json:"error"` // why it cannot be used now; empty when it can
}

// sharedHealth is how the shared state is; nil where there is none.
func (d *Daemon) sharedHealth(ctx context.Context) *StateHealth {
	if d.cfg.Shared == nil {
		return nil
	}
	h := &StateHealth{Address: d.cfg.Shared.Address}
	if err := d.cfg.Shared.Check(ctx); err != nil {
		h.Error = err.Error()
	}
	return h
}

// sharedReady is why the shared state cannot be used now; nil if it can, or there is
// none.
func (d *Daemon) sharedReady(ctx context.Context) error {
	if d.cfg.Shared == nil {
		return nil
	}
	return d.cfg.Shared.Check(ctx)
}

// openState opens what the daemon keeps: in the shared state, if there is one, else in
// the state directory. It gives the part of the runs.
func (d *Daemon) openState() run.Config {
	cfg := d.cfg
	if s := cfg.Shared; s != nil {
		d.ledger = budget.NewShared(s.Book, cfg.Now)
		d.items = clientitems.New(s.Items)
		d.responses = responses.NewShared(s.Responses)
		d.chats = chats.Open(chats.Config{Shared: s.Chats, Now: cfg.Now, Logger: cfg.Logger, Loose: cfg.OneShotTTL})
		return run.Config{Ledger: d.sharedLedger(), Shots: s.Shots, Owners: ownersAndItems{s.Owners, d.items}, Orphan: d.orphan}
	}
	d.ledger = budget.NewLedger(spendingDir(cfg.StateDir), cfg.Now)
	d.items = clientitems.Open(cfg.StateDir)
	d.responses = responses.Open(cfg.StateDir)
	d.chats = chats.Open(chats.Config{StateDir: cfg.StateDir, Now: cfg.Now, Logger: cfg.Logger, Loose: cfg.OneShotTTL})
	return run.Config{Owners: ownersAndItems{owners.Open(cfg.StateDir), d.items}}
}

// stateErr is the kind of an error of what the daemon keeps.
func (d *Daemon) stateErr() error {
	if d.cfg.Shared != nil {
		return run.ErrLedger
	}
	return run.ErrState
}

// sweeps reports whether this gateway is to sweep: the only one always is.
func (d *Daemon) sweeps(what string, every time.Duration) bool {
	if d.cfg.Shared == nil {
		return true
	}
	mine, err := d.cfg.Shared.Chore(d.life, what, every)
	if err != nil && d.life.Err() == nil {
		d.cfg.Logger.Debug("cannot ask which gateway is to sweep", "what", what, "err", err)
	}
	return mine
}

// SetMaxRuns changes how many agents run at the same time; with a shared state, those of
// all gateways together.
func (d *Daemon) SetMaxRuns(ctx context.Context, n int) error {
	d.runs.SetMaxRuns(n)
	if d.cfg.Shared == nil {
		return nil
	}
	return d.cfg.Shared.Provide(ctx, n)
}
