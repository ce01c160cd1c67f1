package conversation

import (
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/masked"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// estimate is the size of a request whose provider counts no tokens.
func (a *agent) estimate(req llm.Request) int64 {
	var w view.Weight
	for i := range a.branch.view.Len() {
		w.Bytes += a.branch.view.Weight(i).Bytes
		w.Images += a.branch.view.Weight(i).Images
	}
	for _, t := range req.Tools {
		w.Bytes += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return w.Tokens(perImage(a.branch.model))
}

// calibrate notes what a request that was estimated at so many tokens has, besides what a
// template adds to each message. A server may leave out what it has cached, so an
// estimate is lowered little.
func (a *agent) calibrate(estimate, tokens int64) {
	const least, most = 0.8, 4
	tokens -= perMessage * int64(a.branch.view.Len())
	if estimate > 0 && tokens > 0 {
		a.density = min(most, max(least, float64(tokens)/float64(estimate)))
	}
}

// scaled is an estimate as far as earlier ones were wrong.
func (a *agent) scaled(estimate int64) int64 {
	if a.density == 0 {
		return estimate
	}
	return int64(float64(estimate) * a.density)
}

// weighEvent is what an event of the view takes of a request.
func (a *agent) weighEvent(i int) int64 {
	return a.scaled(a.branch.view.Weight(i).Tokens(perImage(a.branch.model))) + perMessage
}

// earlier is what a request has besides what can never leave.
func (a *agent) earlier() (tokens int64) {
	_, to := a.branch.view.Asked()
	for i := range a.branch.view.Len() {
		if _, system := a.branch.view.Event(i).Body.(*event.SystemPrompt); !system && i != to-1 {
			tokens += a.weighEvent(i)
		}
	}
	return tokens
}

// question is what the message that is to be answered takes of a request.
func (a *agent) question() (tokens int64) {
	if _, to := a.branch.view.Asked(); to > 0 {
		return a.weighEvent(to - 1)
	}
	return 0
}

// fixed is what a request has that can never leave, with a question of so many tokens.
func (a *agent) fixed(question int64) int64 {
	tools := 0
	for _, t := range a.offers() {
		tools += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	n := a.scaled(view.Weight{Bytes: tools}.Tokens(0)) + question
	if a.branch.view.Len() > 0 {
		if _, ok := a.branch.view.Event(0).Body.(*event.SystemPrompt); ok {
			n += a.weighEvent(0)
		}
	}
	return n
}

func weightOf(content []event.Content) (w view.Weight) {
	for _, item := range content {
		w.Bytes += len(item.Text)
		w.Images += len(item.ImageURLs)
	}
	return w
}

// weight is the estimated size of the next request.
func (a *agent) weight() int64 {
	return a.estimate(llm.Request{Tools: a.offers()})
}

// promptTokens is the size of the next request: as the provider has counted the
// last one, else estimated.
func (a *agent) promptTokens() int64 {
	if a.branch.tokens > 0 {
		return a.branch.tokens
	}
	if tokens := a.branch.stats.LastTurn(a.choice.Usage); tokens > 0 {
		return tokens
	}
	return a.weight()
}

// unknownImage is what an image counts, in tokens, for a model whose count per image is
// not known.
const unknownImage = 2000

// perImage is what an image counts for a model, in tokens.
func perImage(m llm.Model) int64 {
	if m == nil {
		return unknownImage
	}
	info := m.Info()
	if info.Vision && info.ImageTokens == 0 {
		return unknownImage
	}
	return info.ImageTokens
}

// inputLimit returns how many tokens a request may have; 0 if that is not known.
func inputLimit(info llm.Info) int64 {
	switch {
	case info.MaxOutput == 0 && info.Served:
		return info.ContextWindow - min(info.ContextWindow/answerPart, answerMost)
	case info.ContextWindow > 2*info.MaxOutput:
		return info.ContextWindow - info.MaxOutput
	}
	return info.ContextWindow / 2
}

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
