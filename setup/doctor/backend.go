package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup"
)

// skew is how far two clocks may be apart.
const skew = 30 * time.Second

// checkBackend asks what runs the agents.
func checkBackend(ctx context.Context, w *World) Result {
	b, err := w.Backend(ctx)
	if err != nil {
		return failed(err)
	}
	if b.embedded() {
		return fine("the embedded agent: %s", b.Why)
	}
	where := fmt.Sprintf("the %s at %s", b.Name, b.Address)
	if b.Err != nil {
		if b.Name == "cloud" {
			return Result{}.fail(where+" cannot be used", agentapi.PublicMessage(b.Err, b.Err.Error()), "ohgw server test; or log in again with ohgw login")
		}
		repair := "start the agent-server at that address, or use the embedded agent: export OHGW_BACKEND=embedded"
		if errors.Is(b.Err, agentapi.ErrUnauthorized) {
			repair = "export OHGW_AGENT_SERVER_KEY=KEY, with one of its session keys (OH_SESSION_API_KEYS_0 on the agent-server)"
		}
		return Result{}.fail(where+" cannot be used", agentapi.PublicMessage(b.Err, b.Err.Error()), repair)
	}
	if len(b.Members) > 0 {
		return w.members(ctx, b)
	}
	r := fine("%s %s at %s: %s", b.Name, b.Version, b.Address, b.Why)
	if b.KeysWithheld {
		r = r.warn("it gets none of your stored keys", "it was found, not named, and you have not agreed to the program that listens there",
			"name it: export OHGW_AGENT_SERVER_URL="+b.Address+"; or answer the question of ohgw chat")
	}
	for _, lack := range b.Missing {
		r = r.warn("features are missing", lack, "update the agent-server, or set the variables it names")
	}
	return w.clocks(ctx, r, b.Address)
}

// members looks at the agent-servers of a pool. Without one of them the others go on.
func (w *World) members(ctx context.Context, b Backend) Result {
	r := fine("pool of %d agent-servers %s at %s: %s", len(b.Members), b.Version, b.Address, b.Why)
	for _, m := range b.Members {
		switch {
		case m.Err != nil:
			r = r.warn("the agent-server "+m.Name+" does not answer", agentapi.PublicMessage(m.Err, m.Err.Error()), "start it; its conversations continue then")
			continue
		case m.Asked.IsZero():
			r = r.warn("the agent-server "+m.Name+" does not answer in time", "its conversations cannot be used until it does", "check the load of its machine, and start it again")
			continue
		case m.State == agentapi.MemberDraining:
			r = r.warn("the agent-server "+m.Name+" gets no new conversations", "it was drained", "ohgw pool up "+shellword.Of(m.Name))
		}
		if len(m.Differs) > 0 {
			r = r.warn("profiles of the agent-server "+m.Name+" differ from the others'", "it gets no new conversations for: "+strings.Join(m.Differs, ", "),
				"give all agent-servers the same profiles, from one directory or Secret")
		}
		r = w.clocks(ctx, r, m.Address)
	}
	for _, lack := range b.Missing {
		r = r.warn("features are missing", lack, "update the agent-servers, or set the variables it names")
	}
	return r
}

// elsewhere finds the address of a backend that does not see the files of this
// machine; "" if there is not one.
func (w *World) elsewhere(ctx context.Context) string {
	b, err := w.Backend(ctx)
	if err != nil || b.embedded() {
		return ""
	}
	for _, m := range b.Members {
		if !setup.OnThisMachine(m.Address) {
			return m.Address
		}
	}
	if len(b.Members) > 0 || setup.OnThisMachine(b.Address) {
		return ""
	}
	return b.Address
}

// remote is how many profiles the agent-server has; 0 for the embedded agent,
// whose profiles are the files here.
func (w *World) remote(ctx context.Context) int {
	b, err := w.Backend(ctx)
	if err != nil || b.embedded() {
		return 0
	}
	return b.Profiles
}

// clocks compares the backend's clock with ours.
func (w *World) clocks(ctx context.Context, r Result, address string) Result {
	theirs, err := w.ServerClock(ctx, address)
	if err != nil || theirs.IsZero() {
		return r // the backend has answered before; this is not news about it
	}
	apart := w.Now().Sub(theirs)
	if apart.Abs() < skew {
		return r
	}
	which := "behind"
	if apart < 0 {
		which = "ahead of"
	}
	return r.warn(fmt.Sprintf("its clock is %s %s this machine's", apart.Abs().Round(time.Second), which), "times in lists and logs do not match, and tokens expire at the wrong time", setClock(w.GOOS)+", on the machine whose clock is wrong")
}
