package doctor

import (
	"context"
	"fmt"
)

// Agents are the agents that are models beside the LLM profiles.
type Agents struct {
	Count    int
	Problems []AgentProblem
}

// AgentProblem is something in an agent's file that does not work as written.
type AgentProblem struct {
	Path   string
	Line   int // 0: the whole file
	Text   string
	Repair string
}

// checkAgents looks at the files of agents: what keeps one from being a model, and
// what of one has no effect.
func checkAgents(ctx context.Context, w *World) Result {
	if b, err := w.Backend(ctx); err == nil && !b.embedded() {
		return skip("the agents are those of the agent-server")
	}
	a, err := w.Agents(ctx)
	if err != nil {
		return failed(err)
	}
	r := fine("%s beside the LLM profiles", plural(a.Count, "agent"))
	for _, p := range a.Problems[:min(most, len(a.Problems))] {
		place := p.Path
		if p.Line > 0 {
			place = fmt.Sprintf("%s:%d", p.Path, p.Line)
		}
		r = r.warn(place+": "+p.Text, "", p.Repair)
	}
	if left := len(a.Problems) - most; left > 0 {
		r = r.warn("and "+plural(left, "more problem"), "", "ohgw agents check")
	}
	return r
}
