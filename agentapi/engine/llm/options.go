package llm

import (
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/internal/optional"
)

// baseOptions makes the options that every call of the model has. dropped are those of
// the profile that the model or its provider does not take.
func (m *model) baseOptions() (o wire.Options, dropped []string) {
	p, f := &m.cfg.Profile, m.features
	o = wire.Options{
		MaxOutput: m.output, Temperature: p.Temperature, TopP: p.TopP, TopK: p.TopK, Seed: p.Seed,
		CacheMarks:   p.CachingPrompt && f.explicitCache && m.marks(),
		PlainContent: f.plainContent, PlainText: f.plainText || m.route.provider.plainText, PlainAnswers: m.route.provider.plainAnswers,
		SendReasoning: f.sendReasoning, SendThinking: m.takesThinking(),
	}
	if f.reasons && f.sendReasoning {
		o.FillReasoning = m.route.provider.fill
	}
	// OpenHands writes lists only where something needs them.
	o.PlainContent = o.PlainContent || !o.CacheMarks && !f.vision && !p.NativeToolCalling
	if f.cacheRetention && m.route.keepsCaches() {
		o.CacheRetention = optional.Or(p.PromptCacheRetention, "")
	}
	m.think(&o)
	o.Interleaved = o.Thinking > 0 && !strings.Contains(m.route.model, "claude-3-7")
	dropped = m.dropSampling(&o)
	if m.route.style == responsesStyle {
		o.EncryptedReasoning = p.EnableEncryptedReasoning && f.reasons
		if f.reasons {
			o.ReasoningSummary = optional.Or(p.ReasoningSummary, "")
		}
	}
	return o, dropped
}

// keepsCaches reports whether all of OpenAI's cache options may be sent. OpenAI's
// prefix with another URL is any server, and a strict one refuses a call with
// members that it does not know.
func (r route) keepsCaches() bool {
	return r.style == responsesStyle || r.provider.cacheKeys && (r.provider.prefix != "openai" || !r.custom)
}

// takesCacheKey reports whether the model is sent the key that groups calls. What
// stands behind a proxy is known by the model's name only.
func (m *model) takesCacheKey() bool {
	if takes, ok := m.cfg.Profile.CapabilityOverrides["supports_prompt_cache_key"].(bool); ok {
		return takes
	}
	r := m.route
	switch {
	case r.provider.proxy:
		return MakerOf(r.model) == "openai" && !strings.Contains(r.model, "gpt-oss") ||
			contains(r.model, "deepseek-chat", "deepseek-v4-pro", "deepseek-v4-flash", "kimi-k3")
	case r.style == responsesStyle:
		return r.provider.cacheKeys
	}
	return r.provider.cacheKey || r.keepsCaches()
}

// marks reports whether the dialect has cache marks.
func (m *model) marks() bool {
	return m.route.style == chatStyle || m.route.style == messagesStyle || m.route.style == converseStyle
}

// takesThinking reports whether signed thinking goes back: to Claude, and in a
// chat to LiteLLM or to something that may be one. Another model refuses what
// it did not think.
func (m *model) takesThinking() bool {
	r := m.route
	if r.style == converseStyle {
		return m.features.claude && m.features.reasons
	}
	return r.provider.proxy || r.provider.prefix == "openai" && r.custom && m.features.claude
}

// leastThinking is the smallest budget that Anthropic takes, in tokens.
const leastThinking = 1024

// think sets how much the model thinks.
func (m *model) think(o *wire.Options) {
	p, f, r := &m.cfg.Profile, m.features, m.route
	budgets := r.style == messagesStyle || r.style == converseStyle || r.style == chatStyle && r.provider.proxy
	switch {
	case f.thinking == manualThinking && budgets:
		if budget := optional.Or(p.ExtendedThinkingBudget, 0); budget > 0 && o.MaxOutput > 1 {
			o.Thinking = min(budget, o.MaxOutput-1)
		}
	case f.thinking == adaptiveThinking && r.style != chatStyle:
		o.Adaptive, o.Effort = true, optional.Or(p.ReasoningEffort, "")
	case f.reasons:
		m.setEffort(o)
	}
}

// setEffort sets how much a model thinks that has an effort and no budget, or a
// budget that follows from an effort.
func (m *model) setEffort(o *wire.Options) {
	effort, f, r := optional.Or(m.cfg.Profile.ReasoningEffort, ""), m.features, m.route
	switch {
	case f.thinking == manualThinking && r.style == chatStyle && r.custom:
		// What is in front of Claude may hand an effort on, which Claude refuses.
	case r.style == converseStyle && !f.claude:
		if strings.Contains(r.model, "gpt-oss") {
			o.Effort = effort
		}
	case r.style == messagesStyle || r.style == converseStyle:
		if budget := wire.Budget(effort); f.claude && budget > 0 {
			o.Thinking = max(budget, leastThinking)
		}
	case r.provider.takesEffort(r.model):
		o.Effort = effort
	}
}

// dropSampling takes away what the model refuses, and names what was set.
func (m *model) dropSampling(o *wire.Options) (dropped []string) {
	style := m.route.style
	sampling := m.features.sampling && m.features.thinking != manualThinking && o.Thinking == 0
	topK := sampling && m.route.provider.topK && style != responsesStyle
	seed := style == chatStyle || style == geminiStyle
	if o.Temperature != nil && !sampling {
		o.Temperature, dropped = nil, append(dropped, "temperature")
	}
	if o.TopP != nil && !sampling {
		o.TopP, dropped = nil, append(dropped, "top_p")
	}
	if o.TopK != nil && !topK {
		o.TopK, dropped = nil, append(dropped, "top_k")
	}
	if o.Seed != nil && !seed {
		o.Seed, dropped = nil, append(dropped, "seed")
	}
	return dropped
}

// The joint budget of Bedrock, and of local servers: input and output share one window.
const (
	budgetMargin  = 256
	budgetFloor   = 1024
	budgetPart    = 8 // of a small window, which is the floor there
	bytesForToken = 3 // a token has more, so this is on the safe side
)

// fitBudget lowers the output limit of a call where its input takes the room.
func (m *model) fitBudget(c *wire.Call) {
	window, served := m.size()
	if m.route.style != converseStyle && !served || window == 0 || c.Options.MaxOutput == 0 {
		return
	}
	size := 0
	for _, msg := range c.Messages {
		for _, content := range msg.Content {
			size += len(content.Text)
		}
		for _, tc := range msg.ToolCalls {
			size += len(tc.Arguments)
		}
	}
	for _, t := range c.Tools {
		size += len(t.Description) + len(t.Parameters)
	}
	room := window - int64(size/bytesForToken) - budgetMargin
	c.Options.MaxOutput = min(c.Options.MaxOutput, max(room, min(budgetFloor, window/budgetPart)))
	if c.Options.Thinking >= c.Options.MaxOutput {
		c.Options.Thinking = c.Options.MaxOutput - 1
	}
}
