package inspect

import (
	"context"

	"github.com/ohgw/ohgw/internal/doctor"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/state/pg"
)

// SharesState reports whether the settings name a state that several gateways share.
func (p *Installation) SharesState() bool {
	s, err := p.Settings()
	return err == nil && s.State.Shared()
}

// sharedState asks the database of that state.
func (p *Installation) sharedState(ctx context.Context) (doctor.State, error) {
	s, err := p.Settings()
	if err != nil {
		return doctor.State{}, err
	}
	db, err := p.Database(s)
	if err != nil {
		return doctor.State{}, err
	}
	defer db.Close()
	h, err := db.Check(ctx)
	if err != nil {
		return doctor.State{}, setup.StateFault(db, err)
	}
	seen, err := db.Overview(ctx, 0)
	if err != nil {
		return doctor.State{}, setup.StateFault(db, err)
	}
	found := doctor.State{Address: db.Address(), Server: h.Server, Tables: h.Version, Skew: h.Skew}
	for _, g := range seen.Gateways {
		switch {
		case !g.Dead:
			found.Up++
		case g.Runs > 0:
			found.Lost++
		}
	}
	found.Strangers = p.strangers(ctx, db)
	return found, nil
}

// strangers are the agent-servers that gateways with another state use. Those that do not
// answer are found by another check.
func (p *Installation) strangers(ctx context.Context, db *pg.DB) []string {
	state, err := db.Identity(ctx)
	if err != nil || state == "" {
		return nil
	}
	b, err := p.open(ctx)
	if err != nil {
		return nil
	}
	found, _ := b.Strangers(ctx, state, p.Now()) // the others' answers
	return found
}
