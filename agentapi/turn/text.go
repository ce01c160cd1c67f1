package turn

import "strings"

// text makes the live text of a turn out of deltas, which are lossy and belong
// to the event that follows them, and of the whole texts of those events,
// which are never wrong. What it emits contains every whole text once.
type text struct {
	streamed strings.Builder // emitted as deltas
	taken    int             // bytes of live for which an event accounts
	emitted  bool            // something was emitted in this turn
	fresh    bool            // the next piece begins a new paragraph
}

// blanks is what some providers write around a text and others trim.
const blanks = " \t\r\n"

// open is what was emitted as deltas and no event accounts for yet.
func (t *text) open() string { return t.streamed.String()[t.taken:] }

// delta emits a piece that the model has just written.
func (t *text) delta(s string) []Update {
	if s == "" {
		return nil
	}
	t.streamed.WriteString(s)
	return t.emit(s)
}

// whole accounts for the text of an event and emits what the deltas did not.
func (t *text) whole(s string) []Update {
	if s == "" {
		return nil
	}
	// The pieces of a thought and of a finish message may both be live; a
	// writer that streams both separates them with blank lines. And a server may
	// trim a text that its model has put blanks around.
	all := t.open()
	live := all
	if !strings.HasPrefix(s, all) && !strings.HasPrefix(all, s) {
		live = strings.TrimLeft(all, blanks)
	}
	switch {
	case strings.HasPrefix(live, s):
		if t.taken = t.streamed.Len() - len(live) + len(s); strings.Trim(t.open(), blanks) == "" {
			t.boundary()
		}
		return nil
	case strings.HasSuffix(strings.TrimRight(all, blanks), strings.TrimRight(s, blanks)):
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
func (t *text) boundary() {
	t.streamed.Reset()
	t.taken, t.fresh = 0, true
}

func (t *text) emit(s string) []Update {
	if t.fresh && t.emitted {
		s = "\n\n" + s
	}
	t.fresh, t.emitted = false, true
	return []Update{{Kind: Text, Text: s}}
}
