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
			out.Write(b[:n])
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
		t.Errorf("%q, want %q", got, want)
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
				t.Errorf("%q, want %q", got, tc.want)
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
				t.Errorf("%q, want %q", got, tc.want)
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
		"lines of fingers":         {[]piece{{late, "one\r"}, {time.Second, "two\r"}}, "one\rtwo\r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, tc.pieces...); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
