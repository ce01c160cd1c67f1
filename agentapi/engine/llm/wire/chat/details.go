package chat

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/optional"
)

// This file keeps what makers of models want back of their thoughts, in the
// places that OpenHands' events have for it: signed blocks among the thinking
// blocks, Gemini's signatures in the ids of the calls (where LiteLLM keeps them
// too), encrypted reasoning as a reasoning item. So a conversation can go on
// with the same maker by another way.

// Vendor is the maker of a model behind OpenRouter.
type Vendor string

// The makers whose thoughts go back; the empty Vendor is any other.
const (
	Anthropic Vendor = "anthropic-claude-v1"
	Google    Vendor = "google-gemini-v1"
	OpenAI    Vendor = "openai-responses-v1"
	XAI       Vendor = "xai-responses-v1"
)

// Signatures is where the signatures of Gemini's thoughts are sent.
type Signatures int

// The places. Whatever the place, a signature that comes is kept.
const (
	InIDs   Signatures = iota // as they are kept: LiteLLM's proxy takes them apart itself
	Beside                    // in the ids, and beside the calls: it may be Google or LiteLLM
	Apart                     // beside the calls only: Google's own URL
	Dropped                   // nowhere: in the details, or no Gemini
)

// unsigned is Google's word for a call that another model made.
const unsigned = "skip_thought_signature_validator"

type extraContent struct {
	Google struct {
		Signature string `json:"thought_signature"`
	} `json:"google"`
}

// callID is the id of a call as it is sent.
func (d Dialect) callID(id string) string {
	if d.Signatures == Apart || d.Signatures == Dropped {
		id, _, _ = strings.Cut(id, wire.Separator)
	}
	return id
}

// signature returns what stands beside the i-th call of an answer: its signature, or
// for the first the word that there is none.
func (d Dialect) signature(i int, tc event.ToolCall) *extraContent {
	if d.Signatures != Beside && d.Signatures != Apart {
		return nil
	}
	_, signature, signed := strings.Cut(tc.ID, wire.Separator)
	switch {
	case signed:
	case i == 0 && d.Signatures == Apart:
		signature = base64.StdEncoding.EncodeToString([]byte(unsigned))
	default:
		return nil
	}
	extra := &extraContent{}
	extra.Google.Signature = signature
	return extra
}

// detail is an element of OpenRouter's reasoning_details.
type detail struct {
	Type      string  `json:"type"` // reasoning.text, reasoning.encrypted, reasoning.summary
	ID        *string `json:"id,omitempty"`
	Text      string  `json:"text,omitempty"`
	Summary   string  `json:"summary,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`
	Format    Vendor  `json:"format,omitempty"`
	Index     int     `json:"index"`
}

// details returns the thoughts of an answer as its maker wants them back.
func (d Dialect) details(m event.LLMMessage) (out []any) {
	add := func(one detail) {
		one.Format, one.Index = d.Details, len(out)
		out = append(out, one)
	}
	switch d.Details {
	case Anthropic:
		for _, raw := range m.ThinkingBlocks {
			var block struct {
				Thinking  string `json:"thinking"`
				Signature string `json:"signature"`
				Data      string `json:"data"`
			}
			if json.Unmarshal(raw, &block) != nil {
				continue
			}
			if block.Data != "" {
				add(detail{Type: "reasoning.encrypted", Data: block.Data})
			} else {
				add(detail{Type: "reasoning.text", Text: block.Thinking, Signature: block.Signature})
			}
		}
	case Google:
		for _, tc := range m.ToolCalls {
			if id, signature, signed := strings.Cut(tc.ID, wire.Separator); signed {
				add(detail{Type: "reasoning.encrypted", ID: &id, Data: signature})
			}
		}
	case OpenAI, XAI:
		item := storedItem{}
		if json.Unmarshal(m.ResponsesReasoningItem, &item) != nil || item.Encrypted == "" {
			return nil
		}
		add(detail{Type: "reasoning.encrypted", ID: &item.ID, Data: item.Encrypted})
	}
	return out
}

// storedItem is a reasoning item in OpenHands' form.
type storedItem struct {
	ID        string   `json:"id"`
	Summary   []string `json:"summary"`
	Encrypted string   `json:"encrypted_content"`
}

// read takes an element of an answer's details; said reports that its text is in
// the reasoning too.
func (one *detail) read(b *wire.Builder, said bool) {
	if !said {
		b.Reasoning(one.Text + one.Summary)
	}
	switch {
	case one.Type == "reasoning.text" && (one.Format == Anthropic || one.Signature != ""):
		b.Thinking(wire.Thinking{Text: one.Text, Signature: one.Signature})
		if one.Signature != "" {
			b.CloseThinking()
		}
	case one.Type != "reasoning.encrypted" || one.Data == "":
	case one.Format == Anthropic:
		b.Thinking(wire.Thinking{Redacted: one.Data})
	case one.Format == Google:
		b.Sign(optional.Value(one.ID), one.Data)
	default:
		if raw, err := wire.Marshal(storedItem{ID: optional.Value(one.ID), Summary: []string{}, Encrypted: one.Data}); err == nil {
			b.Item = raw
		}
	}
}
