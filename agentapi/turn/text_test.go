package turn_test

import (
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// step is one text of the model: what precedes a tool call, or the answer.
type step struct {
	text   string
	pieces []string // its deltas; nil: none came
	tool   bool
}

// texts are texts as models write them: more than white space.
func texts() *rapid.Generator[string] {
	return rapid.StringMatching(`[a-zé🚀][a-zé🚀 \n]{0,30}[a-zé🚀.]`)
}

// split cuts s at any runes.
func split(t *rapid.T, s string) []string {
	var pieces []string
	for s != "" {
		n := rapid.IntRange(1, len(s)).Draw(t, "piece")
		for n < len(s) && s[n]&0xc0 == 0x80 {
			n++
		}
		pieces = append(pieces, s[:n])
		s = s[n:]
	}
	return pieces
}

// play reads steps and gives the live text.
func (s step) play(t *rapid.T, l *log, r *turn.Reader, out *shown) {
	add := func(e event.Event) {
		updates, err := r.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		out.add(updates)
	}
	for _, piece := range s.pieces {
		add(l.delta(piece))
	}
	if !s.tool {
		add(l.message(s.text))
		return
	}
	a := l.action(s.text, "terminal", `{"command":"ls"}`)
	add(a)
	add(l.result(a))
}

func TestLiveTextIsEveryStepOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var want []string
		l := &log{}
		r := began(t, l)
		var out shown
		for i := range rapid.IntRange(0, 5).Draw(rt, "steps") {
			s := step{text: texts().Draw(rt, "text"), tool: true}
			switch rapid.IntRange(0, 3).Draw(rt, "live") {
			case 0: // no deltas: an old server, or a replay
			case 1: // a connection that was lost half way
				pieces := split(rt, s.text)
				s.pieces = pieces[:rapid.IntRange(0, len(pieces)).Draw(rt, "kept")]
			default:
				s.pieces = split(rt, s.text)
			}
			if rapid.Bool().Draw(rt, "first is empty") {
				s.pieces = append([]string{""}, s.pieces...)
			}
			_ = i
			want = append(want, s.text)
			s.play(rt, l, r, &out)
		}
		last := step{text: texts().Draw(rt, "answer")}
		if rapid.Bool().Draw(rt, "answer is live") {
			last.pieces = split(rt, last.text)
		}
		want = append(want, last.text)
		last.play(rt, l, r, &out)
		if joined := strings.Join(want, "\n\n"); out.text != joined {
			rt.Fatalf("live text %q, want %q", out.text, joined)
		}
		if got := r.Result().Answer; got != last.text {
			rt.Fatalf("answer %q, want %q", got, last.text)
		}
	})
}

func TestLiveTextEndsWithTheAnswerAfterARetry(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := step{text: texts().Draw(rt, "text")}
		// The provider fails half way, and the model writes something else.
		broken := split(rt, texts().Draw(rt, "broken off"))
		s.pieces = append(broken, split(rt, s.text)...)
		l := &log{}
		r := began(t, l)
		var out shown
		s.play(rt, l, r, &out)
		if !strings.HasSuffix(out.text, s.text) {
			rt.Fatalf("live text %q does not end with %q", out.text, s.text)
		}
		if len(out.text) > len(strings.Join(s.pieces, "")) {
			rt.Fatalf("live text %q has more than the pieces %q", out.text, s.pieces)
		}
	})
}

func TestFinishMessageFollowsItsThought(t *testing.T) {
	t.Parallel()
	const finish = `{"message":"The answer.","kind":"FinishAction"}`
	tests := []struct {
		name    string
		deltas  []string
		thought string
		want    string
	}{
		{"nothing was live", nil, "", "The answer."},
		{"the thought was live", []string{"I am ", "done."}, "I am done.", "I am done.\n\nThe answer."},
		{"the message was live", []string{"The ", "answer."}, "", "The answer."},
		{"half of the message was live", []string{"The "}, "", "The answer."},
		{"both were live", []string{"Done.", "\n\n", "The ", "answer."}, "Done.", "Done.\n\nThe answer."},
		{"the thought is the message", []string{"The answer."}, "The answer.", "The answer."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := &log{}
			r := began(t, l)
			var events []event.Event
			for _, d := range tt.deltas {
				events = append(events, l.delta(d))
			}
			got, _ := read(t, r, append(events, l.action(tt.thought, "finish", finish)))
			if got.text != tt.want || r.Result().Answer != "The answer." {
				t.Errorf("live text %q, want %q; answer %q", got.text, tt.want, r.Result().Answer)
			}
		})
	}
}

// Servers trim what the model has written; it is the same text.
func TestATextThatIsTrimmedIsShownOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		deltas []string
		whole  string
		want   string // with "Next." after it
	}{
		{"both ends", []string{" Hello", " world", " \n"}, "Hello world", " Hello world \n\n\nNext."},
		{"its beginning", []string{"\n\t Hello", " world"}, "Hello world", "\n\t Hello world\n\nNext."},
		{"its end", []string{"Hello ", "world\r\n"}, "Hello world", "Hello world\r\n\n\nNext."},
		{"half was live", []string{" Hel"}, "Hello world", " Hello world\n\nNext."},
		{"not trimmed", []string{" Hello", " world "}, " Hello world ", " Hello world \n\nNext."},
		{"after a retry", []string{"Hel", " Hello", " world "}, "Hello world", "Hel Hello world \n\nNext."},
		{"another text", []string{" Hello "}, "Goodbye", " Hello \n\nGoodbye\n\nNext."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, next := range [][]string{nil, {"Ne", "xt."}, {"Next.", "\n"}} {
				l := &log{}
				r := began(t, l)
				var events []event.Event
				for _, d := range tt.deltas {
					events = append(events, l.delta(d))
				}
				a := l.action(tt.whole, "terminal", `{"command":"ls"}`)
				events = append(events, a, l.result(a))
				for _, d := range next {
					events = append(events, l.delta(d))
				}
				got, _ := read(t, r, append(events, l.message("Next.")))
				if strings.TrimSuffix(got.text, "\n") != tt.want {
					t.Errorf("live text %q, want %q", got.text, tt.want)
				}
			}
		})
	}
}

// A long answer in small pieces costs what it is long, not its square.
func TestLiveTextIsLinear(t *testing.T) {
	allocated := func(pieces int) uint64 {
		l := &log{}
		r := began(t, l)
		events := make([]event.Event, 0, pieces)
		for range pieces {
			events = append(events, l.delta("0123456789abcdef"))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, e := range events {
			if _, err := r.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	short, long := allocated(2000), allocated(16_000)
	t.Logf("%d bytes for 32 kB, %d bytes for 256 kB", short, long)
	if long > 16*short {
		t.Errorf("8 times the text takes %d times the memory", long/short)
	}
}

func BenchmarkLiveText256KiB(b *testing.B) {
	l := &log{}
	var events []event.Event
	for range 16_384 {
		events = append(events, l.delta("0123456789abcdef"))
	}
	b.SetBytes(256 << 10)
	b.ReportAllocs()
	for b.Loop() {
		r := began(b, &log{})
		for _, e := range events {
			if _, err := r.Add(e); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func TestReasoningIsNoText(t *testing.T) {
	t.Parallel()
	l := &log{}
	r := began(t, l)
	thinking := "hm"
	got, _ := read(t, r, []event.Event{
		l.event(event.SourceAgent, &event.Delta{ReasoningContent: &thinking}), l.delta("ok"), l.message("ok"),
	})
	if got.text != "ok" {
		t.Errorf("live text %q", got.text)
	}
}

func BenchmarkReader(b *testing.B) {
	events := recording(b, "tool-then-finish")
	b.ReportAllocs()
	for b.Loop() {
		r := turn.NewReader(nil)
		if _, rest := read(b, r, events); rest == nil || !r.Done() {
			b.Fatal("the turn is not over")
		}
	}
}
