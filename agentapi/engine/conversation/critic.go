package conversation

import (
	"encoding/json"
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
