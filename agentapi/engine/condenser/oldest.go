package condenser

import (
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// LeftOut stands in the place of events that left without a summary.
const LeftOut = "Earlier messages of this conversation were left out, because they no longer fit into the model's context."

// Oldest makes the cut that takes out the oldest turns, until what is left besides the
// system prompt and the question has at most room tokens, as weigh counts the events.
// It takes whole turns, and a part of a turn only of the one that goes on. It is false
// where nothing can leave.
func Oldest(v *view.View, room int64, weigh func(i int) int64) (Cut, bool) {
	start := prompted(v)
	from, to := v.Asked()
	if to > from {
		from = to - 1 // of several questions the newest; one that was never answered may be what is too long
	}
	stays := func(i int) bool { return i >= from && i < to }
	var rest int64
	for i := start; i < v.Len(); i++ {
		if !stays(i) {
			rest += weigh(i)
		}
	}
	end := start
	for _, at := range v.Cuts() {
		if end > start && rest <= room {
			break
		}
		if at < from && !asks(v, at) {
			continue
		}
		for ; end < at; end++ {
			if !stays(end) {
				rest -= weigh(end)
			}
		}
	}
	c := cut(start, end, from, to)
	return c, len(c.Gone) > 0
}

// asks reports whether a turn begins at i.
func asks(v *view.View, i int) bool {
	_, message := v.Event(i).Body.(*event.Message)
	return message && v.Event(i).Source == event.SourceUser
}

// Tells reports whether a cut takes out more than summaries.
func Tells(v *view.View, c Cut) bool { return tells(v, c) }

// Flaw is why a summary cannot stand for what it replaces, which has that many bytes;
// empty for one that can.
func Flaw(summary string, replaced int) string {
	switch {
	case strings.TrimSpace(summary) == "":
		return "it is empty"
	case len(summary) > max(replaced, harmless):
		return "it is longer than what it replaces"
	case repeats(summary):
		return "it repeats itself"
	}
	return ""
}

// harmless is the length of a summary, in bytes, that takes no room that matters.
const harmless = 200

// What a text that goes round in circles has: the same line, or the same end, so often.
const (
	sameLines = 4
	sameEnds  = 4
	leastEnd  = 12 // bytes; a shorter one may be a table, or a row of dots
)

// repeats reports whether a text says the same again and again, as small models do.
func repeats(text string) bool {
	seen := make(map[string]int)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len(line) < leastEnd {
			continue
		}
		if seen[line]++; seen[line] >= sameLines {
			return true
		}
	}
	text = strings.TrimSpace(text)
	for n := leastEnd; n*sameEnds <= len(text); n++ {
		end := text[len(text)-n:]
		if strings.HasSuffix(text[:len(text)-n], strings.Repeat(end, sameEnds-1)) {
			return true
		}
	}
	return false
}
