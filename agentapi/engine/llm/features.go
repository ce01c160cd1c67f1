package llm

import (
	"strings"

	"github.com/ohgw/ohgw/internal/optional"
)

// thinkingMode is how a model is made to think.
type thinkingMode string

const (
	noThinking       thinkingMode = "none"
	unknownThinking  thinkingMode = "unknown"
	manualThinking   thinkingMode = "manual"   // by a budget
	adaptiveThinking thinkingMode = "adaptive" // by itself, as much as the effort says
)

// features is what a model can and wants, after the profile's overrides, the
// catalogue and OpenHands' lists, in this order.
type features struct {
	facts facts

	reasons          bool // takes an effort
	thinking         thinkingMode
	sampling         bool // takes temperature, top_p and top_k
	explicitCache    bool // wants its cache marked
	cacheRetention   bool
	stopWords        bool
	responses        bool // is called by the Responses API
	plainContent     bool // strings without cache marks, where there is no image
	plainText        bool // strings where there is no image
	sendReasoning    bool
	vision           bool
	thinkingLevels   bool // Gemini 3
	claude           bool
	exampleInHistory bool // in the text protocol
}

// featuresOf finds the features of a profile's model.
func featuresOf(p *Profile) features {
	name := p.Model
	if canonical := optional.Or(p.CanonicalName, ""); canonical != "" {
		name = canonical
	}
	raw := strings.ToLower(strings.TrimSpace(name))
	known := factsOf(raw)
	override := func(key string, otherwise bool) bool {
		if v, ok := p.CapabilityOverrides[key].(bool); ok {
			return v
		}
		return otherwise
	}
	f := features{
		facts:            known,
		reasons:          override("supports_reasoning_effort", known.reasons),
		cacheRetention:   override("supports_prompt_cache_retention", keepsCache(raw)),
		stopWords:        override("supports_stop_words", !contains(raw, "o1", "o3", "grok-4", "grok-3-mini", "grok-code-fast", "deepseek-r1-0528", "perplexity/", "openai.gpt-")), // the last one at Bedrock
		plainText:        contains(raw, "deepseek-v3.2", "glm", "groq/kimi-k2-instruct", "openrouter/minimax"),
		sendReasoning:    sendsReasoning(raw),
		vision:           override("supports_vision", known.vision),
		claude:           strings.Contains(raw, "claude"),
		thinkingLevels:   strings.Contains(raw, "gemini-3"),
		exampleInHistory: !contains(raw, "openhands-lm", "devstral", "nemotron"),
	}
	f.thinking = thinkingOf(p, raw, known)
	// Gemini's explicit marks switch off its own, better cache.
	f.explicitCache = override("supports_prompt_cache", f.claude && !strings.Contains(raw, "gemini") && !refusesCache(p, raw))
	f.sampling = override("supports_sampling_params", !known.noSampling && (!f.reasons || strings.Contains(raw, "gemini")))
	f.responses = usesResponses(p, raw, known, override)
	if p.ForceStringSerializer != nil {
		f.plainContent, f.plainText = *p.ForceStringSerializer, false
	}
	if strings.HasPrefix(p.Model, "bedrock/") && strings.Contains(raw, "claude-3-5-haiku") {
		f.vision = false // there it reads text only
	}
	if p.DisableVision != nil && *p.DisableVision {
		f.vision = false
	}
	return f
}

// refusesCache recognizes Claude's models that cannot cache, or not at Bedrock.
func refusesCache(p *Profile, raw string) bool {
	if contains(raw, "claude-3-sonnet", "claude-2", "claude-v2", "claude-instant") {
		return true
	}
	return strings.HasPrefix(p.Model, "bedrock/") && contains(raw, "claude-3-opus", "claude-3-haiku", "claude-3-5-sonnet-20240620")
}

func thinkingOf(p *Profile, raw string, known facts) thinkingMode {
	if mode, ok := p.CapabilityOverrides["thinking_mode"].(string); ok {
		switch m := thinkingMode(mode); m {
		case adaptiveThinking, manualThinking, noThinking, unknownThinking:
			return m
		}
	}
	switch {
	case known.adaptive:
		return adaptiveThinking
	case contains(raw, "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-sonnet-4.5", "claude-haiku-4.5"):
		return manualThinking
	case known.reasons:
		return unknownThinking
	}
	return noThinking
}

func usesResponses(p *Profile, raw string, known facts, override func(string, bool) bool) bool {
	switch p.APIMode {
	case "chat":
		return false
	case "responses":
		return true
	}
	return override("supports_responses_api", known.responses || known.match == "" && contains(raw, "gpt-5", "gpt-6", "codex-mini-latest"))
}

// sendsReasoning lists the models that want their own reasoning texts back.
func sendsReasoning(raw string) bool {
	return contains(raw, "kimi-k3", "kimi-k2-thinking", "kimi-k2.5", "kimi-k2.6", "openrouter/minimax-m2",
		"deepseek/deepseek-reasoner", "deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-flash", "deepseek/deepseek-v4.1-flash")
}

// keepsCache reports whether a model takes prompt_cache_retention: ordered rules
// of OpenHands, of which the last that matches decides.
func keepsCache(raw string) bool {
	decided := false
	for _, rule := range []struct {
		part  string
		keeps bool
	}{{"gpt-5", true}, {"gpt-4.1", true}, {"mini", false}, {"gpt-5.1-codex-mini", true}, {"azure/", false}} {
		if strings.Contains(raw, rule.part) {
			decided = rule.keeps
		}
	}
	return decided
}

func contains(s string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// The limits where the catalogue or the profile leave a choice, in tokens.
const (
	longAnswer = 64_000  // of models that could write more than is useful
	capOutput  = 16_384  // where a server may allow less than the model
	capO3      = 100_000 // of o3, whatever is asked for
	minWindow  = 16_384  // below it an agent cannot work
)

// maxOutput chooses the output limit of a profile; 0 if none is known. A local server
// has a window of its own, of which the catalogue's limit would take too much: it
// knows best how much room there is.
func maxOutput(p *Profile, known facts, window int64, local bool) int64 {
	limit := optional.Or(p.MaxOutputTokens, 0)
	if limit == 0 && !local {
		switch {
		case contains(p.Model, "claude-3-7-sonnet", "claude-sonnet-4", "kimi-k2-thinking"):
			limit = longAnswer
		default:
			limit = known.output
			if window > 0 && limit >= window {
				limit = window / 2
			}
			if hasBaseURL(p) && !strings.HasPrefix(p.Model, "litellm_proxy/") {
				limit = min(limit, capOutput)
			}
		}
	}
	if strings.Contains(p.Model, "o3") && (limit == 0 || limit > capO3) {
		limit = capO3
	}
	return limit
}

// Sees reports whether a model, named as in a profile, is shown images, if that
// is known.
func Sees(model string) (sees, known bool) {
	f := factsOf(strings.ToLower(strings.TrimSpace(model)))
	return f.vision, f.match != ""
}
