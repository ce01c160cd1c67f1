package moving

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/redact"
)

// The limits of a history, in bytes.
const (
	maxHistory = 2 << 20 // of all of it: the newest part
	maxCall    = 1 << 10 // of what a tool was asked
	maxResult  = 2 << 10 // of what a tool answered
)

// history is what was said and done in a conversation, as text for another agent. If
// it is long, its beginning is missing.
func history(ctx context.Context, from control.Library, id string) (string, error) {
	var parts []string
	size := 0
	for q := (control.EventQuery{Newest: true, Limit: agentapi.MaxEvents}); size < maxHistory; {
		page, err := from.Search(ctx, id, q)
		if err != nil {
			return "", err //nolint:wrapcheck // its own error
		}
		for _, raw := range page.Events {
			if text := paragraph(raw); text != "" && size < maxHistory {
				parts, size = append(parts, text), size+len(text)
			}
		}
		if q.Page = page.Next; q.Page == "" {
			break
		}
	}
	if size >= maxHistory {
		parts = append(parts, "(The beginning is left out.)\n")
	}
	slices.Reverse(parts)
	return redact.Text(strings.Join(parts, "\n")), nil
}

// paragraph is what an event says; "" for nothing.
func paragraph(raw json.RawMessage) string {
	var e event.Event
	if json.Unmarshal(raw, &e) != nil {
		return ""
	}
	switch b := e.Body.(type) {
	case *event.Message:
		who := "The agent"
		if e.Source == "user" {
			who = "The user"
		}
		return said(who, event.PlainText(b.LLMMessage.Content))
	case *event.Action:
		return action(b)
	case *event.Observation:
		var result struct {
			Content []event.Content `json:"content"`
		}
		_ = json.Unmarshal(b.Observation, &result) // what cannot be read says nothing
		return said("Result of "+b.ToolName, cut(event.PlainText(result.Content), maxResult))
	case *event.AgentError:
		return said("Result of "+b.ToolName, cut(b.Error, maxResult))
	case *event.UserReject:
		return said("The user refused "+b.ToolName, b.RejectionReason)
	case *event.ConversationError:
		return said("The run failed", b.Code+": "+b.Detail)
	}
	return ""
}

func action(a *event.Action) string {
	var in struct {
		Message string `json:"message"`
		Command string `json:"command"`
	}
	args := a.Action
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage(a.ToolCall.Arguments)
	}
	_ = json.Unmarshal(args, &in) // else all of it is shown
	thought := said("The agent", event.PlainText(a.Thought))
	switch a.ToolName {
	case "finish":
		return thought + said("The agent", in.Message)
	case "terminal":
		return thought + said("The agent runs", cut(in.Command, maxCall))
	}
	return thought + said("The agent calls "+a.ToolName, cut(string(args), maxCall))
}

func said(who, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "## " + who + "\n\n" + text + "\n"
}

// cut is the beginning of a text.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + fmt.Sprintf("\n… (%d more bytes)", len(text)-limit)
}

// end is the end of a text, from the beginning of a paragraph on.
func end(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if _, rest, ok := strings.Cut(text, "\n## "); ok {
		return "## " + rest
	}
	return strings.ToValidUTF8(text, "")
}
