package account

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

// storedEvent is what both versions' events have that is shown.
type storedEvent struct {
	ID        json.RawMessage `json:"id"`
	Timestamp transport.Time  `json:"timestamp"`
	Source    string          `json:"source"`

	// V1
	Kind       string `json:"kind"`
	LLMMessage *struct {
		Content transport.List[struct {
			Text string `json:"text"`
		}] `json:"content"`
	} `json:"llm_message"`
	Thought transport.List[struct {
		Text string `json:"text"`
	}] `json:"thought"`
	Detail string `json:"detail"`
	Error  string `json:"error"`

	// action is an object in V1 and a name in V0.
	Action      json.RawMessage `json:"action"`
	Observation json.RawMessage `json:"observation"`
	Message     string          `json:"message"`
	Args        *struct {
		FinalThought string `json:"final_thought"`
		Thought      string `json:"thought"`
		Content      string `json:"content"`
	} `json:"args"`
}

// readV1 reads an event as far as it is understood. It never fails.
func readV1(raw json.RawMessage) Event {
	var s storedEvent
	_ = json.Unmarshal(raw, &s) // What was read stays; the rest is in Raw.
	e := Event{ID: plainID(s.ID), Kind: s.Kind, Source: s.Source, Time: s.Timestamp.Time, Raw: raw}
	switch s.Kind {
	case "MessageEvent":
		if s.LLMMessage != nil {
			for _, block := range s.LLMMessage.Content {
				e.Text += block.Text
			}
		}
	case "ActionEvent":
		var action struct {
			Kind    string `json:"kind"`
			Message string `json:"message"`
		}
		if json.Unmarshal(s.Action, &action) == nil && action.Kind == "FinishAction" {
			e.Text, e.Final = action.Message, true
			break
		}
		for _, block := range s.Thought {
			e.Text += block.Text
		}
	case "ConversationErrorEvent", "ServerErrorEvent":
		e.Text = s.Detail
	case "AgentErrorEvent":
		e.Text = s.Error
	}
	e.Text = strings.TrimSpace(e.Text)
	return e
}

// readV0 reads a V0 event as far as it is understood.
func readV0(raw json.RawMessage) Event {
	var s storedEvent
	_ = json.Unmarshal(raw, &s) // What was read stays; the rest is in Raw.
	e := Event{ID: plainID(s.ID), Source: s.Source, Time: s.Timestamp.Time, Raw: raw}
	var action, observation string
	if json.Unmarshal(s.Action, &action) != nil {
		_ = json.Unmarshal(s.Observation, &observation) // It is one or the other.
	}
	e.Kind = first(action, observation)
	switch {
	case action == "system": // the whole system prompt
	case action == "finish":
		e.Final = true
		e.Text = s.Message
		if s.Args != nil {
			e.Text = first(s.Args.FinalThought, s.Args.Thought, s.Message)
		}
	case action == "message" && s.Args != nil:
		e.Text = first(s.Args.Content, s.Message)
	case action != "" && s.Source == "agent" && s.Args != nil:
		e.Text = s.Args.Thought
	case observation == "error":
		e.Text = s.Message
	}
	e.Text = strings.TrimSpace(e.Text)
	return e
}

// plainID is an id that is a text or a number.
func plainID(raw json.RawMessage) string { return string(bytes.Trim(raw, `"`)) }
