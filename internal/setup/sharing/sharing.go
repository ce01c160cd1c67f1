// Package sharing opens the state that several gateways share: it makes this process
// one of the gateways of a database, and gives the daemon what they keep there.
package sharing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/metrics"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/rescue"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/internal/token"
)

const (
	// joinTime bounds how long the start waits for the database.
	joinTime = 15 * time.Second
	// maxLane is how many requests may wait for one conversation.
	maxLane = 8
	// sweepEvery is how often runs are forgotten that are over: those with an
	// idempotency key after keepKeyed, as on one gateway, and the others after keepOther,
	// when no request can join them any more.
	sweepEvery = 5 * time.Minute
	keepKeyed  = 24 * time.Hour
	keepOther  = 15 * time.Minute
	// checkAge is how long the database counts as it was found, and checkTime bounds
	// the question.
	checkAge  = 2 * time.Second
	checkTime = 5 * time.Second
)

// Options is what a gateway tells the others.
type Options struct {
	Address string // where it listens
	Log     *slog.Logger
}

// State is the shared state of a gateway; nil: it has none, and shares nothing. Close
// leaves the others.
type State struct {
	db, direct *pg.DB // direct is nil for the database itself
	replica    *pg.Replica
	shelf      *pg.Shelf
	identity   string
	log        *slog.Logger
	now        func() time.Time
	end        context.CancelFunc
	wg         sync.WaitGroup

	mu     sync.Mutex
	looked time.Time
	err    error
}

// Check refuses settings that gateways with a shared state cannot have.
func Check(s *config.Settings) error {
	if !s.State.Shared() {
		return nil
	}
	switch from := s.StateOrigin().String(); {
	case s.Backend == "embedded" || s.Demo:
		return fault.NewUsage("the embedded agent cannot be used with a shared state ("+from+"): its runs end with this process", "name the agent-servers: --agent-server URL")
	case s.Backend == "cloud" || len(s.Servers) > 0:
		return fault.NewUsage("the agents of OpenHands Cloud cannot be used with a shared state ("+from+")", "name the agent-servers: --agent-server URL")
	case len(s.AgentServer.URLs) == 0:
		return fault.NewUsage("a shared state requires an agent-server that every gateway reaches ("+from+")", "name it: --agent-server URL")
	case s.KeyStore == config.KeyringStore:
		return fault.NewUsage("LLM keys in a keyring are on one machine only, and the gateways with a shared state need the same ones ("+from+")", "use --key-store file, with the same keys for all gateways")
	}
	return nil
}

// Open makes this process one of the gateways of the database that the settings name.
// The State is nil if they name none.
func Open(ctx context.Context, env *setup.Env, s *config.Settings, in Options) (*State, error) {
	if !s.State.Shared() {
		return nil, nil //nolint:nilnil // A State that is nil shares nothing.
	}
	db, err := env.Database(s)
	if err != nil {
		return nil, err
	}
	direct, leaseOnly, err := env.SessionDatabase(s)
	if err != nil {
		return nil, err
	}
	st := &State{db: db, direct: direct, log: in.Log, now: env.Now}
	join, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	st.replica, err = pg.Join(join, db, pg.Options{
		Address: in.Address, Version: buildinfo.Get().Version, Logger: in.Log,
		MaxRuns: s.MaxRuns, MaxQueue: s.MaxQueue, MaxLane: maxLane, Direct: direct, LeaseOnly: leaseOnly,
	})
	if err != nil {
		st.closeDatabases()
		return nil, setup.StateFault(db, err)
	}
	if st.shelf, err = st.replica.Shelf(join, setup.TokensDocument); err != nil {
		err = errors.Join(setup.StateFault(db, err), st.replica.Close())
		st.closeDatabases()
		return nil, err
	}
	if st.identity, err = db.Identity(join); err != nil {
		err = errors.Join(setup.StateFault(db, err), st.replica.Close())
		st.closeDatabases()
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	st.end = end
	st.wg.Go(func() { st.sweep(life) }) //nolint:contextcheck // It ends with Close.
	return st, nil
}

// Tokens is the document of the tokens; nil: the state directory has them.
func (st *State) Tokens() token.Shelf {
	if st == nil {
		return nil
	}
	return st.shelf
}

// Daemon is what the daemon keeps in it; nil: the state directory has everything.
func (st *State) Daemon() *daemon.Shared {
	if st == nil {
		return nil
	}
	r := st.replica
	return &daemon.Shared{
		Address: st.db.Address(), Check: st.check, Places: st.places, Provide: r.Provide,
		Ledger: r, Shots: r.Shots(), Owners: r.Owners(), Chats: r.Chats(), Items: r.Records("client-items"), Responses: r.Responses(), Book: st.db.Book(), Chore: r.Chore,
	}
}

// places counts the places of all gateways.
func (st *State) places(ctx context.Context) (metrics.Places, error) {
	p, err := st.db.Places(ctx)
	return metrics.Places{Used: p.Running, Free: max(0, p.Slots-p.Running), Waiting: p.Waiting}, err
}

// Placement is what gateways note of a pool of agent-servers; nil: the state directory
// has it.
func (st *State) Placement() placement.Placer {
	if st == nil {
		return nil
	}
	return st.replica.Placement()
}

// Identity names the state; empty: there is none.
func (st *State) Identity() string {
	if st == nil {
		return ""
	}
	return st.identity
}

// check asks the database how it is, now and then.
func (st *State) check(ctx context.Context) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	now := st.now()
	if !st.looked.IsZero() && now.Sub(st.looked) < checkAge {
		return st.err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	_, err := st.db.Check(ctx)
	st.looked, st.err = now, err
	return err
}

// sweep forgets what is over, until life ends.
func (st *State) sweep(life context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		err := rescue.Do(func() error {
			_, err := st.replica.Sweep(life, keepKeyed, keepOther)
			return err
		})
		if err != nil && life.Err() == nil {
			st.log.Warn("cannot forget runs that are over", "err", err)
		}
		select {
		case <-ticker.C:
		case <-life.Done():
			return
		}
	}
}

// Close leaves the other gateways. Runs that go on are taken over by them.
func (st *State) Close() error {
	if st == nil {
		return nil
	}
	st.end()
	st.wg.Wait()
	err := st.replica.Close()
	st.closeDatabases()
	return err
}

func (st *State) closeDatabases() {
	st.db.Close()
	if st.direct != nil {
		st.direct.Close()
	}
}
