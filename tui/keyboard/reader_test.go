package keyboard_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/keyboard"
)

// piece is what comes at once, a time after what came before.
type piece struct {
	after time.Duration
	text  string
}

// read gives what comes out of a reader: bytes as they are, messages in brackets.
func read(t *testing.T, pieces ...piece) string {
	t.Helper()
	return readTo(t, "", pieces)
}

// reads is the same with a mark behind each read that brings something.
func reads(t *testing.T, pieces ...piece) string {
	t.Helper()
	return readTo(t, "|", pieces)
}

func readTo(t *testing.T, mark string, pieces []piece) string {
	t.Helper()
	var mu sync.Mutex // Messages come from timers, too.
	var out strings.Builder
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		r := keyboard.NewReader(in, time.Now)
		r.Start(func(msg tea.Msg) {
			mu.Lock()
			defer mu.Unlock()
			switch msg := msg.(type) {
			case tea.PasteMsg:
				fmt.Fprintf(&out, "<paste %q>", msg.Content)
			case tea.KeyPressMsg:
				fmt.Fprintf(&out, "<%s>", msg)
			case tea.QuitMsg:
				out.WriteString("<quit>")
			}
		})
		go func() {
			for _, p := range pieces {
				time.Sleep(p.after)
				_, _ = io.WriteString(keys, p.text)
			}
			time.Sleep(time.Minute)
			_ = keys.Close()
		}()
		b := make([]byte, 4096)
		for {
			n, err := r.Read(b)
			mu.Lock()
			if out.Write(b[:n]); n > 0 {
				out.WriteString(mark)
			}
			mu.Unlock()
			if err != nil {
				break
			}
		}
		r.Close()
	})
	s, over := strings.CutSuffix(out.String(), "<quit>")
	if !over {
		t.Errorf("the end of the terminal ends nothing: %q", s)
	}
	return s
}

// late is after the time in which answers are due.
const late = 20 * time.Second

// colour is the answer to OSC 11.
const colour = "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\"

func TestATornAnswerIsNeitherTextNorKey(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"background":           colour,
		"background, BEL":      "\x1b]11;rgb:1e1e/1e1e/2e2e\a",
		"foreground with alfa": "\x1b]10;rgba:ffff/ffff/ffff/8000\a",
		"a colour as #":        "\x1b]4;1;#1e1e2e\a",
		"device attributes":    "\x1b[?62;22;52c",
		"second attributes":    "\x1b[>41;390;0c",
		"a mode":               "\x1b[?2026;2$y",
		"kitty":                "\x1b[?5u",
		"cursor":               "\x1b[24;80R",
		"version":              "\x1bP>|xterm(390)\x1b\\",
		"capability":           "\x1bP1+r524742=38\x1b\\",
		"third attributes":     "\x1bP!|7E565445\x1b\\",
		"graphics":             "\x1b_Gi=31;OK\x1b\\",
		"clipboard":            "\x1b]52;c;aGVsbG8=\a",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for cut := 1; cut < len(answer); cut++ {
				for _, pause := range []time.Duration{10 * time.Millisecond, 60 * time.Millisecond, 400 * time.Millisecond} {
					got := read(t, piece{0, "hel"}, piece{time.Second, answer[:cut]}, piece{pause, answer[cut:]}, piece{pause, "lo"})
					if want := "hel" + answer + "lo"; got != want {
						t.Errorf("torn at %d by %v: %q", cut, pause, got)
					}
				}
			}
		})
	}
}

func TestAnAnswerInManyPiecesIsNeitherTextNorKey(t *testing.T) {
	t.Parallel()
	pieces := []piece{{time.Second, "a"}}
	for _, c := range colour {
		pieces = append(pieces, piece{90 * time.Millisecond, string(c)})
	}
	if got, want := read(t, append(pieces, piece{90 * time.Millisecond, "b"})...), "a"+colour+"b"; got != want {
		t.Errorf("keys = %q, want %q", got, want)
	}
}

func TestALateAnswerThatIsTornIsNoText(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pieces []piece
		want   string
	}{
		"behind its Esc":          {[]piece{{late, "\x1b"}, {time.Second, colour[1:]}, {0, "x"}}, "<esc>" + colour + "x"},
		"an attribute, likewise":  {[]piece{{late, "\x1b"}, {time.Second, "[?62;22c"}, {0, "x"}}, "<esc>\x1b[?62;22cx"},
		"by very long":            {[]piece{{late, colour[:9]}, {time.Minute / 2, colour[9:]}, {0, "x"}}, colour + "x"},
		"its BEL comes late":      {[]piece{{0, "\x1b]11;rgb:1/2/3"}, {late, "\a"}}, "\x1b]11;rgb:1/2/3\a"},
		"the rest never comes":    {[]piece{{0, colour[:15]}, {late, "hello"}}, "hello"},
		"somebody types into it":  {[]piece{{0, colour[:15]}, {time.Second, "yes"}}, "yes"},
		"an arrow breaks it off":  {[]piece{{0, colour[:15]}, {time.Second, "\x1b[A"}}, "\x1b[A"},
		"an attribute, abandoned": {[]piece{{0, "\x1b[?62"}, {late, "c"}}, "c"},
		"Enter breaks it off":     {[]piece{{0, "\x1bP>|xte"}, {time.Second, "\r"}}, "\r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, tc.pieces...); got != tc.want {
				t.Errorf("keys = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestKeysComeAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pieces []piece
		want   string
	}{
		"text and Enter":      {[]piece{{late, "hello\r"}}, "hello\r"},
		"two Enters":          {[]piece{{late, "hello\r\r"}}, "hello\r\r"},
		"Esc":                 {[]piece{{late, "a\x1b"}, {time.Second, "b"}}, "a<esc>b"},
		"Esc at the start":    {[]piece{{time.Second, "\x1b"}, {time.Second, "b"}}, "<esc>b"},
		"Esc, then a letter":  {[]piece{{time.Second, "\x1b"}, {100 * time.Millisecond, "b"}}, "\x1b[27ub"},
		"Esc, then a bracket": {[]piece{{late, "\x1b"}, {time.Second, "[x"}}, "<esc>[x"},
		"two Escs":            {[]piece{{late, "\x1b\x1b"}}, "\x1b<esc>"},
		"Alt":                 {[]piece{{late, "\x1bb\x1bн"}}, "\x1bb\x1bн"},
		"Alt and a bracket":   {[]piece{{late, "\x1b]"}, {time.Second, "yes"}}, "\x1b]yes"},
		"arrows":              {[]piece{{late, "\x1b[A\x1bOB\x1b[1;5C\x1b\x1b[D"}}, "\x1b[A\x1bOB\x1b[1;5C\x1b\x1b[D"},
		"a torn arrow":        {[]piece{{late, "\x1b["}, {200 * time.Millisecond, "A"}}, "\x1b[A"},
		"a wheel":             {[]piece{{late, "\x1b[<64;10;5M"}}, "\x1b[<64;10;5M"},
		"a paste":             {[]piece{{late, "\x1b[200~a\rb\x1b]11;c\x1b[201~d"}}, "\x1b[200~a\rb\x1b]11;c\x1b[201~d"},
		"a paste's torn end":  {[]piece{{late, "\x1b[200~a\rb\x1b[20"}, {time.Second, "1~d"}}, "\x1b[200~a\rb\x1b[201~d"},
		"a paste's torn head": {[]piece{{late, "\x1b[2"}, {time.Second, "00~a\rb\x1b[201~"}}, "\x1b[200~a\rb\x1b[201~"},
		"the answer, twice":   {[]piece{{late, colour + colour}}, colour + colour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, tc.pieces...); got != tc.want {
				t.Errorf("keys = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLinesThatComeAtOnceAreAPaste(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü line\r", 2000)
	for name, tc := range map[string]struct {
		pieces []piece
		want   string
	}{
		"CR":                       {[]piece{{late, "one\rtwo"}}, `<paste "one\rtwo">`},
		"CRLF, ended":              {[]piece{{late, "one\r\n\ttwo\r\n"}}, `<paste "one\r\n\ttwo\r\n">`},
		"LF behind an empty line":  {[]piece{{late, "\n\none\n\ntwo"}}, `<paste "\n\none\n\ntwo">`},
		"the last line comes late": {[]piece{{late, "one\rtwo\r"}, {20 * time.Millisecond, "three\r"}}, `<paste "one\rtwo\rthree\r">`},
		"then Enter":               {[]piece{{late, "one\rtwo"}, {time.Second, "\r"}}, `<paste "one\rtwo">` + "\r"},
		"then an arrow at once":    {[]piece{{late, "one\rtwo"}, {time.Millisecond, "\x1b[A"}}, `<paste "one\rtwo">` + "\x1b[A"},
		"more than a read":         {[]piece{{late, long}}, fmt.Sprintf("<paste %q>", long)},
		"then Esc":                 {[]piece{{late, "one\rtwo\x1b"}}, `<paste "one\rtwo"><esc>`},
		"then half an answer":      {[]piece{{late, "one\rtwo\x1b]11;rg"}, {late, "x"}}, `<paste "one\rtwo">x`},
		"in many pieces of both": {[]piece{
			{late, "one\rtwo\r" + colour[:5]}, {time.Second, colour[5:]}, {40 * time.Millisecond, "three\r"}, {40 * time.Millisecond, colour}, {40 * time.Millisecond, "four\r"},
		}, colour + colour + `<paste "one\rtwo\rthree\rfour\r">`},
		"lines of fingers": {[]piece{{late, "one\r"}, {time.Second, "two\r"}}, "one\rtwo\r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, tc.pieces...); got != tc.want {
				t.Errorf("keys = %q, want %q", got, tc.want)
			}
		})
	}
}

// A terminal answers while a text is pasted, or in the same read: the lines are still
// a paste, and the answer is not in it.
func TestAnAnswerInAPasteBreaksNothing(t *testing.T) {
	t.Parallel()
	for name, report := range map[string]string{
		"a colour": colour, "twice": colour + colour, "attributes": "\x1b[?62;22c", "a version": "\x1bP>|tmux 3.4\x1b\\",
		"a focus": "\x1b[I", "a click": "\x1b[<0;3;4m",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, begin := range []time.Duration{time.Second, late} {
				want := report + `<paste "one\r!two\rthree\r">`
				for what, pieces := range map[string][]piece{
					"between reads": {{begin, "one\r!tw"}, {10 * time.Millisecond, report}, {10 * time.Millisecond, "o\rthree\r"}},
					"in one read":   {{begin, "one\r!tw" + report + "o\rthree\r"}},
					"before":        {{begin, report + "one\r!two\rthree\r"}},
					"behind":        {{begin, "one\r!two\rthree\r" + report}},
					"first line":    {{begin, "on" + report + "e\r!two\r"}, {10 * time.Millisecond, "three\r"}},
				} {
					if got := read(t, pieces...); got != want {
						t.Errorf("%s: keys = %q, want %q", what, got, want)
					}
				}
				for cut := 1; cut < len(report); cut++ {
					for _, pause := range []time.Duration{10 * time.Millisecond, 120 * time.Millisecond, 400 * time.Millisecond} {
						got := read(t, piece{begin, "one\r!tw" + report[:cut]}, piece{pause, report[cut:] + "o\rthree\r"})
						if got != want {
							t.Errorf("torn at %d by %v: %q, want %q", cut, pause, got, want)
						}
					}
				}
			}
		})
	}
}

func TestATornAnswerInBracketsComesAsAWhole(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{colour, "\x1b]10;rgb:ffff/ffff/ffff\a", "\x1b[?62;22c", "\x1bP>|tmux 3.4\x1b\\"} {
		for cut := 1; cut < len(answer); cut++ {
			for _, pause := range []time.Duration{10 * time.Millisecond, 10 * time.Second} {
				if got, want := reads(t, piece{late, "\x1b[200~a\r" + answer[:cut]}, piece{pause, answer[cut:] + "b\x1b[201~c"}), "\x1b[200~a\r|"+answer+"b\x1b[201~c|"; got != want {
					t.Errorf("torn at %d by %v: %q, want %q", cut, pause, got, want)
				}
			}
		}
	}
}

func TestAPasteInBracketsEndsWhateverIsInIt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a", "\x1b", "\x1b\x1b", "\x1b]11;", "\x1b]11;rgb:1\x1b", "\x1b]11;x", "\x1b[?", "\x1bP>|x", "\x1b_", "\x1b]", "\x1b[20", "\x1b]52;c;" + strings.Repeat("A", 3000)} {
		whole := "\x1b[200~" + text + "\x1b[201~b"
		for cut := max(6, len(whole)-20); cut < len(whole); cut++ {
			for _, pause := range []time.Duration{10 * time.Millisecond, 10 * time.Second} {
				if got := read(t, piece{late, whole[:cut]}, piece{pause, whole[cut:]}); got != whole {
					t.Errorf("torn at %d by %v: %q, want %q", cut, pause, got, whole)
				}
			}
		}
	}
}
