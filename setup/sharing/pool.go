package sharing

import (
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/rescue"
)

// slotsEvery is how often the slots of a pool are counted: the name of one may get servers.
const slotsEvery = 5 * time.Second

// Placement returns what the gateways note of a pool; nil: this one is alone.
func (st *State) Placement() placement.Placer {
	if st == nil {
		return nil
	}
	return st.db.Placement()
}

// FollowSlots gives all gateways together as many runs as the pool has slots, unless the user has
// set how many there are. It does so at once, and then until the gateway leaves.
func (st *State) FollowSlots(s *config.Settings, b agentapi.Backend) {
	p, ok := b.(agentapi.Pooled)
	if st == nil || !ok || s.Origin("max_runs").Kind != config.FromDefault {
		return
	}
	f := follower{st: st, least: s.MaxRuns, provided: s.MaxRuns, slots: p.Slots}
	f.provide()
	st.wg.Go(f.follow)
}

// follower counts the slots of a pool.
type follower struct {
	st              *State
	least, provided int
	slots           func() int
}

func (f *follower) follow() {
	ticker := time.NewTicker(slotsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.provide()
		case <-f.st.life.Done():
			return
		}
	}
}

// provide changes how many runs the gateways have together, if the pool has other slots now.
func (f *follower) provide() {
	err := rescue.Do(func() error {
		n := max(f.least, f.slots())
		if n == f.provided {
			return nil
		}
		if err := f.st.replica.Provide(f.st.life, n); err != nil {
			return err
		}
		f.provided = n
		return nil
	})
	if err != nil && f.st.life.Err() == nil {
		f.st.log.Warn("cannot change how many runs the gateways have together; trying again", "err", err)
	}
}
