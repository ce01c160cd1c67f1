package conversation

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// accept puts a message of the user into the log, between two runs.
func (r *run) accept(d *delivery) error {
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
		return r.userMessage(d)
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
	r.branch.forget(d)
	return r.branch.update("last_user_message_id", r.branch.dir.State.LastUserMessageID)
}

// userMessage writes a message of the user with what belongs to it.
func (r *run) userMessage(d *delivery) error {
	s := &r.branch.dir.State
	text := plainText(d.content)
	if r.cfg.Titles && s.LastUserMessageID == "" {
		defer r.entitle(r.cfg.Secrets.Mask(text))
	}
	extended, activated := r.cfg.Prompt.Message(text, s.ActivatedSkills)
	extended = append(r.branch.news(), extended...)
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
	e, err := r.branch.appendAs(id, event.SourceUser, body, durable)
	if err != nil {
		return err
	}
	if refusal != "" {
		s.BlockedMessages[id] = r.cfg.Secrets.Mask(refusal)
	}
	s.LastUserMessageID, r.branch.replied = e.ID, false
	if len(activated) == 0 {
		return nil
	}
	s.ActivatedSkills = append(s.ActivatedSkills, activated...)
	return r.branch.update("activated_knowledge_skills", s.ActivatedSkills)
}

// news are the notices that the log does not have.
func (b *branch) news() (content []event.Content) {
	if len(b.notices) == 0 {
		return nil
	}
	log, err := b.dir.Events()
	if err != nil { // then they are told once more
		b.cfg.Log.Warn("read the log", "conversation", b.id, "err", err)
	}
	for _, text := range b.notices {
		notice := event.Notice(text)
		told := slices.ContainsFunc(log, func(e event.Event) bool {
			m, ok := e.Body.(*event.Message)
			return ok && slices.ContainsFunc(m.ExtendedContent, func(item event.Content) bool { return item.Text == notice.Text })
		})
		if !told {
			content = append(content, notice)
		}
	}
	b.notices = nil
	return content
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
