// Package critic has OpenHands' critics, which score the work of an agent from 0 to 1 and say
// whether the agent has to continue, in OpenHands' words.
//
// OpenHands shows its critics no patch of the workspace. So the two critics that look for one,
// AgentFinishedCritic and EmptyPatchCritic, find none, here as there. The package looks at
// nothing itself.
package critic

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

//go:embed refine.md
var refineText string

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
	score  float64
	why    string
	all    bool // actions, and no messages
	refine *refinement
}

// refinement says when the agent is sent back to work.
type refinement struct {
	Threshold float64 `json:"success_threshold"`
	Rounds    int     `json:"max_iterations"`
}

// The modes of a critic.
const (
	ends       = "finish_and_message"
	allActions = "all_actions"
)

// Of reads the critic of a stored agent; nil for none. A kind that is not known here is an
// error.
func Of(stored json.RawMessage) (*Critic, error) {
	if len(stored) == 0 || string(stored) == "null" {
		return nil, nil
	}
	in := struct {
		Kind   string      `json:"kind"`
		Mode   string      `json:"mode"`
		Refine *refinement `json:"iterative_refinement"`
	}{Mode: ends}
	if err := json.Unmarshal(stored, &in); err != nil {
		return nil, fmt.Errorf("read the critic: %w", err)
	}
	c := &Critic{all: in.Mode == allActions}
	switch in.Kind {
	case "PassCritic":
		c.score, c.why = 1, "PassCritic always succeeds"
	case "EmptyPatchCritic":
		c.why = "Git patch is empty or missing"
	case "AgentFinishedCritic":
		c.why = "Agent did not produce a non-empty git patch. Empty git patch"
	default:
		return nil, fmt.Errorf("there is no critic of the kind %q here; use AgentFinishedCritic, EmptyPatchCritic or PassCritic", in.Kind)
	}
	if in.Mode != ends && in.Mode != allActions {
		return nil, fmt.Errorf("read the critic: its mode %q is neither %s nor %s", in.Mode, ends, allActions)
	}
	c.refine = in.Refine
	return c, c.refine.valid()
}

// UnmarshalJSON implements json.Unmarshaler, with OpenHands' defaults.
func (r *refinement) UnmarshalJSON(data []byte) error {
	type plain refinement
	p := plain{Threshold: 0.6, Rounds: 3}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*r = refinement(p)
	return nil
}

// valid returns what is wrong with a refinement, by the bounds of OpenHands; nil for nothing.
func (r *refinement) valid() error {
	switch {
	case r == nil:
		return nil
	case r.Threshold < 0 || r.Threshold > 1:
		return errors.New("read the critic: success_threshold of iterative_refinement is not from 0 to 1")
	case r.Rounds < 1:
		return errors.New("read the critic: max_iterations of iterative_refinement is less than 1")
	}
	return nil
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

// Evaluate scores the work at a moment, and says why; nil if the critic does not look at it.
func (c *Critic) Evaluate(at Moment) *event.CriticResult {
	if !c.Wants(at) {
		return nil
	}
	return &event.CriticResult{Score: c.score, Message: c.why}
}

// Refine is what an agent with that result is told that has to continue, after so many times;
// "" if it need not.
func (c *Critic) Refine(r *event.CriticResult, done int) string {
	if c == nil || c.refine == nil || r == nil || done >= c.refine.Rounds || r.Score >= c.refine.Threshold {
		return ""
	}
	score := strconv.FormatFloat(r.Score*100, 'f', 1, 64)
	return strings.NewReplacer("{{iteration}}", strconv.Itoa(done+1), "{{score}}", score).Replace(refineText)
}
