// Package converse is the dialect of Amazon Bedrock's ConverseStream, with the
// binary frames that it answers in and the signature that it asks for.
package converse

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/pattern"
)

// Dialect is ConverseStream.
type Dialect struct{}

type request struct {
	System    []block    `json:"system,omitempty"`
	Messages  []message  `json:"messages"`
	Inference inference  `json:"inferenceConfig"`
	Tools     *toolList  `json:"toolConfig,omitempty"`
	Model     modelParts `json:"additionalModelRequestFields,omitzero"`
}

type inference struct {
	MaxTokens   int64    `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	Stop        []string `json:"stopSequences,omitempty"`
}

// modelParts are members that only some models know: Anthropic's, and OpenAI's
// the effort.
type modelParts struct {
	Effort       string        `json:"reasoning_effort,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Beta         []string      `json:"anthropic_beta,omitempty"`
	TopK         *int64        `json:"top_k,omitempty"`
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

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type block struct {
	Text       string      `json:"text,omitempty"`
	Image      *image      `json:"image,omitempty"`
	ToolUse    *toolUse    `json:"toolUse,omitempty"`
	ToolResult *toolResult `json:"toolResult,omitempty"`
	Reasoning  *reasoning  `json:"reasoningContent,omitempty"`
	CachePoint *cachePoint `json:"cachePoint,omitempty"`
}

type image struct {
	Format string `json:"format"`
	Source struct {
		Bytes string `json:"bytes"` // base64
	} `json:"source"`
}

type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	ID      string  `json:"toolUseId"`
	Content []block `json:"content"`
}

type reasoning struct {
	Text     *reasoningText `json:"reasoningText,omitempty"`
	Redacted string         `json:"redactedContent,omitempty"` // base64
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

type cachePoint struct {
	Type string `json:"type"`
}

type toolList struct {
	Tools []tool `json:"tools"`
}

type tool struct {
	Spec spec `json:"toolSpec"`
}

type spec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	InputSchema struct {
		JSON json.RawMessage `json:"json"`
	} `json:"inputSchema"`
}

// interleaved lets a model think between its calls when its thinking has a
// budget.
const interleaved = "interleaved-thinking-2025-05-14"

// Body encodes the body of POST .../model/MODEL/converse-stream.
func (Dialect) Body(c *wire.Call) ([]byte, error) {
	o := c.Options
	r := request{
		System: system(c.Messages), Messages: conversation(c.Messages, o.SendThinking), Tools: tools(c),
		Inference: inference{MaxTokens: o.MaxOutput, Temperature: o.Temperature, TopP: o.TopP, Stop: o.Stop},
	}
	if o.TopK != nil && strings.Contains(c.Model, "anthropic") {
		k := int64(*o.TopK)
		r.Model.TopK = &k
	}
	switch {
	case o.Adaptive && o.Effort != "none":
		r.Model.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		if o.Effort != "" {
			r.Model.OutputConfig = &outputConfig{Effort: o.Effort}
		}
	case o.Thinking > 0 && !o.Adaptive && !wire.ThinkingLost(c.Messages):
		r.Model.Thinking = &thinking{Type: "enabled", Budget: o.Thinking}
		if o.Interleaved {
			r.Model.Beta = []string{interleaved}
		}
	case o.Thinking == 0 && !o.Adaptive:
		r.Model.Effort = o.Effort
	}
	if o.CacheMarks {
		mark(&r)
	}
	return wire.Body(r, o.Extra)
}

func system(history []event.LLMMessage) []block {
	var out []block
	for _, m := range history {
		if m.Role == "system" {
			out = append(out, blocks(m.Content)...)
		}
	}
	return out
}

// unused is offered where the history has calls and the call offers no tools,
// which the API refuses.
const unused = "unused"

func tools(c *wire.Call) *toolList {
	offered := c.Tools
	if len(offered) == 0 && wire.HasCalls(c.Messages) {
		offered = []wire.Tool{{Name: unused, Description: "Do not call this.", Parameters: json.RawMessage(`{"type":"object"}`)}}
	}
	if len(offered) == 0 {
		return nil
	}
	list := &toolList{}
	for _, t := range offered {
		s := spec{Name: t.Name, Description: t.Description}
		s.InputSchema.JSON = t.Parameters
		list.Tools = append(list.Tools, tool{Spec: s})
	}
	return list
}

// conversation converts the history to turns of user and assistant, one after the
// other; tool results are part of the user's turns.
func conversation(history []event.LLMMessage, thinking bool) []message {
	out := []message{}
	for _, m := range history {
		next := message{Role: "user"}
		switch m.Role {
		case "system":
			continue
		case "assistant":
			if !thinking {
				m.ThinkingBlocks = nil
			}
			next.Role, next.Content = "assistant", answer(m)
		case "tool":
			next.Content = []block{{ToolResult: &toolResult{ID: callID(m.ToolCallID), Content: blocks(m.Content)}}}
		default:
			next.Content = blocks(m.Content)
		}
		switch {
		case len(next.Content) == 0:
		case len(out) > 0 && out[len(out)-1].Role == next.Role:
			out[len(out)-1].Content = append(out[len(out)-1].Content, next.Content...)
		default:
			out = append(out, next)
		}
	}
	return out
}

func answer(m event.LLMMessage) []block {
	var out []block
	for _, raw := range m.ThinkingBlocks {
		var t struct {
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
			Data      string `json:"data"`
		}
		if json.Unmarshal(raw, &t) != nil {
			continue
		}
		if t.Data != "" {
			out = append(out, block{Reasoning: &reasoning{Redacted: t.Data}})
		} else {
			out = append(out, block{Reasoning: &reasoning{Text: &reasoningText{Text: t.Thinking, Signature: t.Signature}}})
		}
	}
	out = append(out, blocks(m.Content)...)
	for _, tc := range m.ToolCalls {
		out = append(out, block{ToolUse: &toolUse{ID: callID(tc.ID), Name: tc.Name, Input: wire.Arguments(tc.Arguments)}})
	}
	return out
}

// blocks converts texts and images. Bedrock refuses blank texts, and takes images as
// data only.
func blocks(content []event.Content) []block {
	out := []block{}
	for _, c := range content {
		if c.Type == event.TypeText {
			if strings.TrimSpace(c.Text) != "" {
				out = append(out, block{Text: c.Text})
			}
			continue
		}
		for _, url := range c.ImageURLs {
			mediaType, data, ok := wire.DataURL(url)
			if !ok {
				out = append(out, block{Text: "[Image at " + url + "]"})
				continue
			}
			img := &image{Format: strings.TrimPrefix(mediaType, "image/")}
			img.Source.Bytes = data
			out = append(out, block{Image: img})
		}
	}
	return out
}

var notInIDs = pattern.Of(`[^a-zA-Z0-9_-]`)

// maxID is the longest id of a call that Bedrock takes.
const maxID = 64

func callID(id string) string {
	id = notInIDs().ReplaceAllString(id, "_")
	if len(id) > maxID {
		id = id[:maxID]
	}
	return id
}

// mark puts the cache points: behind the static block of the system prompt,
// and behind the newest turn of the user.
func mark(r *request) {
	point := block{CachePoint: &cachePoint{Type: "default"}}
	if len(r.System) > 0 {
		r.System = append([]block{r.System[0], point}, r.System[1:]...)
	}
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			r.Messages[i].Content = append(r.Messages[i].Content, point)
			return
		}
	}
}
