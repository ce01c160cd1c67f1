package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
)

// replies are what a terminal answers to a program that asks it. A part of the first
// one, taken for a key, opens the editor; a part of others would be a letter.
var replies = []string{
	"\x1b]11;rgb:1e1e/1e1e/2e2e\a", "\x1b[?2026;2$y", "\x1b[?5u", "\x1b[?62;22c", "\x1bP>|tmux 3.4\x1b\\", "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\",
}

// burst is what a line brings at once, and how long it is quiet behind it.
type burst struct {
	text  string
	quiet time.Duration
}

const (
	// slip is how long a line is quiet in the middle of a text.
	slip = 5 * time.Millisecond
	// settled is how long it takes until the reader waits for nothing more.
	settled = 600 * time.Millisecond
	// late is longer than answers are due.
	late = 11 * time.Second
)

// answering is a way to answer: it gives what the line brings in the place of the nth
// answer. The chat's clock is ahead by then.
type answering struct {
	name  string
	ahead time.Duration
	nth   func(n int) []burst
}

func whole(n int) []burst { return []burst{{replies[n%len(replies)], slip}} }

// torn tears the replies at each place. Between the parts it is quiet for longer and for
// shorter than the reader waits after a lone Esc.
func torn(n int) []burst {
	places := 0
	for _, r := range replies {
		places += len(r) - 1
	}
	at, quiet := n%places+1, [...]time.Duration{slip, 60 * time.Millisecond}[n%2]
	for _, r := range replies {
		if at < len(r) {
			return []burst{{r[:at], quiet}, {r[at:], slip}}
		}
		at -= len(r) - 1
	}
	panic("no such place")
}

var answerings = []answering{
	{"never", 0, func(int) []burst { return nil }},
	{"late", late, whole},
	{"torn", 0, torn},
	{"torn, late", late, torn},
	{"twice", 0, func(n int) []burst { r := whole(n)[0]; return []burst{{r.text + r.text, slip}} }},
}

// wire is a line to a terminal on which everything is written ahead.
type wire struct{ bursts []burst }

func (w *wire) brings(bursts ...burst) { w.bursts = append(w.bursts, bursts...) }

// pasted is the nth text that is pasted. Its lines would do harm as commands.
func pasted(n int) (begin, end string) { return fmt.Sprintf("%d\r!rm", n), fmt.Sprintf(" %d\r!cp ", n) }

// pastes brings five texts with an answer: in the middle in reads of its own, in that
// of the first half, of the second, of both, and before the text.
func (w *wire) pastes(a answering, n int, open, shut string) (text string) {
	for i := range 5 {
		begin, end := pasted(i)
		text += begin + end
		first, second, answer := burst{open + begin, slip}, burst{end + shut, settled}, a.nth(n+7*i)
		pieces := len(answer)
		all := slices.Concat([]burst{first}, answer, []burst{second})
		switch {
		case pieces == 0:
		case i == 4:
			all = joined(slices.Concat(answer, []burst{first, second}), pieces-1)
		default:
			if i&2 != 0 {
				all = joined(all, pieces)
			}
			if i&1 != 0 {
				all = joined(all, 0)
			}
		}
		w.brings(all...)
	}
	return strings.ReplaceAll(text, "\r", "\n")
}

// joined makes one read of the one at a place and the next one.
func joined(all []burst, at int) []burst {
	all[at+1].text = all[at].text + all[at+1].text
	return slices.Delete(all, at, at+1)
}

// heard is what reached the input, and what ran.
type heard struct {
	mu    sync.Mutex
	input string
	ran   []string
}

func (h *heard) runs(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ran = append(h.ran, what)
}

// Run implements [Local].
func (h *heard) Run(_ context.Context, _, line string, _ io.Writer) (int, error) {
	h.runs("!" + line)
	return 0, nil
}

// Names implements [Local].
func (h *heard) Names(context.Context, string, bool) ([]string, bool, error) { return nil, false, nil }

// Find implements [Local].
func (h *heard) Find(string, string) (File, bool) { return File{}, false }

// edits is asked for an editor, and has none.
func (h *heard) edits(text string) (*Draft, error) {
	h.runs("edit")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.input = text
	return nil, errors.New("no editor")
}

// gateway has an agent that wants to run something.
func (h *heard) gateway() *script {
	s := wants("make")
	answer := s.answer
	s.answer = func(ctx context.Context, q gateway.Question, say func(gateway.Piece)) error {
		h.mu.Lock()
		input := h.input
		h.mu.Unlock()
		switch {
		case q.Decision != "":
			h.runs(string(q.Decision) + " make")
		case q.Text == input:
			h.runs("ask")
		default:
			h.runs(fmt.Sprintf("ask %q", q.Text))
		}
		return answer(ctx, q, say)
	}
	return s
}

// chats runs a chat with what the line brings, until the line is over. Once it has
// begun, its clock goes ahead: a chat that idles that long is slow to test.
func (w *wire) chats(t *testing.T, ahead time.Duration) (h *heard, out string) {
	h = &heard{}
	var screen strings.Builder
	synctest.Test(t, func(t *testing.T) {
		in, keys := io.Pipe()
		begin := time.Now()
		now := func() time.Time {
			t := time.Now()
			if t.Sub(begin) > slip {
				t = t.Add(ahead)
			}
			return t
		}
		cfg := Config{
			Endpoint: h.gateway(), Now: now, NewID: func() string { return "c-1" }, In: in, Out: &screen, Environ: []string{"TERM=xterm-256color"},
			Place: Place{Title: "here"}, Local: h, Start: Start{Workspace: "/src"}, Edit: h.edits,
		}
		var typist sync.WaitGroup
		over := make(chan struct{})
		typist.Go(func() {
			for _, b := range w.bursts {
				if b.text != "" {
					_, _ = io.WriteString(keys, b.text) // fails once the chat is over
				}
				time.Sleep(b.quiet)
			}
			close(over)
			_ = keys.Close() // ends a chat that the keys have not ended
		})
		if err := Run(t.Context(), cfg); err != nil {
			t.Errorf("Run = %v", err)
		}
		select {
		case <-over:
		default:
			h.runs("quit")
		}
		_ = in.Close()
		typist.Wait()
		time.Sleep(time.Minute) // for the last ticks
	})
	return h, screen.String()
}

// layout is a layout with a sentence in its letters, and the keys at the places of
// Ctrl+G, Ctrl+C and y.
type layout struct{ name, sentence, edit, leave, yes string }

var layouts = []layout{
	{"Russian", "привет мир ", "\x1b[1087;5u", "\x1b[1089;5u", "н"},
	{"Greek", "γειά κόσμε ", "\x1b[947;5u", "\x1b[968;5u", "υ"},
	{"Hebrew", "שלום עולם ", "\x1b[1506;5u", "\x1b[1489;133u", "ט"},
}

// conversation writes a sentence and pastes texts, shows an editor what is in the
// input, sends it, accepts what the agent wants, and leaves. Answers of the terminal
// come between the letters, in the pastes, and while the agent waits, from the nth on.
func (w *wire) conversation(a answering, n int, l layout, open, shut string) (text string) {
	answer := func() {
		w.brings(a.nth(n)...)
		n++
	}
	w.brings(burst{"", 2 * slip})
	for _, letter := range l.sentence {
		answer()
		w.brings(burst{string(letter), 0})
	}
	w.brings(burst{"", slip})
	text = l.sentence + w.pastes(a, n, open, shut)
	w.brings(burst{l.edit, slip}, burst{"\r", slip})
	for range 8 {
		answer()
	}
	w.brings(burst{"", settled}, burst{l.yes, slip}, burst{"\r", slip})
	w.brings(burst{l.leave, slip}, burst{l.leave, time.Minute})
	return text
}

// Ways of a terminal to answer, layouts and ways to paste, each with each: what was
// typed and pasted is in the input, once, and nothing runs but what the keys say.
func TestTerminalsLayoutsAndPastes(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	row := func(cells ...any) { fmt.Fprintf(&table, "%-10s  %-7s  %-11s  %-30s  %s\n", cells...) }
	row("answers", "layout", "paste", "ran", "input")
	for _, a := range answerings {
		for i, l := range layouts {
			for j, paste := range [][3]string{{"brackets", "\x1b[200~", "\x1b[201~"}, {"no brackets"}} {
				var w wire
				text := w.conversation(a, 14*(2*i+j), l, paste[1], paste[2])
				h, out := w.chats(t, a.ahead)
				ran := strings.Join(h.ran, ", ")
				row(a.name, l.name, paste[0], ran, fmt.Sprintf("%q", h.input))
				if h.input != text {
					t.Errorf("%s, %s, %s: in the input is\n%q, want\n%q", a.name, l.name, paste[0], h.input, text)
				}
				if want := "edit, ask, accept make, quit"; ran != want {
					t.Errorf("%s, %s, %s: ran %q, want %q", a.name, l.name, paste[0], ran, want)
				}
				if !strings.Contains(out, "\x1b]11;?") || !strings.Contains(out, "\x1b[?2026$p") {
					t.Error("the chat asks the terminal for nothing")
				}
			}
		}
	}
	t.Logf("\n%s", table.String())
	isGolden(t, "terminals.golden", table.String())
}
