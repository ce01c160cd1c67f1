// Package critic has OpenHands' critics, which score the work of an agent from 0 to 1 and say
// whether the agent has to continue, in OpenHands' words.
//
// OpenHands shows its critics no patch of the workspace. So the two critics that look for one,
// AgentFinishedCritic and EmptyPatchCritic, find none, here as there. APIBasedCritic shows the
// conversation to a model that classifies it, on a server of its own. The package looks at
// nothing itself: its caller has the conversation, without the values of secrets.
package critic

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	score   float64
	why     string
	service *service // that scores; nil: the score is always the same
	all     bool     // actions, and no messages
	refine  *refinement
}

// refinement says when the agent is sent back to work.
type refinement struct {
	Threshold float64 `json:"success_threshold"`
	Rounds    int     `json:"max_iterations"`
}

// KindService is the kind of a critic that asks a server. It is that of OpenHands' settings.
const KindService = "APIBasedCritic"

// The modes of a critic.
const (
	ends       = "finish_and_message"
	allActions = "all_actions"
)

// Of reads the critic of an agent, its key in the clear; nil for none. A kind that is not
// known here is an error. The client asks the server of an APIBasedCritic.
func Of(stored json.RawMessage, client *http.Client) (*Critic, error) {
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
	var err error
	switch in.Kind {
	case KindService:
		if c.service, err = serviceOf(stored, client); err != nil {
			return nil, err
		}
	case "PassCritic":
		c.score, c.why = 1, "PassCritic always succeeds"
	case "EmptyPatchCritic":
		c.why = "Git patch is empty or missing"
	case "AgentFinishedCritic":
		c.why = "Agent did not produce a non-empty git patch. Empty git patch"
	default:
		return nil, fmt.Errorf("there is no critic of the kind %q here; use AgentFinishedCritic, APIBasedCritic, EmptyPatchCritic or PassCritic", in.Kind)
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

// Asks reports whether the critic shows the conversation to a server.
func (c *Critic) Asks() bool { return c != nil && c.service != nil }

// Evaluate scores the work, and says why. Only a critic that asks a server looks at the
// trace.
func (c *Critic) Evaluate(ctx context.Context, t Trace) (*event.CriticResult, error) {
	if c.service == nil {
		return &event.CriticResult{Score: c.score, Message: c.why}, nil
	}
	return c.service.score(ctx, t)
}

// Refine returns what an agent with that result is told that has to continue, after so many
// times; "" if it need not.
func (c *Critic) Refine(r *event.CriticResult, done int) string {
	if c == nil || c.refine == nil || r == nil || done >= c.refine.Rounds {
		return ""
	}
	if r.Score >= c.refine.Threshold && (c.service == nil || !c.service.faulty(r)) {
		return ""
	}
	text := refineText
	if c.service != nil {
		before, after, _ := strings.Cut(strings.TrimSpace(refineText), "\n\n")
		if found := findings(r); found != "" {
			before += "\n\n" + strings.TrimSpace(found)
		}
		text = before + "\n\n" + after
	}
	score := strconv.FormatFloat(r.Score*100, 'f', 1, 64)
	return strings.NewReplacer("{{iteration}}", strconv.Itoa(done+1), "{{score}}", score).Replace(text)
}
