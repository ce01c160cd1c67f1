// Package critic has OpenHands' critics that need no service: they score the work of
// an agent from 0 to 1, and say whether it has to continue.
//
// It looks at nothing itself: its caller says what the agent has done.
package critic

import (
	"encoding/json"
	"fmt"
)

// Moment is the kind of an event that a critic may look at.
type Moment int

// The moments.
const (
	Action  Moment = iota // an action that is not the end
	Finish                // the action finish
	Message               // an answer without an action
)

// Critic scores work. A nil Critic does not.
type Critic struct {
	kind   string
	all    bool // actions, too
	refine *refinement
}

// refinement says when the agent is sent back to work.
type refinement struct {
	Threshold float64 `json:"success_threshold"`
	Rounds    int     `json:"max_iterations"`
}

// The kinds, and when they look.
const (
	pass          = "PassCritic"
	emptyPatch    = "EmptyPatchCritic"
	agentFinished = "AgentFinishedCritic"
	allActions    = "all_actions"
)

// Of reads the critic of a stored agent; nil for none. A kind that is not known here
// is an error, and no critic.
func Of(stored json.RawMessage) (*Critic, error) {
	if len(stored) == 0 || string(stored) == "null" {
		return nil, nil //nolint:nilnil // there is none
	}
	var in struct {
		Kind   string          `json:"kind"`
		Mode   string          `json:"mode"`
		Refine json.RawMessage `json:"iterative_refinement"`
	}
	if err := json.Unmarshal(stored, &in); err != nil {
		return nil, fmt.Errorf("read the critic: %w", err)
	}
	switch in.Kind {
	case pass, emptyPatch, agentFinished:
	default:
		return nil, fmt.Errorf("there is no critic of the kind %q here; use %s, %s or %s", in.Kind, agentFinished, emptyPatch, pass)
	}
	c := &Critic{kind: in.Kind, all: in.Mode == allActions}
	if len(in.Refine) > 0 && string(in.Refine) != "null" {
		c.refine = &refinement{Threshold: 0.6, Rounds: 3}
		if err := json.Unmarshal(in.Refine, c.refine); err != nil {
			return nil, fmt.Errorf("read iterative_refinement of the critic: %w", err)
		}
	}
	return c, nil
}

// Wants reports whether the critic looks at a moment.
func (c *Critic) Wants(at Moment) bool {
	switch {
	case c == nil:
		return false
	case c.all:
		return at != Message // as OpenHands has it
	}
	return at != Action
}

// NeedsPatch reports whether the score depends on the files.
func (c *Critic) NeedsPatch() bool { return c != nil && c.kind != pass }

// Work is what an agent has done.
type Work struct {
	Finished bool // with the action finish
	Changed  bool // a file
}

// Evaluate scores work, and says why.
func (c *Critic) Evaluate(w Work) (score float64, why string) {
	switch {
	case c.kind == pass:
		return 1, "Nothing is checked."
	case !w.Changed:
		return 0, "No file of the workspace was changed."
	case c.kind == agentFinished && !w.Finished:
		return 0, "The agent did not end with finish."
	}
	return 1, "Files of the workspace were changed."
}

// Refines reports whether an agent with that score has to continue, after so many
// times.
func (c *Critic) Refines(score float64, done int) bool {
	return c != nil && c.refine != nil && done < c.refine.Rounds && score < c.refine.Threshold
}
