package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
	"github.com/ohgw/ohgw/tui/transcript"
)

// put writes pieces of an answer on a sheet.
func put(end session.End, pieces ...gateway.Piece) []string {
	var s sheet
	var lines []string
	line := func(text string) { lines = append(lines, strings.Split(text, "\n")...) }
	for _, p := range pieces {
		s.came(line, p)
	}
	s.ended(line, end)
	return lines
}

func TestSheetHasWholeLinesInTheirOrder(t *testing.T) {
	t.Parallel()
	stopped := session.End{Stopped: true, Took: 2 * time.Second}
	for _, tc := range []struct {
		name   string
		pieces []gateway.Piece
		want   []string
	}{
		{"nothing", nil, nil},
		{"a part of a line", []gateway.Piece{gateway.Text("ha"), gateway.Text("lf")}, []string{"half"}},
		{"empty lines first", []gateway.Piece{gateway.Text("\n\n"), gateway.Text("a\n")}, []string{"a"}},
		{"empty lines between", []gateway.Piece{gateway.Text("a\n\nb\n")}, []string{"a", "", "b"}},
		{"work in between", []gateway.Piece{gateway.Text("a"), gateway.Progress("$ ls"), gateway.Text("b")}, []string{"a", "Working: $ ls", "b"}},
		{"the same queue", []gateway.Piece{gateway.Waiting{Queue: 2}, gateway.Waiting{Queue: 2}, gateway.Waiting{}}, []string{"Waiting in the queue: 2 before this one."}},
		{"again", []gateway.Piece{gateway.Started{}, gateway.Text("a\nb"), gateway.Started{}, gateway.Text("a\nb\nc")}, []string{"a", "b", "c"}},
		{"again twice", []gateway.Piece{gateway.Started{}, gateway.Text("a\nb\n"), gateway.Started{}, gateway.Text("a"), gateway.Started{}, gateway.Text("a\nb\nc")}, []string{"a", "b", "c"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			want := append(tc.want, "Stopped after 2.0 s.")
			if diff := cmp.Diff(want, put(stopped, tc.pieces...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSheetSaysThatAnotherAnswerBegins(t *testing.T) {
	t.Parallel()
	got := put(session.End{Stopped: true}, gateway.Started{}, gateway.Text("a\nb\n"), gateway.Started{}, gateway.Text("other\n"))
	want := []string{"a", "b", "The answer begins again.", "other", "Stopped after 0.0 s."}
	if len(got) != len(want) {
		t.Fatalf("written %q, want %q", got, want)
	}
	for i := range want {
		if i != 2 && got[i] != want[i] { // The third line is the note.
			t.Errorf("line %d is %q, want %q", i, got[i], want[i])
		}
	}
}

func TestSheetHasANoticeOnce(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Done.\n\nPaused.", "Done."} {
		end := session.End{Turn: &session.Turn{Answer: &transcript.Answer{}}, Notice: "Paused."}
		got := strings.Join(put(end, gateway.Text(text)), "\n")
		if n := strings.Count(got, "Paused."); n != 1 {
			t.Errorf("the notice is there %d times:\n%s", n, got)
		}
	}
}

// TestSheetHasTheAnswerHoweverItComes cuts an answer into pieces, and lets it
// begin again at any of them.
func TestSheetHasTheAnswerHoweverItComes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "line", "\n", "\n\n"}), 0, 20).Draw(t, "text"), "")
		pieces := []gateway.Piece{gateway.Started{}}
		for range rapid.IntRange(0, 3).Draw(t, "restarts") {
			part := text[:rapid.IntRange(0, len(text)).Draw(t, "part")]
			for part != "" {
				n := rapid.IntRange(1, len(part)).Draw(t, "cut")
				pieces = append(pieces, gateway.Text(part[:n]))
				part = part[n:]
			}
			pieces = append(pieces, gateway.Started{})
		}
		pieces = append(pieces, gateway.Text(text))
		got := put(session.End{Stopped: true}, pieces...)
		if diff := cmp.Diff(put(session.End{Stopped: true}, gateway.Text(text)), got); diff != "" {
			t.Fatalf("%q in pieces %q (-whole +pieces):\n%s", text, pieces, diff)
		}
	})
}
