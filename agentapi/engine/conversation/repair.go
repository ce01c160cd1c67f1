package conversation

import (
	"encoding/json"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// why is a reason for which an action never got its result.
type why struct {
	text  string
	class event.Classification
}

var (
	leftBehind = why{
		"This call has no result here: what ran it was stopped, or the conversation was copied before it ended. How far it got is not known; check before you repeat it.",
		internal,
	}
	stopped = why{
		"This call was interrupted by the user before it ended. How far it got is not known; check before you repeat it.",
		agentAction,
	}
)

// repair answers every action that has no result, so that the model can be
// told of it, and nobody runs it again.
func (c *Conversation) repair(w why) error {
	for _, e := range slices.Clone(c.open) {
		if err := c.toolError(e.Body.(*event.Action), w.text, w.class); err != nil {
			return err
		}
	}
	return nil
}

// defaultReason is what the model is told when a person gives no reason.
const defaultReason = "The user rejected this action."

// decide answers what waits for a confirmation.
func (c *Conversation) decide(d agentapi.Decision) error {
	switch {
	case c.dir.State.Status == event.Running || c.door.wanted:
		return &agentapi.Error{Kind: agentapi.ErrBusy, Msg: "The conversation is running; wait until it is done."}
	case c.dir.State.Status != event.Waiting:
		return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "Nothing in this conversation waits for a decision.", Err: agentapi.ErrNothingWaits}
	case d.Accept:
		c.door.wanted = true
		return nil
	}
	reason := d.Reason
	if reason == "" {
		reason = defaultReason
	}
	for _, e := range slices.Clone(c.open) {
		if err := c.reject(e, reason, "user"); err != nil {
			return c.storageError(err)
		}
	}
	if err := c.setStatus(event.Idle); err != nil {
		return c.storageError(err)
	}
	return c.storageError(c.save(durable))
}

func (c *Conversation) reject(e event.Event, reason, source string) error {
	a := e.Body.(*event.Action)
	_, err := c.append(event.SourceEnvironment, &event.UserReject{
		ToolName: a.ToolName, ToolCallID: a.ToolCallID, RejectionReason: reason, RejectionSource: source, ActionID: e.ID,
	}, durable)
	return err
}

// use makes another profile answer from now on.
func (c *Conversation) use(choice Choice, agent json.RawMessage, model llm.Model) error {
	s := &c.dir.State
	tags := map[string]string{}
	for name, value := range s.Tags {
		tags[name] = value
	}
	tags[TagProfile], tags[TagUsage] = choice.Profile, choice.Usage
	if choice.Profile == "" { // the stored agent says which model it is
		delete(tags, TagProfile)
		delete(tags, TagUsage)
	}
	old := *s
	s.Agent, s.Tags = agent, tags
	if err := c.save(durable); err != nil {
		*s = old
		return c.storageError(err)
	}
	c.choice = choice
	c.setModel(model)
	return nil
}

// confirm stores the policy of a mode, and an analyzer if it needs one and there
// is none.
func (c *Conversation) confirm(mode agentapi.Confirmation) error {
	s := &c.dir.State
	old := *s
	s.ConfirmationPolicy = mode.Policy()
	if mode == agentapi.ConfirmRisky && !agentapi.Rated(s.SecurityAnalyzer) {
		s.SecurityAnalyzer = json.RawMessage(agentapi.AnalyzerLLM)
	}
	if err := c.save(durable); err != nil {
		*s = old
		return c.storageError(err)
	}
	return c.update("confirmation_policy", s.ConfirmationPolicy)
}

// The names of the tags in which a conversation remembers what answers.
const (
	TagProfile = "ohgwprofile" // the profile of the agent's model
	TagUsage   = "ohgwusage"   // the key of its numbers in the statistics
)
