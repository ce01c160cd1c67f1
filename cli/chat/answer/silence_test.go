package answer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/iostream"
)

// mute prints nothing by itself.
type mute struct{}

func (mute) Piece(Piece) error    { return nil }
func (mute) End(Turn, bool) error { return nil }

// silence lets an answer come in pieces, with pauses before them, and gives what
// stderr shows.
func silence(t *testing.T, tty, stdout, quiet bool, pauses []time.Duration, pieces ...Piece) string {
	t.Helper()
	var said string
	synctest.Test(t, func(t *testing.T) {
		a := clitest.New(t, nil)
		a.Now, a.Quiet = time.Now, quiet
		a.Stdout, a.Stderr = iostream.New(&a.Out, stdout, nil), iostream.New(&a.Err, tty, nil)
		s := speak(a.App, mute{})
		for i, pause := range pauses {
			time.Sleep(pause)
			synctest.Wait()
			if i == len(pieces) {
				break
			}
			if err := s.Piece(pieces[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.End(Turn{}, true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // nothing comes after the end
		said = a.Err.String()
	})
	return said
}

func TestALogHearsOfASilenceAtOnceAndThenEachMinute(t *testing.T) {
	t.Parallel()
	got := strings.Split(silence(t, false, false, false,
		[]time.Duration{4 * time.Second, 30 * time.Second, 7 * time.Second, 130 * time.Second},
		Piece{waiting: true, queue: 2}, Piece{started: &gateway.Started{}}, Piece{line: "$ make"}), "\n")
	want := []string{
		"waiting for other requests, 5 s", "waiting for the model, 5 s",
		"the agent is at work, 5 s", "the agent is at work, 65 s", "the agent is at work, 125 s", "",
	}
	if !slices.Equal(got, want) {
		t.Errorf("silences = %q, want %q", got, want)
	}
}

func TestATerminalHasOneLineOfASilence(t *testing.T) {
	t.Parallel()
	got := silence(t, true, true, false, []time.Duration{7500 * time.Millisecond, time.Minute}, Piece{text: "Paris"})
	const erase = "\r\x1b[K"
	var want strings.Builder
	for i := range 7 {
		fmt.Fprintf(&want, "%swaiting for the model, %d s", erase, i+1)
	}
	want.WriteString(erase)
	if got != want.String() {
		t.Errorf("silence = %q, want %q: the line is replaced, is gone before the text, and does not stand in it", got, want.String())
	}
}

func TestASilenceInATextIsToldWhereTheTextGoesElsewhere(t *testing.T) {
	t.Parallel()
	if got := silence(t, true, false, false, []time.Duration{0, 5100 * time.Millisecond}, Piece{text: "Par"}); !strings.Contains(got, "the agent is at work, 5 s") {
		t.Errorf("silence = %q", got)
	}
}

// A model that is loaded for 40 s, or reads for 40 s, is told of within 2 s: on a terminal,
// and in a file if it is loaded.
func TestTheFirstWordComesBeforeAPersonWonders(t *testing.T) {
	t.Parallel()
	again := Piece{line: "127.0.0.1:8080 refuses connections; attempt 2 of 2 in 2 s", again: true}
	for name, tt := range map[string]struct {
		tty    bool
		pieces []Piece
		want   string
	}{
		"nothing is told":          {true, nil, "waiting for the model, 1 s"},
		"the question is taken":    {true, []Piece{{started: &gateway.Started{}}}, "waiting for the model, 1 s"},
		"it is loaded":             {true, []Piece{{phase: &gateway.Phase{Name: "loading"}}}, "loading the model, 1 s"},
		"it reads":                 {true, []Piece{reading(0)}, "reading the prompt, 1,925 tokens, 1 s"},
		"loaded, in a file":        {false, []Piece{{phase: &gateway.Phase{Name: "loading"}}}, "loading the model, 1 s"},
		"asked again":              {true, []Piece{again}, "waiting for the model, 1 s"},
		"asked again, then loaded": {true, []Piece{again, {phase: &gateway.Phase{Name: "loading"}}}, "loading the model, 1 s"},
	} {
		pauses := append(make([]time.Duration, len(tt.pieces)), 1500*time.Millisecond)
		if got := silence(t, tt.tty, tt.tty, false, pauses, tt.pieces...); strings.Count(got, tt.want) != 1 {
			t.Errorf("%s: %q does not have %q once", name, got, tt.want)
		}
	}
}

func TestNothingIsSaidOfASilenceWithQuiet(t *testing.T) {
	t.Parallel()
	if got := silence(t, true, true, true, []time.Duration{time.Hour}); got != "" {
		t.Errorf("silence = %q", got)
	}
}
