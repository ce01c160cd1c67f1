package view

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Render turns a stored observation into what the model is shown. Without one,
// or where it returns nil, that is the observation's own content.
type Render func(toolName string, observation json.RawMessage) []event.Content

// Our own words for what a result is. The model reads them.
const (
	failedHeader  = "The tool reported an error:"
	noOutput      = "(no output)"
	rejectedText  = "This action was rejected and did not run."
	summaryHeader = "Summary of the conversation so far, in place of the events it covers:"
)

// Messages is the history for a provider: a system message, then messages of
// user and assistant. Each assistant message with tool calls is followed by
// exactly one result for each call, in the order of the calls, and no result
// stands anywhere else. Calls without a result are left out, and results
// without a call.
func (v *View) Messages(render Render) []event.LLMMessage {
	b := builder{render: render, batches: batchesOf(v.events)}
	for i, e := range v.events {
		b.add(i, e)
	}
	return b.out
}

// batch is the calls of one answer of the model, with their results.
type batch struct {
	first   int // index of the first action that has a result
	calls   []*event.Action
	results []event.Event
	lead    *event.Action // carries text and reasoning: the first action, answered or not
}

// batchesOf finds the batches by the index of their first answered action.
func batchesOf(events []event.Event) map[int]*batch {
	results := make(map[string]event.Event)
	for _, e := range events {
		if id, ok := resultOf(e); ok {
			if _, dup := results[id]; !dup {
				results[id] = e
			}
		}
	}
	byAnswer := make(map[string]*batch)
	used := make(map[string]bool)
	batches := make(map[int]*batch)
	for i, e := range events {
		a, ok := e.Body.(*event.Action)
		if !ok {
			continue
		}
		b := byAnswer[a.LLMResponseID]
		if b == nil {
			b = &batch{lead: a}
			byAnswer[a.LLMResponseID] = b
		}
		result, answered := results[a.ToolCallID]
		if !answered || used[a.ToolCallID] {
			continue
		}
		used[a.ToolCallID] = true
		if len(b.calls) == 0 {
			b.first = i
			batches[i] = b
		}
		b.calls = append(b.calls, a)
		b.results = append(b.results, result)
	}
	return batches
}

type builder struct {
	render  Render
	batches map[int]*batch
	out     []event.LLMMessage
}

func (b *builder) add(i int, e event.Event) {
	switch body := e.Body.(type) {
	case *event.SystemPrompt:
		b.system(body)
	case *event.Message:
		if body.LLMMessage.Role == "assistant" {
			b.assistant(body.LLMMessage)
			return
		}
		b.user(append(clone(body.LLMMessage.Content), body.ExtendedContent...))
	case *event.CondensationSummary:
		b.user([]event.Content{event.Text(summaryHeader + "\n\n" + body.Summary)})
	case *event.Action:
		if group := b.batches[i]; group != nil {
			b.batch(group)
		}
	}
}

// system is the system message: static block, then the dynamic one. A second
// system prompt, which only a damaged log has, is left out.
func (b *builder) system(p *event.SystemPrompt) {
	if len(b.out) > 0 && b.out[0].Role == "system" {
		return
	}
	m := event.LLMMessage{Role: "system", Content: []event.Content{p.SystemPrompt}}
	if p.DynamicContext != nil {
		m.Content = append(m.Content, *p.DynamicContext)
	}
	b.out = append([]event.LLMMessage{m}, b.out...)
}

// user adds to the user's message that is being built, or begins one.
func (b *builder) user(content []event.Content) {
	content = withoutEmpty(content)
	if len(content) == 0 {
		return
	}
	if n := len(b.out); n > 0 && b.out[n-1].Role == "user" {
		b.out[n-1].Content = append(clone(b.out[n-1].Content), content...)
		return
	}
	b.out = append(b.out, event.LLMMessage{Role: "user", Content: content})
}

// assistant adds a text of the agent. One without text is left out: it was
// answered by a nudge, and most providers refuse it.
func (b *builder) assistant(m event.LLMMessage) {
	m.Content = withoutEmpty(m.Content)
	m.ToolCalls, m.ToolCallID = nil, ""
	if len(m.Content) > 0 {
		b.out = append(b.out, m)
	}
}

func (b *builder) batch(g *batch) {
	m := event.LLMMessage{
		Role: "assistant", Content: withoutEmpty(g.lead.Thought), ReasoningContent: g.lead.ReasoningContent,
		ThinkingBlocks: g.lead.ThinkingBlocks, ResponsesReasoningItem: g.lead.ResponsesReasoningItem,
	}
	for _, a := range g.calls {
		m.ToolCalls = append(m.ToolCalls, a.ToolCall)
	}
	b.out = append(b.out, m)
	for i, a := range g.calls {
		// The model's own id of the call, not the event's: the two differ only
		// in a damaged log.
		b.out = append(b.out, event.LLMMessage{
			Role: "tool", ToolCallID: a.ToolCall.ID, Name: a.ToolName, Content: b.result(g.results[i]),
		})
	}
}

// result is what the model is shown of a result; never empty.
func (b *builder) result(e event.Event) []event.Content {
	var content []event.Content
	switch body := e.Body.(type) {
	case *event.Observation:
		content = append(b.observation(body), body.ExtendedContent...)
	case *event.AgentError:
		content = []event.Content{event.Text(body.Error)}
	case *event.UserReject:
		text := rejectedText
		if body.RejectionReason != "" {
			text += " Reason: " + body.RejectionReason
		}
		content = []event.Content{event.Text(text)}
	}
	if content = withoutEmpty(content); len(content) == 0 {
		content = []event.Content{event.Text(noOutput)}
	}
	return content
}

func (b *builder) observation(o *event.Observation) []event.Content {
	var stored struct {
		Content []event.Content `json:"content"`
		IsError bool            `json:"is_error"`
	}
	// What cannot be read shows nothing; the call still gets its result.
	_ = json.Unmarshal(o.Observation, &stored)
	content := stored.Content
	if b.render != nil {
		if rendered := b.render(o.ToolName, o.Observation); rendered != nil {
			content = rendered
		}
	}
	if stored.IsError {
		content = append([]event.Content{event.Text(failedHeader)}, content...)
	}
	return clone(content)
}

// withoutEmpty is content without texts that are blank: providers refuse them.
func withoutEmpty(content []event.Content) []event.Content {
	kept := make([]event.Content, 0, len(content))
	for _, c := range content {
		if c.Type == event.TypeText && strings.TrimSpace(c.Text) == "" || c.Type == event.TypeImage && len(c.ImageURLs) == 0 {
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

// clone keeps appends out of the events, which are immutable.
func clone(content []event.Content) []event.Content {
	return append([]event.Content(nil), content...)
}
