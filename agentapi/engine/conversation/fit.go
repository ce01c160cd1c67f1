package conversation

import "github.com/ohgw/ohgw/agentapi/event"

// systemPrompt is the system prompt for the model at hand.
func (c *Conversation) systemPrompt() *event.SystemPrompt { return c.prompt(c.small()) }

// prompt is the system prompt of a size.
func (c *Conversation) prompt(small bool) *event.SystemPrompt {
	system := c.cfg.Prompt.System
	if small {
		system = c.cfg.Prompt.Small
	}
	static, dynamic := system(c.tools.defs, c.branch.model.Info().Model)
	p := &event.SystemPrompt{SystemPrompt: event.Text(static)}
	if dynamic != "" {
		text := event.Text(dynamic)
		p.DynamicContext = &text
	}
	return p
}

// fitPrompt shows a model with a small context the small system prompt where the log has
// the full one: the server had not told its context when the conversation began, or the
// conversation has come from a larger model. The log is not changed, and a prompt that is
// not ours stays.
func (c *Conversation) fitPrompt() {
	if c.branch.fitted || !c.small() || c.branch.view.Len() == 0 {
		return
	}
	c.branch.fitted = true
	first := c.branch.view.Event(0)
	stored, ok := first.Body.(*event.SystemPrompt)
	if !ok {
		return
	}
	full := masked(c.cfg.Secrets, c.prompt(false)).(*event.SystemPrompt)
	if stored.SystemPrompt.Text != full.SystemPrompt.Text {
		return
	}
	first.Body = masked(c.cfg.Secrets, c.prompt(true))
	c.branch.view.Replace(0, first)
	c.branch.tokens = 0
}
