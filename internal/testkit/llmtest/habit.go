package llmtest

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

// Habit is a way in which providers write answers that OpenAI does not.
type Habit string

// The habits of providers. Those of one group exclude each other.
const (
	KeepAlive    Habit = "keepalive"     // a comment before each frame: OpenRouter
	EmptyChoices Habit = "empty-choices" // chunks without choices at the beginning and the end: Azure
	NoDone       Habit = "no-done"       // no [DONE]
	NoFinish     Habit = "no-finish"     // no finish_reason
	Whole        Habit = "whole"         // one object where a stream was asked for
	Gzip         Habit = "gzip"          // compressed, though no client asked for it: proxies

	ReasoningField   Habit = "reasoning"         // reasoning: OpenRouter, Groq, vLLM
	ReasoningDetails Habit = "reasoning-details" // reasoning_details: OpenRouter
	ThinkTags        Habit = "think-tags"        // <think> in the content: local servers
	ThinkParts       Habit = "think-parts"       // a list of parts in the content: Mistral

	UsageFloats  Habit = "usage-floats"  // 12.0
	UsageTexts   Habit = "usage-texts"   // "12"
	UsageObject  Habit = "usage-object"  // cost is an object: Perplexity
	UsageNulls   Habit = "usage-nulls"   // null for what is not counted
	UsageAlways  Habit = "usage-always"  // with each chunk, and asked for or not
	UsageNothing Habit = "usage-nothing" // a text in place of the object

	ObjectArguments Habit = "object-arguments" // tool arguments as an object, at once
	NoIndex         Habit = "no-index"         // tool calls without an index
	OneIndex        Habit = "one-index"        // each tool call has the index 0
	Signed          Habit = "signed"           // tool calls with extra_content: Google's OpenAI URL
)

// Habits are all of them.
func Habits() []Habit {
	return []Habit{
		KeepAlive, EmptyChoices, NoDone, NoFinish, Whole, Gzip,
		ReasoningField, ReasoningDetails, ThinkTags, ThinkParts,
		UsageFloats, UsageTexts, UsageObject, UsageNulls, UsageAlways, UsageNothing,
		ObjectArguments, NoIndex, OneIndex, Signed,
	}
}

// Signature is the signature that Signed adds to the call with that id. It is
// what Gemini wants back with the call.
func Signature(callID string) string { return "c2lnbmF0dXJlLW9m-" + callID }

func (c *chat) has(h Habit) bool { return slices.Contains(c.habits, h) }

// compress makes c.out; the function it returns ends what is compressed.
func (c *chat) compress() func() {
	c.out = c.w
	if !c.has(Gzip) {
		return func() {}
	}
	c.w.Header().Set("Content-Encoding", "gzip")
	zipped := gzip.NewWriter(c.w)
	c.out = zipped
	return func() { _ = zipped.Close() }
}

// flush sends off what was written.
func (c *chat) flush() error {
	if zipped, ok := c.out.(*gzip.Writer); ok {
		if err := zipped.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.w).Flush()
}

// beginning sends what comes before the first words.
func (c *chat) beginning() error {
	if c.has(EmptyChoices) {
		if err := c.frame(encode(c.completion("chat.completion.chunk"))); err != nil {
			return err
		}
	}
	return c.delta(chatContent{Role: "assistant", Content: ""})
}

// ending sends what comes behind the last words.
func (c *chat) ending(reply Reply, withUsage bool) error {
	if !c.has(NoFinish) {
		stop := reply.stop()
		if err := c.chunk(choice{Delta: &chatContent{}, FinishReason: &stop}); err != nil {
			return err
		}
	}
	if usage := c.usage(reply); (withUsage || c.has(UsageAlways)) && usage != nil {
		out := c.completion("chat.completion.chunk")
		out.Usage = usage
		if err := c.frame(encode(out)); err != nil {
			return err
		}
	}
	if c.has(EmptyChoices) {
		if err := c.frame(encode(c.completion("chat.completion.chunk"))); err != nil {
			return err
		}
	}
	if c.has(NoDone) {
		return nil
	}
	return c.frame("[DONE]")
}

// reasoning streams what the model thinks.
func (c *chat) reasoning(reply Reply) error {
	if reply.Reasoning == "" {
		return nil
	}
	if c.has(ThinkTags) {
		if err := c.delta(chatContent{Content: "<think>"}); err != nil {
			return err
		}
	}
	for piece := range words(reply.Reasoning) {
		delta := chatContent{}
		switch {
		case c.has(ThinkTags):
			delta.Content = piece
		case c.has(ThinkParts):
			delta.Content = thinkParts(piece)
		default:
			c.think(&delta, piece)
		}
		if err := c.paced(reply, delta); err != nil {
			return err
		}
	}
	if c.has(ThinkTags) {
		return c.delta(chatContent{Content: "</think>"})
	}
	return nil
}

// think adds reasoning under the provider's name for it.
func (c *chat) think(to *chatContent, reasoning string) {
	switch {
	case reasoning == "" || c.has(ThinkTags) || c.has(ThinkParts):
	case c.has(ReasoningField):
		to.Reasoning = reasoning
	case c.has(ReasoningDetails):
		to.Reasoning = reasoning
		to.ReasoningDetails = []any{map[string]any{"type": "reasoning.text", "text": reasoning, "format": "unknown", "index": 0}}
	default:
		to.ReasoningContent = reasoning
	}
}

// spoken is the content of a whole message.
func (c *chat) spoken(reasoning, text string) any {
	switch {
	case reasoning != "" && c.has(ThinkTags):
		return "<think>" + reasoning + "</think>" + text
	case reasoning != "" && c.has(ThinkParts):
		return append(thinkParts(reasoning), map[string]any{"type": "text", "text": text})
	}
	return text
}

func thinkParts(text string) []any {
	return []any{map[string]any{"type": "thinking", "thinking": []any{map[string]any{"type": "text", "text": text}}}}
}

// index is the index of the i-th call as the provider counts.
func (c *chat) index(i int) *int {
	switch {
	case c.has(NoIndex):
		return nil
	case c.has(OneIndex):
		return new(int)
	}
	return &i
}

// arguments are the arguments of a call that comes at once.
func (c *chat) arguments(args string) any {
	if c.has(ObjectArguments) && json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	return args
}

// usage returns what the reply cost, nil if the provider does not say.
func (c *chat) usage(reply Reply) any {
	u := reply.usage()
	if u == (Usage{}) {
		return nil
	}
	number := func(n int) any { return n }
	var cost any
	switch {
	case c.has(UsageNothing):
		return "unknown"
	case c.has(UsageFloats):
		number = func(n int) any { return json.RawMessage(strconv.Itoa(n) + ".0") }
		cost = 0.25
	case c.has(UsageTexts):
		number = func(n int) any { return strconv.Itoa(n) }
		cost = "0.25"
	case c.has(UsageObject):
		cost = map[string]float64{"input_tokens_cost": 0.2, "output_tokens_cost": 0.05, "total_cost": 0.25}
	}
	out := map[string]any{
		"prompt_tokens": number(u.Prompt), "completion_tokens": number(u.Completion), "total_tokens": number(u.Prompt + u.Completion),
		"prompt_tokens_details":     map[string]any{"cached_tokens": number(u.Cached)},
		"completion_tokens_details": map[string]any{"reasoning_tokens": number(u.Reasoning)},
	}
	if cost != nil {
		out["cost"] = cost
	}
	if c.has(UsageNulls) {
		out["prompt_tokens_details"], out["completion_tokens_details"], out["cost"] = nil, nil, nil
	}
	return out
}
