package conversation

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/critic"
	"github.com/ohgw/ohgw/agentapi/event"
)

// keyRefinements is the member of agent_state that counts how often the agent was sent
// back to work. It is OpenHands' own, and so is that it counts for the whole
// conversation.
const keyRefinements = "iterative_refinement_iteration"

//go:embed refine.md
var refineText string

// patchTime is how long the workspace may be looked at.
const patchTime = 30 * time.Second

// criticize is what the critic says of an event that is about to be made; nil without
// a critic that wants to see it. A critic that fails says nothing.
func (c *Conversation) criticize(at critic.Moment) *event.CriticResult {
	if !c.cfg.Critic.Wants(at) {
		return nil
	}
	work := critic.Work{Finished: at == critic.Finish}
	if c.cfg.Critic.NeedsPatch() && c.cfg.Changed != nil {
		var failed error
		err := c.await(context.Background(), func(j *job) {
			limited, cancel := context.WithTimeout(j.ctx, patchTime)
			defer cancel()
			work.Changed, failed = c.cfg.Changed(limited)
		})
		if err == nil {
			err = failed
		}
		if err != nil {
			c.cfg.Log.Warn("the critic cannot look at the workspace", "conversation", c.id, "err", err)
			return nil
		}
	}
	score, text := c.cfg.Critic.Evaluate(work)
	return &event.CriticResult{Score: score, Message: text}
}

// refine sends the agent back to work, if the critic is not satisfied with the end of
// it and the limit is not reached.
func (c *Conversation) refine(finish event.Event) (again bool, err error) {
	result := finish.Body.(*event.Action).CriticResult
	if result == nil {
		return false, nil
	}
	done := c.refinements()
	if !c.cfg.Critic.Refines(result.Score, done) {
		return false, nil
	}
	if err := c.remember(keyRefinements, done+1, true); err != nil {
		return false, err
	}
	text := strings.NewReplacer("{{round}}", strconv.Itoa(done+1), "{{score}}", fmt.Sprintf("%.1f", result.Score*100)).Replace(refineText)
	e, err := c.append(event.SourceUser, &event.Message{
		LLMMessage: message("user", texts(strings.TrimSpace(text))), ActivatedSkills: []string{}, ExtendedContent: []event.Content{},
	}, durable)
	if err == nil {
		c.dir.State.LastUserMessageID = e.ID
	}
	return err == nil, err
}

// refinements is how often the agent was sent back to work.
func (c *Conversation) refinements() int {
	var kept struct {
		Rounds int `json:"iterative_refinement_iteration"`
	}
	_ = json.Unmarshal(c.dir.State.AgentState, &kept) // no number: never
	return kept.Rounds
}
