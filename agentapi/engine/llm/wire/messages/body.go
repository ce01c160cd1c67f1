// Package messages is the dialect of Anthropic's Messages API. Thinking blocks
// go back as they came, byte for byte: their signatures are checked.
package messages

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/pattern"
)

// Dialect is the Messages API.
type Dialect struct{}

// Version is the value of the header anthropic-version that all this is of.
const Version = "2023-06-01"

// Interleaved is the value of the header anthropic-beta that lets a model
// think between its tool calls when its thinking has a budget.
const Interleaved = "interleaved-thinking-2025-05-14"

// defaultMaxOutput is sent where nothing is known: the API wants a limit.
const defaultMaxOutput = 8192

type request struct {
	Model         string        `json:"model"`
	MaxTokens     int64         `json:"max_tokens"`
	System        []block       `json:"system,omitempty"`
	Messages      []message     `json:"messages"`
	Tools         []tool        `json:"tools,omitempty"`
	Stream        bool          `json:"stream"`
	Temperature   *float64      `json:"temperature,omitempty"`
	TopP          *float64      `json:"top_p,omitempty"`
	TopK          *int64        `json:"top_k,omitempty"`
	StopSequences []string      `json:"stop_sequences,omitempty"`
	Thinking      *thinking     `json:"thinking,omitempty"`
	OutputConfig  *outputConfig `json:"output_config,omitempty"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int64  `json:"budget_tokens,omitempty"`
	// Display is summarized: models since Opus 4.7 say nothing of their thoughts else.
	Display string `json:"display,omitempty"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"` // *block, or a thinking block as it came
}

type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Source       *source         `json:"source,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      []*block        `json:"content,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

func ephemeral() *cacheControl { return &cacheControl{Type: "ephemeral"} }

// Body encodes the body of POST .../v1/messages.
func (Dialect) Body(c *wire.Call) ([]byte, error) {
	o := c.Options
	r := request{
		Model: c.Model, MaxTokens: o.MaxOutput, Messages: conversation(c.Messages), Stream: true,
		Temperature: o.Temperature, TopP: o.TopP, StopSequences: o.Stop,
		System: system(c.Messages), Tools: tools(c),
	}
	if r.MaxTokens == 0 {
		r.MaxTokens = defaultMaxOutput
	}
	if o.TopK != nil {
		k := int64(*o.TopK)
		r.TopK = &k
	}
	switch {
	case o.Adaptive && o.Effort == "none":
		r.Thinking = &thinking{Type: "disabled"}
	case o.Adaptive:
		r.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		if o.Effort != "" {
			r.OutputConfig = &outputConfig{Effort: o.Effort}
		}
	case o.Thinking > 0 && o.Thinking < r.MaxTokens && !wire.ThinkingLost(c.Messages):
		r.Thinking = &thinking{Type: "enabled", Budget: o.Thinking}
	}
	if o.CacheMarks {
		mark(&r)
	}
	return wire.Body(r, o.Extra)
}

func system(history []event.LLMMessage) []block {
	var blocks []block
	for _, m := range history {
		if m.Role != "system" {
			continue
		}
		for _, c := range m.Content {
			if c.Type == event.TypeText && strings.TrimSpace(c.Text) != "" {
				blocks = append(blocks, block{Type: "text", Text: c.Text})
			}
		}
	}
	return blocks
}

// unused is offered where the history has calls and the call offers no tools,
// which the API refuses.
const unused = "unused"

func tools(c *wire.Call) []tool {
	var out []tool
	for _, t := range c.Tools {
		out = append(out, tool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters})
	}
	if len(out) == 0 && wire.HasCalls(c.Messages) {
		out = append(out, tool{Name: unused, Description: "Do not call this.", InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return out
}

// conversation converts the history to turns of user and assistant, one after the
// other; tool results are part of the user's turns.
func conversation(history []event.LLMMessage) []message {
	var out []message
	for _, m := range history {
		role, content := "user", []any(nil)
		switch m.Role {
		case "system":
			continue
		case "assistant":
			role, content = "assistant", answer(m)
		case "tool":
			content = []any{&block{Type: "tool_result", ToolUseID: callID(m.ToolCallID), Content: blocks(m.Content)}}
		default:
			for _, b := range blocks(m.Content) {
				content = append(content, b)
			}
		}
		switch {
		case len(content) == 0:
		case len(out) > 0 && out[len(out)-1].Role == role:
			last := &out[len(out)-1]
			last.Content = append(last.Content, content...)
		default:
			out = append(out, message{Role: role, Content: content})
		}
	}
	return out
}

func answer(m event.LLMMessage) []any {
	var content []any
	for _, raw := range m.ThinkingBlocks {
		content = append(content, raw)
	}
	for _, b := range blocks(m.Content) {
		content = append(content, b)
	}
	for _, tc := range m.ToolCalls {
		content = append(content, &block{
			Type: "tool_use", ID: callID(tc.ID), Name: tc.Name, Input: wire.Arguments(tc.Arguments),
		})
	}
	return content
}

// blocks converts texts and images; the API refuses blank texts.
func blocks(content []event.Content) []*block {
	var out []*block
	for _, c := range content {
		if c.Type == event.TypeText {
			if strings.TrimSpace(c.Text) != "" {
				out = append(out, &block{Type: "text", Text: c.Text})
			}
			continue
		}
		for _, url := range c.ImageURLs {
			out = append(out, &block{Type: "image", Source: image(url)})
		}
	}
	return out
}

func image(url string) *source {
	if mediaType, data, ok := wire.DataURL(url); ok {
		return &source{Type: "base64", MediaType: mediaType, Data: data}
	}
	return &source{Type: "url", URL: url}
}

var notInIDs = pattern.Of(`[^a-zA-Z0-9_-]`)

// callID is the id of a call as the API takes it: another provider's may have
// other characters.
func callID(id string) string { return notInIDs().ReplaceAllString(id, "_") }

// mark puts the cache markers: behind the static block of the system prompt,
// and behind the newest turn of the user.
func mark(r *request) {
	if len(r.System) > 0 {
		r.System[0].CacheControl = ephemeral()
	}
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role != "user" {
			continue
		}
		content := r.Messages[i].Content
		if b, ok := content[len(content)-1].(*block); ok {
			b.CacheControl = ephemeral()
		}
		return
	}
}
