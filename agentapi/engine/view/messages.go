package view

import (
	"slices"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Messages is the history for a provider: a system message, then messages of
// user and assistant. Each assistant message with tool calls is followed by
// exactly one result for each call, in the order of the calls, and no result
// stands anywhere else. Calls without a result are left out, and results
// without a call. No two calls have the same id.
func (v *View) Messages() []event.LLMMessage {
	b := builder{view: v, links: linksOf(v.items), ids: make(IDs), answers: make(map[int][]int), out: make([]event.LLMMessage, 0, len(v.items))}
	for i, answer := range b.links.answer {
		if answer != 0 { // of an action
			b.answers[answer] = append(b.answers[answer], i)
		}
	}
	for i := range v.items {
		b.add(i)
	}
	return b.out
}

type builder struct {
	view    *View
	links   links
	ids     IDs           // of calls, so far
	answers map[int][]int // the actions of the answers that are still to be told
	out     []event.LLMMessage
}

func (b *builder) add(i int) {
	it := b.view.items[i]
	switch body := it.event.Body.(type) {
	case *event.SystemPrompt:
		b.system(body)
	case *event.Message:
		if body.LLMMessage.Role == "assistant" {
			if !body.IsUnfinished() {
				b.assistant(body.LLMMessage)
			} else if b.answeredByUser(i) {
				m := body.LLMMessage
				m.Content = append(clone(m.Content), body.ExtendedContent...)
				b.assistant(m)
			}
			return
		}
		b.user(it.without(b.view.hidden))
	case *event.CondensationSummary:
		b.user(it.content)
	case *event.Action:
		if answer := b.links.answer[i]; b.links.result[i] >= 0 && b.answers[answer] != nil {
			b.batch(b.answers[answer])
			delete(b.answers, answer)
		}
	}
}

// answeredByUser reports whether what follows an item is a message of the user. Without
// one, the model is to write its answer from the beginning.
func (b *builder) answeredByUser(i int) bool {
	if i+1 == len(b.view.items) {
		return false
	}
	m, ok := b.view.items[i+1].event.Body.(*event.Message)
	return ok && m.LLMMessage.Role == "user"
}

// system puts the system message in front: the static block, then the dynamic one. A
// second system prompt, which only a damaged log has, is left out.
func (b *builder) system(p *event.SystemPrompt) {
	if len(b.out) > 0 && b.out[0].Role == "system" {
		return
	}
	b.out = slices.Insert(b.out, 0, event.LLMMessage{Role: "system", Content: blocks(p)})
}

// user adds to the user's message that is being built, or begins one.
func (b *builder) user(content []event.Content) {
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

// batch appends the calls of an answer that have a result, then their results. Text and
// reasoning are those of the first call, answered or not.
func (b *builder) batch(actions []int) {
	lead := b.actionAt(actions[0])
	m := event.LLMMessage{
		Role: "assistant", Content: withoutEmpty(lead.Thought), ReasoningContent: lead.ReasoningContent,
		ThinkingBlocks: lead.ThinkingBlocks, ResponsesReasoningItem: lead.ResponsesReasoningItem,
	}
	var results []event.LLMMessage
	for _, i := range actions {
		result := b.links.result[i]
		if result < 0 {
			continue
		}
		a := b.actionAt(i)
		// The model's own id of the call, not the event's: the two differ only
		// in a damaged log.
		call := a.ToolCall
		call.ID = b.ids.Take(call.ID)
		m.ToolCalls = append(m.ToolCalls, call)
		results = append(results, event.LLMMessage{
			Role: "tool", ToolCallID: call.ID, Name: a.ToolName, Content: b.view.Content(result),
		})
	}
	b.out = append(append(b.out, m), results...)
}

func (b *builder) actionAt(i int) *event.Action { return b.view.items[i].event.Body.(*event.Action) }
