package conversation

import (
	"context"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Append takes a message of the user into the log. With run, a run follows; if
// one goes on, that one answers, and the message follows its step in flight.
//
// Unlike with Send, actions may wait for confirmation: with run they are accepted,
// without they go on waiting. A message that came in before the run ended in a
// question, a pause or an interrupt is taken and not answered: it neither
// approves what nobody had asked yet, nor starts again what was stopped.
func (c *Conversation) Append(ctx context.Context, content []event.Content, sender string, run bool) error {
	return c.deliver(&delivery{ctx: ctx, content: content, sender: sender, run: run, always: true, taken: make(chan error, 1)})
}

// take writes a message into the log. One that was appended sets the status of a
// run that has ended back, and tells its id, as OpenHands does.
func (c *Conversation) take(d *delivery) error {
	if !d.always {
		return c.userMessage(d.content, d.sender)
	}
	switch c.dir.State.Status {
	case event.Finished, event.Stuck:
		if err := c.setStatus(event.Idle); err != nil {
			return err
		}
	}
	if err := c.userMessage(d.content, d.sender); err != nil {
		return err
	}
	return c.update("last_user_message_id", c.dir.State.LastUserMessageID)
}

// plainText is the texts of a message without its images.
func plainText(content []event.Content) string {
	var b strings.Builder
	for _, item := range content {
		b.WriteString(item.Text)
	}
	return b.String()
}
