package inspect

import (
	"context"

	"github.com/ohgw/ohgw/setup/agents"
	"github.com/ohgw/ohgw/setup/doctor"
)

// agentsState reads the files of agents, and starts none.
func (p *Installation) agentsState(ctx context.Context) (doctor.Agents, error) {
	s, err := p.Settings()
	if err != nil {
		return doctor.Agents{}, err
	}
	r, err := agents.OpenRoster(p.Env, s)
	if err != nil {
		return doctor.Agents{}, err
	}
	entries, problems, err := r.Read(ctx)
	if err != nil {
		return doctor.Agents{}, err
	}
	for _, e := range entries {
		problems = append(problems, r.Probe(ctx, e)...)
	}
	state := doctor.Agents{Count: len(entries)}
	for _, found := range problems {
		if found.Newer { // the check of the profiles has said it
			continue
		}
		state.Problems = append(state.Problems, doctor.AgentProblem{Path: found.Path, Line: found.Line, Text: found.Msg, Repair: found.Hint})
	}
	return state, nil
}
