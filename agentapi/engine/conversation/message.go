package conversation

import (
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// accept puts a message of the user into the log, between two runs.
func (r *run) accept(d *delivery) error {
	r.beginWork()
	if err := r.branch.catchUp(); err != nil {
		return r.branch.storageError(err)
	}
	if r.branch.dir.State.Status == event.Waiting && !d.always {
		return errUndecided
	}
	if d.run || !r.branch.introduced || r.cfg.Hooks.Any(hookfile.UserPromptSubmit, "") {
		if err := r.ready(d.ctx); err != nil {
			return err
		}
	}
	if r.phase == stopping {
		return &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The conversation was interrupted before it accepted the message; send the message again."}
	}
	if err := r.branch.answerOpen(); err != nil {
		return r.branch.storageError(err)
	}
	if err := errors.Join(r.agent.introduce(), r.beginSession()); err != nil {
		return r.branch.storageError(err)
	}
	if err := r.tooLarge(d); err != nil {
		return err
	}
	return r.branch.storageError(r.take(d))
}

var errUndecided = &agentapi.Error{
	Kind: agentapi.ErrRefused,
	Msg:  "Actions of this conversation wait for a decision; accept or reject them first.",
}

// take writes a message into the log. One that was appended sets the status of a
// run that has ended back, and tells its id, as OpenHands does.
func (r *run) take(d *delivery) error {
	if !d.always {
		err := r.userMessage(d)
		switch {
		case err != nil:
		case d.goal != nil:
			r.purse.LimitGoalBy(d.meter)
		default:
			r.purse.LimitBy(d.meter)
		}
		return err
	}
	switch r.branch.dir.State.Status {
	case event.Finished, event.Stuck:
		if err := r.branch.setStatus(event.Idle); err != nil {
			return err
		}
	}
	if err := r.userMessage(d); err != nil {
		return err
	}
	r.shelf.drop(d)
	return r.branch.update("last_user_message_id", r.branch.dir.State.LastUserMessageID)
}

// userMessage writes a message of the user with what belongs to it.
func (r *run) userMessage(d *delivery) error {
	s := r.branch.dir.State
	text := plainText(d.content)
	if r.cfg.Titles && s.LastUserMessageID == "" {
		defer r.entitle(r.cfg.Secrets.Mask(text))
	}
	extended, activated := r.cfg.Prompt.Message(text, s.ActivatedSkills)
	extended = append(r.notices.take(r.branch.dir, r.cfg.Log), extended...)
	id := d.id
	if id == "" {
		id = r.cfg.NewID()
	}
	added, refusal, err := r.beforeMessage(id, text)
	if err != nil {
		return err
	}
	extended = append(extended, added...)
	body := &event.Message{
		LLMMessage: message("user", d.content), ActivatedSkills: list(activated), ExtendedContent: list(extended), Sender: d.sender,
	}
	return r.branch.userMessage(id, body, refusal)
}

// userMessage appends a message of the user, whose skills are active from now on. A hook may
// have refused it.
func (b *branch) userMessage(id string, m *event.Message, refusal string) error {
	if _, err := b.appendAs(id, event.SourceUser, m, durable); err != nil {
		return err
	}
	s := &b.dir.State
	if refusal != "" {
		s.BlockedMessages[id] = b.cfg.Secrets.Mask(refusal)
	}
	s.LastUserMessageID, b.replied = id, false
	if len(m.ActivatedSkills) == 0 {
		return nil
	}
	s.ActivatedSkills = append(s.ActivatedSkills, m.ActivatedSkills...)
	return b.update("activated_knowledge_skills", s.ActivatedSkills)
}

// plainText is the texts of a message without its images.
func plainText(content []event.Content) string {
	var b strings.Builder
	for _, item := range content {
		b.WriteString(item.Text)
	}
	return b.String()
}

// texts is content of one text, none if it is empty.
func texts(s string) []event.Content {
	if s == "" {
		return []event.Content{}
	}
	return []event.Content{event.Text(s)}
}

// message is a message in the form in which Python loads it.
func message(role string, content []event.Content) event.LLMMessage {
	return event.LLMMessage{Role: role, Content: content, ThinkingBlocks: []json.RawMessage{}}
}

// list is l, empty instead of nil: Python wants a list.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// notices are for the model and the person, with the next message of the user.
type notices struct{ texts []string }

func (n *notices) add(text string) { n.texts = append(n.texts, text) }

// take returns the notices that the log does not have, and empties the list.
func (n *notices) take(dir *store.Dir, log *slog.Logger) (content []event.Content) {
	if len(n.texts) == 0 {
		return nil
	}
	events, err := dir.Events()
	if err != nil { // then they are told once more
		log.Warn("read the log", "conversation", dir.State.ID, "err", err)
	}
	for _, text := range n.texts {
		notice := event.Notice(text)
		told := slices.ContainsFunc(events, func(e event.Event) bool {
			m, ok := e.Body.(*event.Message)
			return ok && slices.ContainsFunc(m.ExtendedContent, func(item event.Content) bool { return item.Text == notice.Text })
		})
		if !told {
			content = append(content, notice)
		}
	}
	n.texts = nil
	return content
}
