// Package responses is the dialect of OpenAI's Responses API without any state
// on the server: the whole history goes with each call, the model's encrypted
// reasoning included.
package responses

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Dialect is the Responses API.
type Dialect struct{}

type request struct {
	Model           string     `json:"model"`
	Instructions    string     `json:"instructions,omitempty"`
	Input           []any      `json:"input"`
	Tools           []tool     `json:"tools,omitempty"`
	ToolChoice      string     `json:"tool_choice,omitempty"`
	Store           bool       `json:"store"`
	Stream          bool       `json:"stream"`
	Include         []string   `json:"include,omitempty"`
	Reasoning       *reasoning `json:"reasoning,omitempty"`
	MaxOutputTokens int64      `json:"max_output_tokens,omitempty"`
	Temperature     *float64   `json:"temperature,omitempty"`
	TopP            *float64   `json:"top_p,omitempty"`
	CacheKey        string     `json:"prompt_cache_key,omitempty"`
	CacheRetention  string     `json:"prompt_cache_retention,omitempty"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"` // false must be said: it is not the default
}

type inputMessage struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content []part `json:"content"`
}

type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

type functionCall struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type callOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // a string, or []part when there are images
}

type reasoningInput struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Summary   []part `json:"summary"`
	Content   []part `json:"content,omitempty"`
	Encrypted string `json:"encrypted_content,omitempty"`
	Status    string `json:"status,omitempty"`
}

// storedItem is a reasoning item as OpenHands keeps it.
type storedItem struct {
	ID        string   `json:"id"`
	Summary   []string `json:"summary"`
	Content   []string `json:"content,omitempty"`
	Encrypted string   `json:"encrypted_content,omitempty"`
	Status    string   `json:"status,omitempty"`
}

// betweenTexts stands between the blocks of the instructions.
const betweenTexts = "\n\n---\n\n"

// Body encodes the body of POST .../responses.
func (Dialect) Body(c *wire.Call) ([]byte, error) {
	o := c.Options
	r := request{
		Model: c.Model, Input: []any{}, Stream: true, MaxOutputTokens: o.MaxOutput,
		Temperature: o.Temperature, TopP: o.TopP, CacheKey: o.CacheKey, CacheRetention: o.CacheRetention,
	}
	if o.EncryptedReasoning {
		r.Include = []string{"reasoning.encrypted_content"}
	}
	if o.Effort != "" || o.ReasoningSummary != "" {
		r.Reasoning = &reasoning{Effort: o.Effort, Summary: o.ReasoningSummary}
	}
	for _, t := range c.Tools {
		r.Tools = append(r.Tools, declared(t))
		r.ToolChoice = "auto"
	}
	var instructions []string
	for _, m := range c.Messages {
		if m.Role == "system" {
			instructions = append(instructions, texts(m.Content)...)
			continue
		}
		r.Input = append(r.Input, items(m)...)
	}
	r.Instructions = strings.Join(instructions, betweenTexts)
	return wire.Body(r, o.Extra)
}

func items(m event.LLMMessage) []any {
	switch m.Role {
	case "assistant":
		return answer(m)
	case "tool":
		return []any{callOutput{Type: "function_call_output", CallID: m.ToolCallID, Output: output(m.Content)}}
	}
	content := parts(m.Content)
	if len(content) == 0 {
		return nil
	}
	return []any{inputMessage{Type: "message", Role: "user", Content: content}}
}

func answer(m event.LLMMessage) []any {
	var out []any
	if r := reasoningOf(m.ResponsesReasoningItem); r != nil {
		out = append(out, r)
	}
	var content []part
	for _, text := range texts(m.Content) {
		content = append(content, part{Type: "output_text", Text: text})
	}
	if len(content) > 0 {
		out = append(out, inputMessage{Type: "message", Role: "assistant", Content: content})
	}
	for _, tc := range m.ToolCalls {
		id := tc.ResponsesItemID
		if id == "" {
			id = tc.ID
		}
		if !strings.HasPrefix(id, "fc") {
			id = "fc_" + id
		}
		out = append(out, functionCall{Type: "function_call", ID: id, CallID: tc.ID, Name: tc.Name, Arguments: tc.Arguments})
	}
	if len(out) == 1 && m.ResponsesReasoningItem != nil {
		return nil // reasoning that led to nothing is refused
	}
	return out
}

func reasoningOf(raw json.RawMessage) *reasoningInput {
	var stored storedItem
	if len(raw) == 0 || json.Unmarshal(raw, &stored) != nil || stored.ID == "" {
		return nil
	}
	r := &reasoningInput{Type: "reasoning", ID: stored.ID, Summary: []part{}, Encrypted: stored.Encrypted, Status: stored.Status}
	for _, s := range stored.Summary {
		r.Summary = append(r.Summary, part{Type: "summary_text", Text: s})
	}
	for _, s := range stored.Content {
		r.Content = append(r.Content, part{Type: "reasoning_text", Text: s})
	}
	return r
}

// output is the result of a call: a text, or a list when there are images.
func output(content []event.Content) any {
	list := parts(content)
	for _, p := range list {
		if p.ImageURL != "" {
			return list
		}
	}
	return strings.Join(texts(content), "\n")
}

func parts(content []event.Content) []part {
	var out []part
	for _, c := range content {
		if c.Type == event.TypeText {
			if c.Text != "" {
				out = append(out, part{Type: "input_text", Text: c.Text})
			}
			continue
		}
		for _, url := range c.ImageURLs {
			out = append(out, part{Type: "input_image", ImageURL: url, Detail: "auto"})
		}
	}
	return out
}

func texts(content []event.Content) []string {
	var out []string
	for _, c := range content {
		if c.Type == event.TypeText && c.Text != "" {
			out = append(out, c.Text)
		}
	}
	return out
}

const patchParameters = `{"type":"object","properties":{"patch":{"type":"string"}},"required":["patch"]}`

// declared is a tool as the request names it. The models of this API were trained
// with a tool apply_patch of their own, which has this parameter alone.
func declared(t wire.Tool) tool {
	if t.Name == "apply_patch" {
		return tool{Type: "function", Name: t.Name, Parameters: json.RawMessage(patchParameters)}
	}
	return tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Parameters}
}
