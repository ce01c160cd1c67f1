// Package condenser decides which events of a long history give way to a
// summary, and says how a model is asked for it. It calls no model itself.
package condenser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/engine/view"
)

// Settings say when a history is too long. The zero value is no condenser.
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

// Hard tells whether the model cannot be asked before the view is shorter.
func (n Need) Hard() bool { return n.Wanted || n.Tokens > 0 }

// Any tells whether there is any need.
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

// Plan finds the events from start to end, end excluded, that are to go. It is
// false if no legal cut makes enough room.
func (s Settings) Plan(v *view.View, need Need) (start, end int, ok bool) {
	events := v.Events()
	tail := len(events)
	if need.Wanted {
		tail = min(tail, len(events)/2-s.KeepFirst-1)
	}
	if need.Events {
		tail = min(tail, s.MaxSize/2-s.KeepFirst-1)
	}
	if need.Tokens > 0 {
		tail = min(tail, s.tailWithin(events, need.Tokens/2))
	}
	tail = max(0, tail)
	cuts := v.Cuts()
	start = firstAtLeast(cuts, s.KeepFirst)
	end = firstAtLeast(cuts, len(events)-tail)
	progress := s.MinProgress
	if progress == 0 {
		progress = minProgress
	}
	enough := max(1, int(progress*float64(len(events))))
	return start, end, start >= 0 && end-start >= enough
}

// tailWithin is the length of the longest end of events that, with the head
// that stays, has at most limit tokens.
func (s Settings) tailWithin(events []event.Event, limit int64) int {
	for _, e := range events[:min(s.KeepFirst, len(events))] {
		limit -= Tokens(e)
	}
	n := 0
	for _, e := range slices.Backward(events) {
		if limit -= Tokens(e); limit < 0 {
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

// bytesPerToken is a guess that is good enough: the next request's own numbers
// correct it.
const bytesPerToken = 4

// Tokens estimates what an event takes in a request.
func Tokens(e event.Event) int64 {
	data, err := json.Marshal(e)
	if err != nil {
		return 0
	}
	return int64(len(data)) / bytesPerToken
}

//go:embed summary.md
var instructions string

// Preview is how much of each event the model that sums up is shown, in
// characters.
const Preview = 500

// Request is the only message of the request for a summary of events, each cut
// to preview characters.
func Request(events []event.Event, preview int) event.LLMMessage {
	var b strings.Builder
	b.WriteString(instructions)
	b.WriteString("\n<events>\n")
	for _, e := range events {
		if text := describe(e); text != "" {
			fmt.Fprintf(&b, "<event>\n%s\n</event>\n", shorten(text, preview))
		}
	}
	b.WriteString("</events>\n")
	return event.LLMMessage{Role: "user", Content: []event.Content{event.Text(b.String())}}
}

// describe is an event as the model that sums up is shown it.
func describe(e event.Event) string {
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
		var o struct {
			Content []event.Content `json:"content"`
		}
		if json.Unmarshal(b.Observation, &o) != nil {
			return ""
		}
		return fmt.Sprintf("Result of the tool %s: %s", b.ToolName, event.PlainText(o.Content))
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
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-limit/2]) + " [...] " + string(runes[len(runes)-limit/2:])
}
