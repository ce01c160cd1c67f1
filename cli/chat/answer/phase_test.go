package answer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
)

func reading(read int64) Piece {
	return Piece{phase: &gateway.Phase{Name: "reading", Prompt: 1925, Read: read}}
}

func TestTheLineSaysWhatAModelIsWaitedFor(t *testing.T) {
	t.Parallel()
	const erase = "\r\x1b[K"
	got := silence(t, true, true, false,
		[]time.Duration{0, 5500 * time.Millisecond, time.Second, 0, 5500 * time.Millisecond, time.Second},
		Piece{phase: &gateway.Phase{Name: "loading"}}, reading(0), reading(962), reading(1925), Piece{phase: &gateway.Phase{Name: "writing"}}, Piece{text: "yes"})
	for _, said := range []string{"loading the model, 5 s", "reading the prompt, 1,925 tokens, 100%, 6 s"} {
		if strings.Count(got, said) != 1 {
			t.Errorf("%q does not have %q once", got, said)
		}
	}
	if !strings.HasSuffix(got, erase) {
		t.Errorf("%q: the line is still there", got)
	}
}

func TestALogHasTheWholeTimeOfALongPrompt(t *testing.T) {
	t.Parallel()
	pieces, pauses := []Piece{}, []time.Duration{}
	for read := range int64(20) { // every 4 s: no silence of its own
		pieces, pauses = append(pieces, reading(read*100)), append(pauses, 4*time.Second)
	}
	got := strings.Split(silence(t, false, false, false, pauses, pieces...), "\n")
	want := []string{"reading the prompt, 1,925 tokens, 5%, 5 s", "reading the prompt, 1,925 tokens, 83%, 65 s", ""}
	if !slices.Equal(got, want) {
		t.Errorf("silences = %q, want %q", got, want)
	}
}

func TestTheSpeedIsThatOfAllCalls(t *testing.T) {
	t.Parallel()
	for want, phases := range map[string][]gateway.Phase{
		"": {{Name: "reading", Prompt: 9}, {Name: "done"}},
		"read 3000 tokens at 100.0 tokens/s, wrote 30 tokens at 7.5 tokens/s": {
			{Name: "done", Prompt: 2000, Read: 2000, ReadSeconds: 20, Written: 10, WriteSeconds: 1},
			{Name: "done", Prompt: 2100, Read: 1000, ReadSeconds: 10, Written: 20, WriteSeconds: 3},
		},
		"wrote 1 token at 2.0 tokens/s": {{Name: "done", Written: 1, WriteSeconds: 0.5}},
	} {
		var s Speed
		for _, p := range phases {
			s.add(p)
		}
		if got := s.String(); got != want {
			t.Errorf("text = %q, want %q", got, want)
		}
	}
}
