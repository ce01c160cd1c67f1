package conversation

import (
	"github.com/ohgw/ohgw/agentapi/engine/masked"
	"github.com/ohgw/ohgw/agentapi/event"
)

// PromptSize is how much the agent is told about its work and its tools.
type PromptSize string

// The sizes.
const (
	AutoPrompt  PromptSize = ""      // by the context that the model's server gives it
	FullPrompt  PromptSize = "full"  // about 4,000 tokens with the usual tools
	SmallPrompt PromptSize = "small" // below 1,500
)

// small reports whether the model is told the least.
func (a *agent) small() bool {
	if a.cfg.PromptSize != AutoPrompt || a.branch.model == nil {
		return a.cfg.PromptSize == SmallPrompt
	}
	return a.branch.model.Info().Small()
}

// systemPrompt is the system prompt for the model at hand.
func (a *agent) systemPrompt() *event.SystemPrompt { return a.prompt(a.small()) }

// prompt is the system prompt of a size.
func (a *agent) prompt(small bool) *event.SystemPrompt {
	system := a.cfg.Prompt.System
	if small {
		system = a.cfg.Prompt.Small
	}
	static, dynamic := system(a.tools.Definitions(), a.branch.model.Info().Model)
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
func (a *agent) fitPrompt() {
	if a.small() {
		a.branch.fit(a.prompt)
	}
}

// fit replaces the system prompt of the current path by the small one, once. A stored
// prompt that differs from today's full one stays.
func (b *branch) fit(prompt func(small bool) *event.SystemPrompt) {
	if b.fitted || b.view.Len() == 0 {
		return
	}
	b.fitted = true
	first := b.view.Event(0)
	stored, ok := first.Body.(*event.SystemPrompt)
	if !ok {
		return
	}
	full := masked.Body(b.cfg.Secrets, prompt(false)).(*event.SystemPrompt)
	if stored.SystemPrompt.Text != full.SystemPrompt.Text {
		return
	}
	first.Body = masked.Body(b.cfg.Secrets, prompt(true))
	b.view.Replace(0, first)
	b.tokens = 0
}
