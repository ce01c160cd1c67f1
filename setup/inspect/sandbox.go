package inspect

import (
	"context"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/escape"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/setup/doctor"
)

// sandboxState tries to break out of the sandbox of the backend's agents, and reports
// its level, the results and the grants.
func (p *Installation) sandboxState(ctx context.Context) (doctor.Sandbox, error) {
	b, err := p.open(ctx)
	if err != nil {
		return doctor.Sandbox{}, err
	}
	st := b.Sandbox(ctx)
	state := doctor.Sandbox{Level: st.Level, Words: b.SandboxLine(ctx), Reason: st.Reason, Fix: st.Fix}
	level := sandbox.Level(st.Level)
	if level != sandbox.Full && level != sandbox.Reduced {
		return state, nil
	}
	dirs, err := p.Dirs()
	if err != nil {
		return state, err
	}
	places, err := p.Places()
	if err != nil {
		return state, err
	}
	private := append(places.Private(), dirs.Config, dirs.Runtime)
	attempts, err := escape.Run(ctx, level, boxes.User{Home: dirs.Home, State: dirs.State, Environ: p.Environ(), Private: private})
	state.TestError = err
	for _, a := range attempts {
		if a.Refused {
			state.Refused = append(state.Refused, a.Name)
		} else {
			state.Escaped = append(state.Escaped, a.Name)
		}
	}
	list, err := grants.Open(grants.Config{State: dirs.State, Home: dirs.Home, Private: private, Now: p.Now}).List()
	state.GrantsError = err
	for _, g := range list {
		state.Grants = append(state.Grants, g.Created)
	}
	return state, nil
}
