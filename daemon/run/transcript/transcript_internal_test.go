package transcript

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/turn"
)

func TestATranscriptGivesWhatWasAdded(t *testing.T) {
	t.Parallel()
	tr := Log{limit: 1 << 20}
	var want []turn.Update
	for i := range 3000 {
		u := turn.Update{Kind: turn.Text, Text: strings.Repeat("x", i%300)}
		if i%97 < 3 {
			u = turn.Update{Kind: turn.Progress, Text: "a line"}
		}
		want = append(want, u)
		tr.Add(u)
		if got := tr.At(i); got != u {
			t.Fatalf("update %d: %+v, want %+v", i, got, u)
		}
	}
	for i, u := range want {
		if got := tr.At(i); got != u {
			t.Fatalf("update %d: %+v, want %+v", i, got, u)
		}
	}
}

func TestATranscriptIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	tr := Log{limit: limit}
	piece := turn.Update{Kind: turn.Text, Text: "tok "}
	for range 1_000_000 {
		tr.Add(piece)
	}
	held := 0
	for _, b := range tr.blocks {
		held += b.size()
	}
	if tr.bytes != held || held > limit+4*maxBlock || len(tr.blocks) == 0 || tr.At(tr.first) != piece || tr.At(tr.next-1) != piece {
		t.Errorf("%d bytes counted, %d held in %d blocks", tr.bytes, held, len(tr.blocks))
	}
}

// A piece is there for who reads at once, whatever its size, also when a little
// comes after it.
func TestALargePieceIsNotDroppedByItself(t *testing.T) {
	t.Parallel()
	tr := Log{limit: 1000}
	large := turn.Update{Kind: turn.Text, Text: strings.Repeat("x", maxBlock)}
	tr.Add(turn.Update{Kind: turn.Text, Text: "before"})
	tr.Add(large)
	tr.Add(turn.Update{Kind: turn.Progress, Text: "after"})
	if tr.first != 1 || tr.At(1) != large {
		t.Errorf("first is %d", tr.first)
	}
}

// What the agent did counts against the limit, and goes before the text does.
func TestDetailsAreBoundedAndGoBeforeTheText(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	tr := Log{limit: limit}
	var text int
	for i := range 2000 {
		call := &turn.Call{ID: strconv.Itoa(i), State: turn.CallDone, Line: "$ ls", Output: strings.Repeat("x", 20_000)}
		tr.Add(turn.Update{Kind: turn.Progress, Text: "$ ls", Call: call})
		tr.Add(turn.Update{Kind: turn.Text, Text: "some words "})
		text += len("some words ")
		if got := tr.At(tr.next - 2); got.Call != call {
			t.Fatalf("call %d is gone at once: %+v", i, got)
		}
	}
	held := 0
	for _, b := range tr.blocks {
		held += b.size()
	}
	if tr.bytes != held || held > limit+2*maxBlock {
		t.Errorf("%d bytes counted, %d held", tr.bytes, held)
	}
	first := tr.At(tr.first)
	if first.Call == nil && first.Text == "" || tr.first > 2000 {
		t.Errorf("the text was dropped up to %d of %d", tr.first, tr.next)
	}
	for i := tr.first; i < tr.first+10; i++ {
		if c := tr.At(i).Call; c != nil && (c.Output != "" || c.OutputCut != 20_000) {
			t.Errorf("an old call keeps %d bytes, and says that %d are missing", len(c.Output), c.OutputCut)
		}
	}
}

// BenchmarkPublish is a token of a run that has made far more than is kept.
func BenchmarkPublish(b *testing.B) {
	tr := Log{limit: 1 << 20}
	for range 1_000_000 {
		tr.Add(turn.Update{Text: "tok "})
	}
	for b.Loop() {
		tr.Add(turn.Update{Text: "tok "})
	}
}
