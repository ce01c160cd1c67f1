package turn

import "strings"

// text makes the live text of a turn out of deltas, which are lossy and belong
// to the event that follows them, and of the whole texts of those events,
// which are never wrong. What it emits contains every whole text once.
type text struct {
	live    string // emitted as deltas, no event accounts for it yet
	emitted bool   // something was emitted in this turn
	fresh   bool   // the next piece begins a new paragraph
}

// delta emits a piece that the model has just written.
func (t *text) delta(s string) []Update {
	if s == "" {
		return nil
	}
	t.live += s
	return t.emit(s)
}

// whole accounts for the text of an event and emits what the deltas did not.
func (t *text) whole(s string) []Update {
	if s == "" {
		return nil
	}
	// The pieces of a thought and of a finish message may both be live; a
	// writer that streams both separates them with blank lines.
	live := strings.TrimLeft(t.live, "\n")
	if strings.HasPrefix(s, t.live) {
		live = t.live
	}
	switch {
	case strings.HasPrefix(live, s):
		t.live = live[len(s):]
		t.fresh = t.live == ""
		return nil
	case strings.HasSuffix(t.live, s):
		// A provider failed half way and the model began again: the pieces of
		// both attempts are out, and the last ones are the text.
		t.boundary()
		return nil
	case live != "" && strings.HasPrefix(s, live):
		updates := t.emit(s[len(live):])
		t.boundary()
		return updates
	default:
		t.boundary()
		updates := t.emit(s)
		t.boundary()
		return updates
	}
}

// boundary ends a step: what is live stays as it is, what comes is a new paragraph.
func (t *text) boundary() { t.live, t.fresh = "", true }

func (t *text) emit(s string) []Update {
	if t.fresh && t.emitted {
		s = "\n\n" + s
	}
	t.fresh, t.emitted = false, true
	return []Update{{Kind: Text, Text: s}}
}
