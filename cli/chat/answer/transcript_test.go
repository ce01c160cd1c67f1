package answer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
)

// plays gives what a transcript makes of pieces, in words.
func plays(pieces ...gateway.Piece) (shown []string, answer string) {
	var t Transcript
	for _, p := range pieces {
		for _, s := range t.Add(p) {
			switch {
			case s.started != nil:
				shown = append(shown, "started")
			case s.waiting:
				shown = append(shown, fmt.Sprint("queue ", s.queue))
			case s.lost != nil:
				shown = append(shown, "lost")
			case s.restart:
				shown = append(shown, "restart")
			case s.line != "":
				shown = append(shown, "line "+s.line)
			default:
				shown = append(shown, s.text)
			}
		}
		if d, ok := p.(gateway.Done); ok {
			answer = t.Answer(d)
		}
	}
	return shown, answer
}

func TestWhatIsRepeatedIsPrintedOnce(t *testing.T) {
	t.Parallel()
	again := gateway.Started{Replayed: true}
	for name, tc := range map[string]struct {
		pieces []gateway.Piece
		shown  []string
		answer string
	}{
		"whole": {
			[]gateway.Piece{gateway.Started{}, gateway.Waiting{}, gateway.Text("a "), gateway.Progress("$ ls"), gateway.Text("b"), gateway.Done{TextBefore: 2}},
			[]string{"started", "a ", "line $ ls", "b"},
			"b",
		},
		"queue": {
			[]gateway.Piece{gateway.Started{}, gateway.Waiting{Queue: 2}, gateway.Waiting{Queue: 2}, gateway.Waiting{Queue: 1}, gateway.Waiting{}, gateway.Waiting{}, gateway.Done{}},
			[]string{"started", "queue 2", "queue 1", "queue 0"},
			"",
		},
		"lost": {
			[]gateway.Piece{
				gateway.Started{},
				gateway.Text("The te"), gateway.Progress("$ ls"),
				gateway.Lost{},
				again, gateway.Text("The"), gateway.Text(" tests"), gateway.Progress("$ ls"), gateway.Progress("$ go"), gateway.Text(" pass"),
				gateway.Done{},
			},
			[]string{"started", "The te", "line $ ls", "lost", "sts", "line $ go", " pass"},
			"The tests pass",
		},
		"lost while it is repeated": {
			[]gateway.Piece{
				gateway.Started{},
				gateway.Text("The tests"),
				gateway.Lost{},
				again, gateway.Text("The"),
				gateway.Lost{},
				again, gateway.Text("The tests pass"),
				gateway.Done{},
			},
			[]string{"started", "The tests", "lost", "lost", " pass"},
			"The tests pass",
		},
		"another answer": {
			[]gateway.Piece{gateway.Started{}, gateway.Text("I will look"), gateway.Lost{}, again, gateway.Text("I can"), gateway.Text("not"), gateway.Done{}},
			[]string{"started", "I will look", "lost", "restart", "I can", "not"},
			"I cannot",
		},
		"notice": {
			[]gateway.Piece{gateway.Started{}, gateway.Text("a\n\nb\n\nWait."), gateway.Done{TextBefore: 3, Notice: "Wait."}},
			[]string{"started", "a\n\nb\n\nWait."},
			"b",
		},
		"odd": {
			[]gateway.Piece{gateway.Started{}, gateway.Text("ab"), gateway.Done{TextBefore: 99}},
			[]string{"started", "ab"},
			"ab",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, answer := plays(tc.pieces...)
			if diff := cmp.Diff(tc.shown, shown); diff != "" || answer != tc.answer {
				t.Errorf("answer %q, %s", answer, diff)
			}
		})
	}
}

func TestAnAnswerIsHarmlessOnATerminal(t *testing.T) {
	t.Parallel()
	const text = "a\x1b[2J\tb\r\n\x9b5mc\u202ed\u2066e\x07é日👍🏽\u200d\x7f"
	if got, want := harmless(text), "a[2J\tb\n\ufffd5mcdeé日👍🏽\u200d"; got != want {
		t.Errorf("harmless = %q, want %q", got, want)
	}
}

// A line of the agent may have the words of a repeated request.
func TestARepeatedRequestIsNotKnownByItsWords(t *testing.T) {
	t.Parallel()
	const line = "it is busy; attempt 2 of 5 in 16 s"
	for name, tt := range map[string]struct {
		piece gateway.Piece
		want  string
	}{
		"a repeated request": {gateway.Retry{Attempt: 2, Of: 5, Seconds: 16, Cause: "it is busy", Line: line}, "waiting for the model"},
		"words of the agent": {gateway.Progress(line), "the agent is at work"},
	} {
		var whole Transcript
		shown := whole.Add(tt.piece)
		if len(shown) != 1 || shown[0].line != line || !slices.Equal(whole.Progress, []string{line}) {
			t.Fatalf("%s: shown %+v, progress %q; want the line once", name, shown, whole.Progress)
		}
		if got := awaitedAfter(shown[0]); got != tt.want {
			t.Errorf("%s: afterwards %q, want %q", name, got, tt.want)
		}
	}
}
