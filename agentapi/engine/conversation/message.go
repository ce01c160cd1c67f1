package conversation

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// userMessage writes a message of the user with what belongs to it.
func (c *Conversation) userMessage(d *delivery) error {
	s := &c.branch.dir.State
	text := plainText(d.content)
	if c.cfg.Titles && s.LastUserMessageID == "" {
		defer c.entitle(c.cfg.Secrets.Mask(text))
	}
	extended, activated := c.cfg.Prompt.Message(text, s.ActivatedSkills)
	extended = append(c.branch.news(), extended...)
	id := d.id
	if id == "" {
		id = c.cfg.NewID()
	}
	added, refusal, err := c.beforeMessage(id, text)
	if err != nil {
		return err
	}
	extended = append(extended, added...)
	body := &event.Message{
		LLMMessage: message("user", d.content), ActivatedSkills: list(activated), ExtendedContent: list(extended), Sender: d.sender,
	}
	e, err := c.branch.appendAs(id, event.SourceUser, body, durable)
	if err != nil {
		return err
	}
	if refusal != "" {
		s.BlockedMessages[id] = c.cfg.Secrets.Mask(refusal)
	}
	s.LastUserMessageID, c.branch.replied = e.ID, false
	if len(activated) == 0 {
		return nil
	}
	s.ActivatedSkills = append(s.ActivatedSkills, activated...)
	return c.branch.update("activated_knowledge_skills", s.ActivatedSkills)
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

// take writes a message into the log. One that was appended sets the status of a
// run that has ended back, and tells its id, as OpenHands does.
func (c *Conversation) take(d *delivery) error {
	if !d.always {
		return c.userMessage(d)
	}
	switch c.branch.dir.State.Status {
	case event.Finished, event.Stuck:
		if err := c.branch.setStatus(event.Idle); err != nil {
			return err
		}
	}
	if err := c.userMessage(d); err != nil {
		return err
	}
	c.branch.forget(d)
	return c.branch.update("last_user_message_id", c.branch.dir.State.LastUserMessageID)
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
