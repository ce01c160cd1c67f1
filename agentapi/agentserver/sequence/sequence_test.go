package sequence_test

import (
	"slices"
	"testing"

	"github.com/ohgw/ohgw/agentapi/agentserver/sequence"
)

func TestNumbersCloseTheirGaps(t *testing.T) {
	t.Parallel()
	var n sequence.Numbers
	n.BeginAt(3)
	state := func(what string, cursor, ahead int, known bool) {
		t.Helper()
		if n.Cursor() != cursor || n.Ahead() != ahead || n.Known() != known {
			t.Errorf("%s: cursor %d, %d ahead, known %t; want %d, %d, %t", what, n.Cursor(), n.Ahead(), n.Known(), cursor, ahead, known)
		}
	}
	state("at the start", 3, 0, false)
	n.Add(3, "again")
	state("after an event of before", 3, 0, false)
	n.Add(5, "five")
	n.Add(6, "six")
	state("after a gap", 3, 2, false)
	n.Add(4, "four")
	state("without the gap", 6, 0, true)
	if !n.Differs(6, "other") || n.Differs(6, "six") || n.Differs(5, "other") {
		t.Error("only another event with the number of the cursor differs")
	}
	n.Add(9, "nine")
	if !n.Skip(8) {
		t.Error("two events were skipped, and Skip reports that none was")
	}
	state("after what will not come", 9, 0, true)
	if n.Skip(9) {
		t.Error("no event was skipped, and Skip reports one")
	}
}

func TestTextsWithoutAGap(t *testing.T) {
	t.Parallel()
	type step struct {
		d    sequence.Delta
		want string // "": it is not delivered
	}
	delta := func(item string, attempt, order int, content string) sequence.Delta {
		return sequence.Delta{Item: item, Attempt: attempt, Order: order, Kind: "text", Content: content}
	}
	for name, steps := range map[string][]step{
		"a text":               {{delta("a", 1, 0, "x"), "x"}, {delta("a", 1, 1, "y"), "y"}},
		"a piece is missing":   {{delta("a", 1, 0, "x"), "x"}, {delta("a", 1, 2, "z"), ""}, {delta("a", 1, 3, "u"), ""}},
		"it began before":      {{delta("a", 1, 1, "y"), ""}},
		"another attempt":      {{delta("a", 1, 0, "x"), "x"}, {delta("a", 1, 1, "y"), "y"}, {delta("a", 2, 0, "z"), "\n\nz"}},
		"an attempt a piece":   {{delta("a", 1, 0, "x"), "x"}, {delta("a", 2, 0, "y"), "y"}, {delta("a", 3, 0, "z"), "z"}},
		"a text no event took": {{delta("a", 1, 0, "x"), "x"}, {delta("b", 1, 0, "y"), "\n\ny"}, {delta("b", 1, 1, "z"), "z"}},
		"an event took it":     {{delta("seen", 1, 0, "x"), ""}, {delta("b", 1, 0, "y"), "y"}},
	} {
		var text sequence.Text
		for i, s := range steps {
			got := s.d
			delivered := text.Add(&got, true, func(id string) bool { return slices.Contains([]string{"seen"}, id) })
			if delivered != (s.want != "") || delivered && got.Content != s.want {
				t.Errorf("%s, piece %d: delivered %t with %q, want %q", name, i, delivered, got.Content, s.want)
			}
		}
	}
}

func TestATextIsNotGoneOnWithAfterALostConnection(t *testing.T) {
	t.Parallel()
	var text sequence.Text
	none := func(string) bool { return false }
	add := func(attempt, order int) bool {
		return text.Add(&sequence.Delta{Item: "a", Attempt: attempt, Order: order, Content: "x"}, true, none)
	}
	if !add(1, 0) {
		t.Fatal("the first piece is not delivered")
	}
	text.Interrupted()
	if add(2, 0) {
		t.Error("a piece of an attempt is delivered whose beginning may be missing")
	}
}
