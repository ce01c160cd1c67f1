// Package gemini is the dialect of Google's generateContent. Signatures of the
// model's thoughts travel in the ids of its tool calls, where LiteLLM keeps
// them too: OpenHands' events have no other place.
package gemini

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Dialect is generateContent.
type Dialect struct {
	// Levels says that the model takes a level of thinking (Gemini 3) instead
	// of a budget.
	Levels bool
}

// unsigned is Google's word for a call that another model made.
const unsigned = "skip_thought_signature_validator"

type request struct {
	System   *content   `json:"systemInstruction,omitempty"`
	Contents []content  `json:"contents"`
	Tools    []toolList `json:"tools,omitempty"`
	Config   config     `json:"generationConfig"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Text      string            `json:"text,omitempty"`
	Inline    *blob             `json:"inlineData,omitempty"`
	File      *file             `json:"fileData,omitempty"`
	Call      *functionCall     `json:"functionCall,omitempty"`
	Response  *functionResponse `json:"functionResponse,omitempty"`
	Signature string            `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

type file struct {
	URI string `json:"fileUri"`
}

type functionCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type functionResponse struct {
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
	Parts    []part            `json:"parts,omitempty"` // images; of Gemini 3
}

type toolList struct {
	Declarations []declaration `json:"functionDeclarations"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema"`
}

type config struct {
	MaxOutputTokens int64     `json:"maxOutputTokens,omitempty"`
	Temperature     *float64  `json:"temperature,omitempty"`
	TopP            *float64  `json:"topP,omitempty"`
	TopK            *float64  `json:"topK,omitempty"`
	Seed            *int64    `json:"seed,omitempty"`
	Stop            []string  `json:"stopSequences,omitempty"`
	Thinking        *thinking `json:"thinkingConfig,omitempty"`
}

type thinking struct {
	Level    string `json:"thinkingLevel,omitempty"`
	Budget   *int64 `json:"thinkingBudget,omitempty"`
	Thoughts bool   `json:"includeThoughts,omitempty"`
}

// Body encodes the body of POST .../models/MODEL:streamGenerateContent?alt=sse.
func (d Dialect) Body(c *wire.Call) ([]byte, error) {
	o := c.Options
	r := request{
		System: system(c.Messages), Contents: d.contents(c.Messages),
		Config: config{
			MaxOutputTokens: o.MaxOutput, Temperature: o.Temperature, TopP: o.TopP, TopK: o.TopK,
			Seed: o.Seed, Stop: o.Stop, Thinking: d.thinking(c.Model, o.Effort),
		},
	}
	if len(c.Tools) > 0 {
		var list toolList
		for _, t := range c.Tools {
			list.Declarations = append(list.Declarations, declaration(t))
		}
		r.Tools = []toolList{list}
	}
	return wire.Body(r, o.Extra)
}

// thinking converts an effort: to a level for Gemini 3, to tokens before.
func (d Dialect) thinking(model, effort string) *thinking {
	if effort == "" {
		return nil
	}
	if d.Levels {
		level := "high"
		switch effort {
		case "none", "minimal", "low":
			level = "low"
		case "medium":
			if !strings.Contains(model, "gemini-3-pro") { // which has two levels
				level = "medium"
			}
		}
		return &thinking{Level: level, Thoughts: true}
	}
	budget := wire.Budget(effort)
	return &thinking{Budget: &budget, Thoughts: budget > 0}
}

func system(history []event.LLMMessage) *content {
	var out content
	for _, m := range history {
		if m.Role == "system" {
			out.Parts = append(out.Parts, parts(m.Content)...)
		}
	}
	if len(out.Parts) == 0 {
		return nil
	}
	return &out
}

func (d Dialect) contents(history []event.LLMMessage) []content {
	out := []content{}
	for _, m := range history {
		next := content{Role: "user"}
		switch m.Role {
		case "system":
			continue
		case "assistant":
			next.Role = "model"
			next.Parts = d.answer(m)
		case "tool":
			next.Parts = d.result(m)
		default:
			next.Parts = parts(m.Content)
		}
		switch {
		case len(next.Parts) == 0:
		case len(out) > 0 && out[len(out)-1].Role == next.Role:
			out[len(out)-1].Parts = append(out[len(out)-1].Parts, next.Parts...)
		default:
			out = append(out, next)
		}
	}
	return out
}

// answer is the model's text and calls. Gemini 3 wants the first call of a
// step signed.
func (d Dialect) answer(m event.LLMMessage) []part {
	out := parts(m.Content)
	for i, tc := range m.ToolCalls {
		p := part{Call: &functionCall{Name: tc.Name, Args: wire.Arguments(tc.Arguments)}}
		_, p.Signature, _ = strings.Cut(tc.ID, wire.Separator)
		if p.Signature == "" && i == 0 && d.Levels {
			p.Signature = base64.StdEncoding.EncodeToString([]byte(unsigned))
		}
		out = append(out, p)
	}
	return out
}

// result converts the result of one call: its text, and its images in it where the
// model takes them there, else beside it.
func (d Dialect) result(m event.LLMMessage) []part {
	var texts []string
	var images, inside []part
	for _, p := range parts(m.Content) {
		switch {
		case p.Text != "":
			texts = append(texts, p.Text)
		case d.Levels && p.Inline != nil:
			inside = append(inside, p)
		default:
			images = append(images, p)
		}
	}
	response := part{Response: &functionResponse{Name: m.Name, Response: map[string]string{"content": strings.Join(texts, "\n")}, Parts: inside}}
	return append([]part{response}, images...)
}

func parts(list []event.Content) []part {
	var out []part
	for _, c := range list {
		if c.Type == event.TypeText {
			if c.Text != "" {
				out = append(out, part{Text: c.Text})
			}
			continue
		}
		for _, url := range c.ImageURLs {
			if mime, data, ok := wire.DataURL(url); ok {
				out = append(out, part{Inline: &blob{MimeType: mime, Data: data}})
			} else {
				out = append(out, part{File: &file{URI: url}})
			}
		}
	}
	return out
}
