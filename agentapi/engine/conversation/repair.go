package conversation

import (
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/confirm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
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

// repair gives every action without a result an answer, so that the model learns of it and
// the action is not run again.
func (b *branch) repair(w why) error {
	for _, e := range slices.Clone(b.open) {
		if err := b.toolError(e.Body.(*event.Action), w.text, w.class); err != nil {
			return err
		}
	}
	return nil
}

// defaultReason is what the model is told when a person gives no reason.
const defaultReason = "The user rejected this action."

func (b *branch) reject(e event.Event, reason, source string) error {
	a := e.Body.(*event.Action)
	_, err := b.append(event.SourceEnvironment, &event.UserReject{
		ToolName: a.ToolName, ToolCallID: a.ToolCallID, RejectionReason: reason, RejectionSource: source, ActionID: e.ID,
	}, durable)
	return err
}

// The names of the tags in which a conversation remembers what answers.
const (
	TagProfile = "ohgwprofile" // the profile of the agent's model
	TagUsage   = "ohgwusage"   // the key of its numbers in the statistics
)

// answerOpen answers actions that nothing will run: not those that wait for a
// person, nor those at which the run was paused.
func (b *branch) answerOpen() error {
	switch b.dir.State.Status {
	case event.Waiting, event.Paused, event.Running:
		return nil
	}
	return b.repair(leftBehind)
}

func (b *branch) toolError(a *event.Action, text string, class event.Classification) error {
	_, err := b.append(event.SourceAgent, &event.AgentError{
		ToolName: a.ToolName, ToolCallID: a.ToolCallID, Error: text, Classification: &class,
	}, durable)
	return err
}

// mustAsk reports whether a person has to say yes to the actions of an answer.
func mustAsk(s store.State, actions []event.Event) bool {
	return !confirm.Exempt(actions) && slices.ContainsFunc(actions, func(e event.Event) bool {
		return confirm.Needed(s.ConfirmationPolicy, s.SecurityAnalyzer, e.Body.(*event.Action))
	})
}

// blockAction notes that a hook refuses an action, which is about to be made.
func (b *branch) blockAction(id, why string) {
	b.dir.State.BlockedActions[id] = b.cfg.Secrets.Mask(why)
}

// rejectBlocked records the actions that a hook refused, and gives the others.
func (b *branch) rejectBlocked(actions []event.Event) ([]event.Event, error) {
	s := &b.dir.State
	kept := actions[:0]
	for _, e := range actions {
		reason, blocked := s.BlockedActions[e.ID]
		if !blocked {
			kept = append(kept, e)
			continue
		}
		delete(s.BlockedActions, e.ID)
		if err := b.reject(e, reason, "hook"); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// blocked reports whether a hook refused the message that is to be answered.
func (b *branch) blocked() bool {
	s := &b.dir.State
	if _, ok := s.BlockedMessages[s.LastUserMessageID]; !ok || s.LastUserMessageID == "" {
		return false
	}
	delete(s.BlockedMessages, s.LastUserMessageID)
	return true
}
