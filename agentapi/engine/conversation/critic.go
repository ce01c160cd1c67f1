package conversation

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/critic"
	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/agentapi/event"
)

// The names of the member of the state in which the critic's rounds are counted, and of the
// count in it. They are OpenHands' own, and so is that it counts for the whole conversation.
const (
	keyAgentState  = "agent_state"
	keyRefinements = "iterative_refinement_iteration"
)

// criticized asks the critic about the work so far, of which the answer with that id and
// content is the last. One that fails says nothing, as in OpenHands.
func criticized(r *run, at critic.Moment, id string, content []event.Content) *event.CriticResult {
	c := r.cfg.Critic
	if !c.Wants(at) {
		return nil
	}
	var trace critic.Trace
	if c.Asks() {
		trace.Messages, trace.Tools = r.branch.view.Messages(), r.agent.offers()
		answer := message("assistant", texts(r.cfg.Secrets.Mask(event.PlainText(content))))
		trace.Messages = append(slices.Clone(trace.Messages), answer)
		for i := range r.branch.view.Len() {
			trace.Events = append(trace.Events, r.branch.view.Event(i).ID)
		}
		trace.Events = append(trace.Events, id)
	}
	var result *event.CriticResult
	var err error
	if left := r.await(context.Background(), func(j *job) { result, err = c.Evaluate(j.ctx, trace) }); left != nil {
		return nil
	}
	if err != nil {
		r.cfg.Log.Warn("the critic gives no score", "conversation", r.branch.id, "err", err)
		return nil
	}
	return result
}

// momentOf says when a critic looks at an action.
func momentOf(a *event.Action) critic.Moment {
	if a.ToolName == finishTool {
		return critic.Finish
	}
	return critic.Action
}

// refine sends the agent back to work, if the critic is not satisfied with the end of it and
// the limit is not reached. The message is one of the user, as in OpenHands.
func (r *run) refine(finish *event.Action) (again bool, err error) {
	done := refinements(r.branch.dir.State.AgentState)
	text := r.cfg.Critic.Refine(finish.CriticResult, done)
	if text == "" {
		return false, nil
	}
	state, err := object.Parse(r.branch.dir.State.AgentState)
	if err != nil {
		state = object.Object{} // it was none
	}
	counted := state.With(keyRefinements, json.RawMessage(strconv.Itoa(done+1))).JSON()
	if err := r.branch.replace(keyAgentState, counted); err != nil {
		return false, err
	}
	id := r.cfg.NewID()
	added, refusal, err := r.beforeMessage(id, text)
	if err != nil {
		return false, err
	}
	m := &event.Message{LLMMessage: message("user", texts(text)), ActivatedSkills: []string{}, ExtendedContent: list(added)}
	return true, r.branch.userMessage(id, m, strings.TrimSpace(refusal))
}

// refinements is how often an agent with that state was sent back to work.
func refinements(state json.RawMessage) int {
	var kept struct {
		Rounds int `json:"iterative_refinement_iteration"`
	}
	if err := json.Unmarshal(state, &kept); err != nil {
		return 0
	}
	return kept.Rounds
}
