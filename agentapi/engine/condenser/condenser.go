// Package condenser decides which events of a long history give way to a
// summary, and says how a model is asked for it. It calls no model itself.
package condenser

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/truncate"
)

// Settings say when a history is too long. The zero value means no condenser.
type Settings struct {
	MaxSize   int   // events of the view
	KeepFirst int   // events at the beginning that stay
	MaxTokens int64 // of a request; 0: the model's own limit only
	// MinProgress is the part of a view that must go, or it is not worth a
	// call. 0: OpenHands' tenth.
	MinProgress float64
}

const minProgress = 0.1

// Need is why a view is to be condensed.
type Need struct {
	Wanted bool // it was asked for, or a request was too long
	Events bool // there are too many
	// Tokens is the limit that the next request would exceed; 0: it would not.
	Tokens int64
}

// Hard reports whether the model cannot be asked before the view is shorter.
func (n Need) Hard() bool { return n.Wanted || n.Tokens > 0 }

// Any reports whether there is any need.
func (n Need) Any() bool { return n.Hard() || n.Events }

// NeedOf is the need of a view whose next request is estimated at tokens, for a
// model that takes at most limit of them; 0 is unknown.
func (s Settings) NeedOf(v *view.View, tokens, limit int64) Need {
	if s == (Settings{}) {
		return Need{}
	}
	if s.MaxTokens > 0 && (limit == 0 || s.MaxTokens < limit) {
		limit = s.MaxTokens
	}
	n := Need{Wanted: v.CondensationWanted(), Events: v.Len() > s.MaxSize}
	if limit > 0 && tokens > limit {
		n.Tokens = limit
	}
	return n
}

// Cut is what a condensation takes out of a view.
type Cut struct {
	Gone   []int // indexes of the events that go, in order; never empty
	Offset int   // where in the remaining view the summary stands
}

// Plan finds the events that are to go, for a model that takes an image for
// perImage tokens. It is false if no legal cut makes enough room.
func (s Settings) Plan(v *view.View, need Need, perImage int64) (Cut, bool) {
	size := v.Len()
	tail := size
	if need.Wanted {
		tail = min(tail, size/2-s.KeepFirst-1)
	}
	if need.Events {
		tail = min(tail, s.MaxSize/2-s.KeepFirst-1)
	}
	if need.Tokens > 0 {
		tail = min(tail, s.tailWithin(v, need.Tokens/2, perImage))
	}
	tail = max(0, tail)
	cuts := v.Cuts()
	start, end := firstAtLeast(cuts, s.head(v)), firstAtLeast(cuts, size-tail)
	if start < 0 || end <= start {
		return Cut{}, false
	}
	progress := s.MinProgress
	if progress == 0 {
		progress = minProgress
	}
	from, to := v.Asked()
	c := cut(start, end, from, to)
	return c, len(c.Gone) >= max(1, int(progress*float64(size)))
}

// Everything is the cut that leaves the system prompt and the user's newest
// message: an earlier one that was never answered may be what is too long. It is
// false where nothing is left to sum up but summaries.
func Everything(v *view.View) (Cut, bool) {
	_, asked := v.Asked()
	c := cut(prompted(v), v.Len(), asked-1, asked)
	return c, tells(v, c)
}

// Earlier is the cut that a person asks for: it leaves the system prompt, the
// user's newest message and the agent's answer to that. It is false where nothing
// is left to sum up but summaries.
func Earlier(v *view.View) (Cut, bool) {
	c, ok := Everything(v)
	if !ok {
		return c, false
	}
	_, asked := v.Asked()
	last := answerOf(v)
	c.Gone = slices.DeleteFunc(c.Gone, func(i int) bool { return i >= last })
	if n := len(c.Gone); n > 0 && c.Gone[n-1] < asked { // the summary covers nothing behind the question
		c.Offset = c.Gone[0]
	}
	return c, tells(v, c)
}

// head is how many events at the beginning stay in any case.
func (s Settings) head(v *view.View) int { return max(s.KeepFirst, prompted(v)) }

// prompted is where the system prompt ends, which never goes: without it the next
// request would not begin with it, and the model would not know its task. 0 if there
// is none.
func prompted(v *view.View) int {
	for i := range v.Len() {
		if v.Event(i).Kind() == (*event.SystemPrompt)(nil).Kind() {
			return i + 1
		}
	}
	return 0
}

// tells reports whether a cut takes out more than summaries.
func tells(v *view.View, c Cut) bool {
	return slices.ContainsFunc(c.Gone, func(i int) bool {
		return v.Event(i).Kind() != (*event.CondensationSummary)(nil).Kind()
	})
}

// answerOf finds where the answer begins with which the view ends; its length if it ends
// with none.
func answerOf(v *view.View) int {
	last := 0
	for _, at := range v.Cuts() {
		if at < v.Len() {
			last = at
		}
	}
	if v.Len() == 0 {
		return 0
	}
	switch b := v.Event(last).Body.(type) {
	case *event.Message:
		if v.Event(last).Source == event.SourceAgent {
			return last
		}
	case *event.Action:
		if b.ToolName == "finish" {
			return last
		}
	}
	return v.Len()
}

// cut takes the events from start to end, but never those between from and to. They are
// what the user asks now: without them the agent would answer something else. The summary
// stands behind the question if it covers work on it.
func cut(start, end, from, to int) Cut {
	c := Cut{Offset: start}
	for i := start; i < end; i++ {
		if i < from || i >= to {
			c.Gone = append(c.Gone, i)
		} else if to < end {
			c.Offset++
		}
	}
	return c
}

// tailWithin measures the longest end of a view that, with the head that stays and what
// the user asks now, has at most limit tokens.
func (s Settings) tailWithin(v *view.View, limit, perImage int64) int {
	from, to := v.Asked()
	head := s.head(v)
	stays := func(i int) bool { return i < head || i >= from && i < to }
	for i := range v.Len() {
		if stays(i) {
			limit -= v.Weight(i).Tokens(perImage)
		}
	}
	n := 0
	for i := v.Len() - 1; i >= 0; i-- {
		if !stays(i) {
			limit -= v.Weight(i).Tokens(perImage)
		}
		if limit < 0 {
			break
		}
		n++
	}
	return n
}

func firstAtLeast(cuts []int, at int) int {
	for _, c := range cuts {
		if c >= at {
			return c
		}
	}
	return -1
}

//go:embed summary.md
var instructions string

//go:embed short.md
var shortInstructions string

// Preview is how much of each event the model that sums up is shown, in
// characters.
const Preview = 500

// Request writes the messages of the request for a summary of the events that a cut takes
// out, each shortened to preview characters: the instructions as a system message, as
// models follow those most, and the events as the user's. A brief one asks for less, for
// a model with a small context.
func Request(v *view.View, c Cut, preview int, brief bool) []event.LLMMessage {
	task := instructions
	if brief {
		task = shortInstructions
	}
	var b strings.Builder
	b.WriteString("<events>\n")
	for _, i := range c.Gone {
		if text := describe(v.Event(i), v.Content(i)); text != "" {
			fmt.Fprintf(&b, "<event>\n%s\n</event>\n", shorten(text, preview))
		}
	}
	b.WriteString("</events>\n\nWrite the summary of these events.\n")
	return []event.LLMMessage{
		{Role: "system", Content: []event.Content{event.Text(strings.TrimSpace(task))}},
		{Role: "user", Content: []event.Content{event.Text(b.String())}},
	}
}

// describe shows an event to the model that sums up.
func describe(e event.Event, content []event.Content) string {
	switch b := e.Body.(type) {
	case *event.Message:
		return fmt.Sprintf("Message of the %s: %s", speaker(e), event.PlainText(b.LLMMessage.Content))
	case *event.Action:
		text := fmt.Sprintf("Call of the tool %s: %s", b.ToolName, b.ToolCall.Arguments)
		if said := event.PlainText(b.Thought); said != "" {
			text = said + "\n" + text
		}
		return text
	case *event.Observation:
		return fmt.Sprintf("Result of the tool %s: %s", b.ToolName, event.PlainText(content))
	case *event.AgentError:
		return fmt.Sprintf("Error of the tool %s: %s", b.ToolName, b.Error)
	case *event.UserReject:
		return fmt.Sprintf("The user rejected the call of the tool %s: %s", b.ToolName, b.RejectionReason)
	case *event.CondensationSummary:
		return "Summary of what was before: " + b.Summary
	}
	return "" // the system prompt needs no summary
}

func speaker(e event.Event) string {
	if e.Source == event.SourceEnvironment {
		return "environment"
	}
	return e.Source
}

// shorten keeps the beginning and the end of a text.
func shorten(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return truncate.Head(text, limit-limit/2) + " [...] " + truncate.Tail(text, limit/2)
}
