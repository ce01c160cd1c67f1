// Package chat is the dialect of OpenAI's chat completions, which most
// providers, proxies and local servers speak: OpenHands' way to write it, down
// to where LiteLLM wants its cache markers.
package chat

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Dialect is chat completions as one provider takes them.
type Dialect struct {
	// MaxTokens is the name of the output limit: max_tokens, or OpenAI's newer
	// max_completion_tokens.
	MaxTokens string
	// TopK is sent; OpenAI itself knows no such thing.
	TopK bool
	// Sessions are sent: OpenRouter serves the calls of one from the same cache.
	Sessions bool
	// UsageCost asks OpenRouter to say what the call cost.
	UsageCost bool
	// NoStreamOptions leaves out stream_options, which strict servers refuse;
	// they send the usage unasked.
	NoStreamOptions bool
	// NoNames leaves out the name of a tool's message.
	NoNames bool
	// RandomSeed is Mistral's name for seed.
	RandomSeed bool
	// PlainSchemas takes $schema and $id out of the schemas of tools.
	PlainSchemas bool
	// MarksInside puts the cache marker of a tool's message into its content,
	// where OpenRouter looks; LiteLLM looks beside it.
	MarksInside bool
	// ThinkTags sends thoughts back in the content, in the marks in which MiniMax
	// sends them: its models work worse without.
	ThinkTags bool
	// Details is OpenRouter's reasoning_details: what the model's maker wants
	// back of its thoughts. See details.go.
	Details Vendor
	// Signatures is where the signatures of Gemini's thoughts go.
	Signatures Signatures
}

type request struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Tools               []tool         `json:"tools,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	Usage               *usageOptions  `json:"usage,omitempty"`
	MaxTokens           int64          `json:"max_tokens,omitempty"`
	MaxCompletionTokens int64          `json:"max_completion_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	TopP                *float64       `json:"top_p,omitempty"`
	TopK                *float64       `json:"top_k,omitempty"`
	Seed                *int64         `json:"seed,omitempty"`
	RandomSeed          *int64         `json:"random_seed,omitempty"`
	Stop                []string       `json:"stop,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	Thinking            *thinkingBlock `json:"thinking,omitempty"`
	CacheKey            string         `json:"prompt_cache_key,omitempty"`
	CacheRetention      string         `json:"prompt_cache_retention,omitempty"`
	Progress            bool           `json:"return_progress,omitempty"` // llama.cpp
	SessionID           string         `json:"session_id,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type usageOptions struct {
	Include bool `json:"include"`
}

type thinkingBlock struct {
	Type   string `json:"type"`
	Budget int64  `json:"budget_tokens"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type message struct {
	Role             string            `json:"role"`
	Content          any               `json:"content,omitempty"` // []part, *string, or nil for none
	ToolCalls        []toolCall        `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
	Name             string            `json:"name,omitempty"`
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []any             `json:"reasoning_details,omitempty"`
	ThinkingBlocks   []json.RawMessage `json:"thinking_blocks,omitempty"`
	CacheControl     *cacheControl     `json:"cache_control,omitempty"`
}

type part struct {
	Type         string        `json:"type"`
	Text         *string       `json:"text,omitempty"`
	ImageURL     *imageURL     `json:"image_url,omitempty"`
	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type cacheControl struct {
	Type string `json:"type"`
}

func ephemeral() *cacheControl { return &cacheControl{Type: "ephemeral"} }

type toolCall struct {
	ID       string        `json:"id"`
	Type     string        `json:"type"`
	Function functionCall  `json:"function"`
	Extra    *extraContent `json:"extra_content,omitempty"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Body encodes the body of POST .../chat/completions.
func (d Dialect) Body(c *wire.Call) ([]byte, error) {
	o := c.Options
	r := request{
		Model: c.Model, Messages: d.messages(c), Stream: true,
		Temperature: o.Temperature, TopP: o.TopP, Stop: o.Stop, ReasoningEffort: o.Effort,
		CacheKey: o.CacheKey, CacheRetention: o.CacheRetention,
	}
	if !d.NoStreamOptions {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if d.RandomSeed {
		r.RandomSeed = o.Seed
	} else {
		r.Seed = o.Seed
	}
	for _, t := range c.Tools {
		if d.PlainSchemas {
			t.Parameters = wire.PlainSchema(t.Parameters)
		}
		r.Tools = append(r.Tools, tool{Type: "function", Function: function(t)})
	}
	if d.MaxTokens == "max_completion_tokens" {
		r.MaxCompletionTokens = o.MaxOutput
	} else {
		r.MaxTokens = o.MaxOutput
	}
	if o.Thinking > 0 {
		r.Thinking = &thinkingBlock{Type: "enabled", Budget: o.Thinking}
		// A budget counts against this limit, under its older name.
		r.MaxTokens = o.MaxOutput
	}
	if d.TopK {
		r.TopK = o.TopK
	}
	if d.Sessions {
		r.SessionID = o.Session
	}
	r.Progress = o.Progress
	if d.UsageCost {
		r.Usage = &usageOptions{Include: true}
	}
	return wire.Body(r, o.Extra)
}

// imagesBehind introduces the images of tool results, which the API takes from
// users only.
const imagesBehind = "Images from the tool results above:"

func (d Dialect) messages(c *wire.Call) []message {
	out := make([]message, 0, len(c.Messages))
	var images []part
	for _, m := range c.Messages {
		if m.Role != "tool" && len(images) > 0 {
			out = append(out, imageMessage(images))
			images = nil
		}
		converted, found := d.convert(m, c.Options)
		images = append(images, found...)
		out = append(out, converted)
	}
	if len(images) > 0 {
		out = append(out, imageMessage(images))
	}
	if c.Options.CacheMarks && !c.Options.PlainContent {
		d.mark(out)
	}
	return out
}

func imageMessage(images []part) message {
	text := imagesBehind
	return message{Role: "user", Content: append([]part{{Type: "text", Text: &text}}, images...)}
}

// convert writes one message. Images of a tool result come back beside it.
func (d Dialect) convert(m event.LLMMessage, o wire.Options) (out message, images []part) {
	out = message{Role: m.Role}
	parts := contentParts(m.Content)
	switch m.Role {
	case "tool":
		parts, images = splitImages(parts)
		out.ToolCallID = d.callID(m.ToolCallID)
		if !d.NoNames {
			out.Name = m.Name
		}
	case "assistant":
		d.answer(&out, m, o)
		if len(out.ToolCalls) > 0 {
			parts = withoutBlank(parts)
		}
		if d.ThinkTags && m.ReasoningContent != "" {
			thought := "<think>" + m.ReasoningContent + "</think>"
			parts = append([]part{{Type: "text", Text: &thought}}, parts...)
		}
	}
	switch {
	case len(parts) == 0 && len(out.ToolCalls) > 0: // no content at all
	case len(parts) == 0 || isOneString(m.Role, parts, o):
		text := join(parts)
		out.Content = &text
	default:
		out.Content = parts
	}
	return out, images
}

// isOneString reports whether a content without an image goes as a string.
func isOneString(role string, parts []part, o wire.Options) bool {
	if !o.PlainContent && !o.PlainText && (!o.PlainAnswers || role != "assistant") {
		return false
	}
	for _, p := range parts {
		if p.ImageURL != nil {
			return false
		}
	}
	return true
}

// answer writes what a message of the assistant has beside its content.
func (d Dialect) answer(out *message, m event.LLMMessage, o wire.Options) {
	for i, tc := range m.ToolCalls {
		call := toolCall{ID: d.callID(tc.ID), Type: "function", Function: functionCall{Name: tc.Name, Arguments: tc.Arguments}}
		call.Extra = d.signature(i, tc)
		out.ToolCalls = append(out.ToolCalls, call)
	}
	if o.SendReasoning {
		out.ReasoningContent = m.ReasoningContent
	}
	if out.ReasoningContent == "" && (o.FillReasoning == wire.FillAll || o.FillReasoning == wire.FillCalls && len(m.ToolCalls) > 0) {
		out.ReasoningContent = " " // the least that is taken
	}
	if o.SendThinking && !o.PlainContent {
		out.ThinkingBlocks = m.ThinkingBlocks
	}
	out.ReasoningDetails = d.details(m)
}

func contentParts(content []event.Content) []part {
	parts := make([]part, 0, len(content))
	for i := range content {
		c := &content[i]
		if c.Type == event.TypeText {
			parts = append(parts, part{Type: "text", Text: &c.Text})
			continue
		}
		for _, url := range c.ImageURLs {
			parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{URL: url}})
		}
	}
	return parts
}

func splitImages(parts []part) (texts, images []part) {
	for _, p := range parts {
		if p.ImageURL != nil {
			images = append(images, p)
		} else {
			texts = append(texts, p)
		}
	}
	return texts, images
}

func withoutBlank(parts []part) []part {
	var kept []part
	for _, p := range parts {
		if p.Text == nil || strings.TrimSpace(*p.Text) != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

func join(parts []part) string {
	var texts []string
	for _, p := range parts {
		if p.Text != nil {
			texts = append(texts, *p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// mark puts the cache markers: behind the static block of the system message,
// and behind the newest message of user or tool. LiteLLM reads a tool
// message's marker beside its content.
func (d Dialect) mark(out []message) {
	if len(out) > 0 && out[0].Role == "system" {
		if parts, ok := out[0].Content.([]part); ok {
			parts[0].CacheControl = ephemeral()
		}
	}
	for i := len(out) - 1; i >= 0; i-- {
		if out[i].Role != "user" && out[i].Role != "tool" {
			continue
		}
		if parts, ok := out[i].Content.([]part); ok && (d.MarksInside || out[i].Role == "user") {
			parts[len(parts)-1].CacheControl = ephemeral()
		} else {
			out[i].CacheControl = ephemeral()
		}
		return
	}
}
