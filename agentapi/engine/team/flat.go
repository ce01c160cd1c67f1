package team

import (
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// said is the text of a result, and whether the member has failed.
func said(content []event.Content) (text string, failed bool) {
	content, failed = view.Result(content)
	return event.PlainText(content), failed
}

// flat makes a history without tool calls: what the members answered becomes a part of the
// user's message. A model that is offered no tools cannot be shown calls.
func flat(messages []event.LLMMessage) []event.LLMMessage {
	var out []event.LLMMessage
	names := make(map[string]string)
	for _, m := range messages {
		switch {
		case len(m.ToolCalls) > 0:
			for _, call := range m.ToolCalls {
				names[call.ID] = memberOf(call)
			}
			continue
		case m.Role == "tool":
			what := "answered"
			text, failed := said(m.Content)
			if failed {
				what = "failed"
			}
			m = event.LLMMessage{Role: "user", Content: []event.Content{
				event.Text(fmt.Sprintf("The member %q of the team %s:\n\n%s", names[m.ToolCallID], what, text)),
			}}
		}
		if n := len(out); n > 0 && m.Role == "user" && out[n-1].Role == "user" {
			out[n-1].Content = append(slices.Clone(out[n-1].Content), m.Content...)
			continue
		}
		out = append(out, m)
	}
	return out
}
