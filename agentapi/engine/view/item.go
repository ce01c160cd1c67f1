package view

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Weight is what a part of the history takes in a request: bytes of text, and
// images, whose size in tokens has nothing to do with that of their files.
type Weight struct{ Bytes, Images int }

// bytesPerToken is a guess that is good enough: the next request's own numbers
// correct it.
const bytesPerToken = 4

// Tokens estimates a weight, for a model that takes an image for perImage
// tokens.
func (w Weight) Tokens(perImage int64) int64 {
	return int64(w.Bytes)/bytesPerToken + int64(w.Images)*perImage
}

// Our own words for what a result is. The model reads them.
const (
	failedHeader  = "The tool reported an error:"
	noOutput      = "(no output)"
	rejectedText  = "This action was rejected and did not run."
	summaryHeader = "Summary of the conversation so far, in place of the events it covers:"
)

// shown makes the item of an event; ok is false for what no model is shown.
func (v *View) shown(e event.Event) (it item, ok bool) {
	switch b := e.Body.(type) {
	case *event.SystemPrompt:
		body := *b
		body.Tools = nil
		it.event = bare(e, &body)
		it.weight = weigh(blocks(&body))
		return it, true
	case *event.Action:
		return action(e, b), true
	case *event.Message:
		it.event = bare(e, b)
		it.content = clone(b.LLMMessage.Content)
		if e.Source != event.SourceAgent { // what stands there of an answer is not the model's own text
			it.content = append(it.content, b.ExtendedContent...)
		}
		it.content = withoutEmpty(it.content)
	case *event.CondensationSummary:
		it.event = bare(e, b)
		it.content = []event.Content{event.Text(summaryHeader + "\n\n" + b.Summary)}
	case *event.Observation:
		body := *b
		body.Observation = nil
		it.event = bare(e, &body)
		it.content = orNote(append(v.observation(b.Observation), b.ExtendedContent...))
	case *event.AgentError:
		it.event = bare(e, b)
		it.content = orNote([]event.Content{event.Text(b.Error)})
	case *event.UserReject:
		it.event = bare(e, b)
		text := rejectedText
		if b.RejectionReason != "" {
			text += " Reason: " + b.RejectionReason
		}
		it.content = []event.Content{event.Text(text)}
	default:
		return item{}, false
	}
	it.weight = weigh(it.content)
	return it, true
}

// bare is an event without the bytes that it was read from.
func bare(e event.Event, body event.Body) event.Event {
	return event.New(e.ID, e.Timestamp, e.Source, e.ParentID, body)
}

// action is the item of an action, without the parsed call: the model is shown
// its own words.
func action(e event.Event, a *event.Action) item {
	body := *a
	body.Action = nil
	thinking := 0
	for _, block := range body.ThinkingBlocks {
		thinking += len(block)
	}
	w := weigh(body.Thought)
	// Thinking blocks have the text of the reasoning; a model gets one of them.
	w.Bytes += len(body.ToolCall.Name) + len(body.ToolCall.Arguments) + len(body.ResponsesReasoningItem) + max(thinking, len(body.ReasoningContent))
	return item{event: bare(e, &body), weight: w, refused: len(a.Action) == 0 || string(a.Action) == "null"}
}

// observation is what the model is shown of a stored observation.
func (v *View) observation(stored json.RawMessage) []event.Content {
	content, isError := v.render(stored)
	if isError {
		return append([]event.Content{event.Text(failedHeader)}, content...)
	}
	return clone(content)
}

// contentOf is an observation's own content. What cannot be read shows nothing; the
// call still gets its result.
func contentOf(observation json.RawMessage) ([]event.Content, bool) {
	var stored struct {
		Content []event.Content `json:"content"`
		IsError bool            `json:"is_error"`
	}
	_ = json.Unmarshal(observation, &stored)
	return stored.Content, stored.IsError
}

// orNote is the content of a result, which is never empty.
func orNote(content []event.Content) []event.Content {
	if content = withoutEmpty(content); len(content) == 0 {
		return []event.Content{event.Text(noOutput)}
	}
	return content
}

// blocks are the parts of a system prompt: the static one, then the dynamic.
func blocks(p *event.SystemPrompt) []event.Content {
	content := []event.Content{p.SystemPrompt}
	if p.DynamicContext != nil {
		content = append(content, *p.DynamicContext)
	}
	return content
}

// memory is how many bytes an item keeps besides its fixed part.
func (it *item) memory() int64 {
	n := it.weight.Bytes
	for _, c := range it.content {
		for _, url := range c.ImageURLs {
			n += len(url)
		}
	}
	return int64(n)
}

func weigh(content []event.Content) (w Weight) {
	for _, c := range content {
		w.Bytes += len(c.Text)
		w.Images += len(c.ImageURLs)
	}
	return w
}

// withoutEmpty is content without texts that are blank: providers refuse them.
func withoutEmpty(content []event.Content) []event.Content {
	if len(content) > 0 && !slices.ContainsFunc(content, isEmpty) {
		return content
	}
	kept := make([]event.Content, 0, len(content))
	for _, c := range content {
		if !isEmpty(c) {
			kept = append(kept, c)
		}
	}
	return kept
}

func isEmpty(c event.Content) bool {
	return c.Type == event.TypeText && strings.TrimSpace(c.Text) == "" || c.Type == event.TypeImage && len(c.ImageURLs) == 0
}

// clone keeps appends out of the events, which are immutable.
func clone(content []event.Content) []event.Content {
	return append([]event.Content(nil), content...)
}
