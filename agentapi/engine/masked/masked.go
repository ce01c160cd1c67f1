// Package masked takes the values of secrets out of what is stored and published.
package masked

import (
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Body masks the values of secrets in an event's body, for the log, the model and
// clients. It makes a copy where something changes, so the call of an action runs as
// the model wrote it. Ids, names and kinds stay: what they are for would break, and
// no secret gets there.
func Body(secrets *secretenv.Registry, body event.Body) event.Body {
	if !secrets.Any() {
		return body
	}
	m := mask{secrets}
	switch b := body.(type) {
	case *event.Message:
		c := *b
		c.LLMMessage, c.ExtendedContent = m.message(b.LLMMessage), m.content(b.ExtendedContent)
		return &c
	case *event.Action:
		return m.action(*b)
	case *event.Observation:
		c := *b
		c.Observation, c.ExtendedContent = secrets.MaskJSON(b.Observation), m.content(b.ExtendedContent)
		return &c
	case *event.AgentError:
		c := *b
		c.Error = secrets.Mask(b.Error)
		return &c
	case *event.UserReject:
		c := *b
		c.RejectionReason = secrets.Mask(b.RejectionReason)
		return &c
	case *event.ConversationError:
		c := *b
		c.Detail = secrets.Mask(b.Detail)
		return &c
	case *event.SystemPrompt:
		c := *b
		c.SystemPrompt.Text = secrets.Mask(b.SystemPrompt.Text)
		if b.DynamicContext != nil {
			text := *b.DynamicContext
			text.Text = secrets.Mask(text.Text)
			c.DynamicContext = &text
		}
		return &c
	case *event.HookExecution:
		c := *b
		c.Stdout, c.Stderr, c.Reason = secrets.Mask(b.Stdout), secrets.Mask(b.Stderr), secrets.Mask(b.Reason)
		c.HookCommand, c.AdditionalContext, c.Error = secrets.Mask(b.HookCommand), secrets.Mask(b.AdditionalContext), secrets.Mask(b.Error)
		c.HookInput = secrets.MaskJSON(b.HookInput)
		return &c
	case *event.SecurityAnalysis:
		c := *b
		c.Details = make(map[string]json.RawMessage, len(b.Details))
		for id, detail := range b.Details {
			c.Details[id] = secrets.MaskJSON(detail)
		}
		return &c
	case *event.Condensation:
		c := *b
		c.Summary = m.optional(b.Summary)
		return &c
	}
	return body
}

type mask struct{ secrets *secretenv.Registry }

func (m mask) action(a event.Action) *event.Action {
	a.Thought, a.ReasoningContent = m.content(a.Thought), m.secrets.Mask(a.ReasoningContent)
	a.ThinkingBlocks = m.blocks(a.ThinkingBlocks)
	a.ResponsesReasoningItem = m.secrets.MaskJSON(a.ResponsesReasoningItem)
	a.Action, a.ToolCall.Arguments = m.secrets.MaskJSON(a.Action), m.arguments(a.ToolCall.Arguments)
	a.Summary = m.secrets.Mask(a.Summary)
	return &a
}

func (m mask) message(l event.LLMMessage) event.LLMMessage {
	l.Content, l.ReasoningContent = m.content(l.Content), m.secrets.Mask(l.ReasoningContent)
	l.ThinkingBlocks = m.blocks(l.ThinkingBlocks)
	l.ResponsesReasoningItem = m.secrets.MaskJSON(l.ResponsesReasoningItem)
	return l
}

// arguments are JSON where the model wrote what it was asked for, else text.
func (m mask) arguments(args string) string {
	if json.Valid([]byte(args)) {
		return string(m.secrets.MaskJSON(json.RawMessage(args)))
	}
	return m.secrets.Mask(args)
}

func (m mask) content(items []event.Content) []event.Content {
	if items == nil {
		return nil
	}
	out := make([]event.Content, len(items))
	for i, item := range items {
		item.Text = m.secrets.Mask(item.Text)
		out[i] = item
	}
	return out
}

// blocks leaves out those with a value in them: they are signed, and a provider
// refuses one that was changed.
func (m mask) blocks(blocks []json.RawMessage) []json.RawMessage {
	if blocks == nil {
		return nil
	}
	out := make([]json.RawMessage, 0, len(blocks))
	for _, block := range blocks {
		if string(m.secrets.MaskJSON(block)) == string(block) {
			out = append(out, block)
		}
	}
	return out
}

func (m mask) optional(s *string) *string {
	if s == nil {
		return nil
	}
	text := m.secrets.Mask(*s)
	return &text
}
