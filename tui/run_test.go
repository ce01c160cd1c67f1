//go:build unix

package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ohgw/ohgw/internal/gateway"
)

// terminal is a real one, with what was written to it.
type terminal struct {
	*testing.T
	keys, tty *os.File
	mu        sync.Mutex
	out       strings.Builder
	change    chan struct{}
	reader    sync.WaitGroup
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(keys, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	term := &terminal{T: t, keys: keys, tty: tty, change: make(chan struct{}, 1)}
	term.reader.Go(term.read)
	t.Cleanup(func() {
		_ = tty.Close()
		_ = keys.Close()
		term.reader.Wait()
	})
	return term
}

func (t *terminal) read() {
	b := make([]byte, 4096)
	for {
		n, err := t.keys.Read(b)
		t.mu.Lock()
		t.out.Write(b[:n])
		t.mu.Unlock()
		select {
		case t.change <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (t *terminal) written() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.String()
}

// sees waits until text was written.
func (t *terminal) sees(text string) {
	t.Helper()
	limit := time.After(time.Minute)
	for !strings.Contains(t.written(), text) {
		select {
		case <-t.change:
		case <-limit:
			t.Fatalf("%q does not come: %q", text, t.written())
		}
	}
}

func (t *terminal) types(s string) {
	t.Helper()
	if _, err := t.keys.WriteString(s); err != nil {
		t.Fatal(err)
	}
}

// runs a chat in the terminal and gives what Run returns.
func (t *terminal) runs(ctx context.Context, s *script, change func(*Config)) <-chan error {
	cfg := Config{
		Endpoint: s, Now: time.Now, NewID: func() string { return "c-1" }, In: t.tty, Out: t.tty, Environ: []string{"TERM=xterm-256color"},
		Place: Place{Title: "here"}, Hints: Hints{Resume: func(id string) string { return "ohgw chat --conversation " + id }},
	}
	if change != nil {
		change(&cfg)
	}
	end := make(chan error, 1)
	go func() { end <- Run(ctx, cfg) }()
	return end
}

const (
	enterScreen = "\x1b[?1049h"
	leaveScreen = "\x1b[?1049l"
)

// restored checks that the terminal is as before.
func (t *terminal) restored() {
	t.Helper()
	t.sees("\x1b[?1007r")
	out := t.written()
	for on, off := range map[string]string{enterScreen: leaveScreen, "\x1b[?2004h": "\x1b[?2004l", "\x1b[?25l": "\x1b[?25h"} {
		if strings.LastIndex(out, off) < strings.LastIndex(out, on) {
			t.Errorf("%q is not taken back by %q: %q", on, off, out[max(0, len(out)-300):])
		}
	}
}

func TestTerminalIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	answer := says(gateway.Started{}, gateway.Text("the answer"), finished())
	for _, tc := range []struct {
		name string
		play func(t *terminal, cancel context.CancelFunc)
		ok   func(error) bool
	}{
		{"leaving", func(t *terminal, _ context.CancelFunc) { t.types("/quit\r") }, func(err error) bool { return err == nil }},
		{"the end of the context", func(_ *terminal, cancel context.CancelFunc) { cancel() }, func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"a panic", func(t *terminal, _ context.CancelFunc) {
			t.types("panic\r")
			t.sees("Internal error in ohgw: panic: made to")
			t.types("/quit\r")
		}, func(err error) bool { return err == nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := &script{}
			s.answer = func(ctx context.Context, q gateway.Question, say func(gateway.Piece)) error {
				if q.Text == "panic" {
					panic("made to")
				}
				return answer(ctx, q, say)
			}
			end := term.runs(ctx, s, nil)
			term.sees("ready")
			term.types("hello\r")
			term.sees("the answer")
			tc.play(term, cancel)
			err := <-end
			term.restored()
			if !tc.ok(err) {
				t.Errorf("Run = %v", err)
			}
			if err == nil {
				term.sees("Continue later with: ohgw chat --conversation c-1")
			}
		})
	}
}

func TestColoursAreLeftOutWhenAsked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		change  func(*Config)
		colours bool
	}{
		{"by default", func(*Config) {}, true},
		{"by the environment", func(cfg *Config) { cfg.Environ = append(cfg.Environ, "NO_COLOR=1") }, false},
		{"by the caller", func(cfg *Config) { cfg.NoColor = true }, false},
	} {
		term := openTerminal(t)
		end := term.runs(t.Context(), &script{answer: says(gateway.Started{}, gateway.Text("`code` and the end"), finished())}, tc.change)
		term.sees("ready")
		term.types("hello\r")
		term.sees("and the end")
		term.types("/quit\r")
		if err := <-end; err != nil {
			t.Errorf("%s: Run = %v", tc.name, err)
		}
		if got := strings.Contains(term.written(), "38;5;") || strings.Contains(term.written(), "[3"+"5m"); got != tc.colours {
			t.Errorf("%s: colours %v, want %v", tc.name, got, tc.colours)
		}
	}
}

func TestTerminalWithoutASizeIsUsable(t *testing.T) {
	t.Parallel()
	term := openTerminal(t)
	if err := pty.Setsize(term.keys, &pty.Winsize{}); err != nil {
		t.Fatal(err)
	}
	end := term.runs(t.Context(), &script{}, nil)
	term.sees("ready")
	term.types("/quit\r")
	if err := <-end; err != nil {
		t.Errorf("Run = %v", err)
	}
}

func TestKeysOfRealTerminalsArrive(t *testing.T) {
	t.Parallel()
	term := openTerminal(t)
	s := &script{answer: says(gateway.Started{}, gateway.Text("the answer"), finished())}
	end := term.runs(t.Context(), s, nil)
	term.sees("ready")
	term.types("one\x1b\rtwo\nthree\x1b[13;2ufour\x1b[200~pasted\rtext\x1b[201~\r")
	term.sees("the answer")
	term.types("/quit\r")
	if err := <-end; err != nil {
		t.Errorf("Run = %v", err)
	}
	if got, want := s.asked[0].Text, "one\ntwo\nthree\nfourpasted\ntext"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
}

func TestShortcutsOfOtherLayoutsArriveFromARealTerminal(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]string{
		"Russian":           "\x1b[1089;5u",
		"Russian, told":     "\x1b[1089::99;5u",
		"Greek":             "\x1b[968;5u",
		"Hebrew, Num Lock":  "\x1b[1489;133u",
		"Georgian, told":    "\x1b[4330::99;5u",
		"Dvorak: by letter": "\x1b[99::105;5u",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t)
			end := term.runs(t.Context(), &script{}, nil)
			term.sees("\x1b[>5u") // the request for the positions
			term.sees("ready")
			term.types(keys)
			term.sees("Ctrl+C again quits")
			term.types(keys)
			if err := <-end; err != nil {
				t.Errorf("Run = %v", err)
			}
		})
	}
}

// What a terminal answers is torn here as by a slow line, in the middle of a word.
func TestATornAnswerOfARealTerminalIsNotTyped(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string][]string{
		"a colour":           {"\x1b]11;rg", "b:1e1e/1e1e/2e2e\x1b\\"},
		"behind its Esc":     {"\x1b", "]11;rgb:1e1e/1e1e/2e2e\x1b\\"},
		"ended by BEL":       {"\x1b]11;rgb:1e1e/1e1e/2e2e", "\a"},
		"in three, a mode":   {"\x1b[?20", "26;2", "$y"},
		"a version":          {"\x1bP>|xterm", "(390)\x1b\\"},
		"what never ends":    {"\x1b]10;rgb:ff"},
		"attributes, twice":  {"\x1b[?62;22c\x1b[?62", ";22c"},
		"the keyboard, late": {"\x1b[?", "5u"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t)
			s := &script{answer: says(gateway.Started{}, gateway.Text("the answer"), finished())}
			edited := make(chan string, 1)
			end := term.runs(t.Context(), s, func(cfg *Config) {
				cfg.Edit = func(text string) (*Draft, error) { edited <- text; return nil, errors.New("no editor") }
			})
			term.sees("ready")
			term.types("hel")
			for _, piece := range answer {
				term.types(piece)
				time.Sleep(120 * time.Millisecond) // the line is slow
			}
			term.types("lo\r")
			term.sees("the answer")
			term.types("/quit\r")
			if err := <-end; err != nil {
				t.Errorf("Run = %v", err)
			}
			if got := s.asked[0].Text; got != "hello" {
				t.Errorf("asked %q", got)
			}
			if len(edited) > 0 {
				t.Error("the answer opened the editor")
			}
		})
	}
}

func TestLinesWithoutBracketsAreOneQuestion(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"CR": "one\rtwo\rthree", "CRLF": "one\r\ntwo\r\nthree"} {
		term := openTerminal(t)
		s := &script{answer: says(gateway.Started{}, gateway.Text("the answer"), finished())}
		end := term.runs(t.Context(), s, nil)
		term.sees("ready")
		term.types(text)
		term.sees("three")
		term.types("\r")
		term.sees("the answer")
		term.types("/quit\r")
		if err := <-end; err != nil {
			t.Errorf("Run = %v", err)
		}
		if len(s.asked) != 1 || s.asked[0].Text != "one\ntwo\nthree" {
			t.Errorf("%s: asked %+v", name, s.asked)
		}
	}
}

func TestTheChatEndsWithItsTerminal(t *testing.T) {
	t.Parallel()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tty.Close() }()
	listed := make(chan struct{})
	once := sync.OnceFunc(func() { close(listed) })
	s := &script{models: func(context.Context) ([]gateway.Model, error) { once(); return nil, nil }}
	end := make(chan error, 1)
	cfg := Config{Endpoint: s, Now: time.Now, NewID: func() string { return "c-1" }, In: tty, Out: io.Discard, Place: Place{Title: "here"}}
	go func() { end <- Run(t.Context(), cfg) }()
	<-listed
	_ = keys.Close() // and no SIGHUP: this process is not the session's leader
	select {
	case err := <-end:
		if err != nil {
			t.Errorf("Run = %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the chat goes on without a terminal")
	}
}

// An editor that waits for a window does not read the terminal, and need not end with it.
func TestTheChatEndsWhileAnEditorHasTheTerminal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		editor string // says that it runs
		stop   bool   // the chat is told to end; else its terminal goes away
		left   bool   // the editor stays
	}{
		"terminal gone":                     {"echo on >&3; exec sleep 600", false, false},
		"terminal gone, editor with window": {"trap '' HUP; echo on >&3; sleep 600", false, true},
		"told to end":                       {"echo on >&3; exec sleep 600", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, tty, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tty.Close() }()
			runs, says, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer runs.Close()
			cmd := exec.Command("sh", "-c", test.editor)
			cmd.ExtraFiles = []*os.File{says}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			listed := make(chan struct{})
			once := sync.OnceFunc(func() { close(listed) })
			s := &script{models: func(context.Context) ([]gateway.Model, error) { once(); return nil, nil }}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			end := make(chan error, 1)
			cfg := Config{
				Endpoint: s, Now: time.Now, NewID: func() string { return "c-1" }, In: tty, Out: io.Discard, Place: Place{Title: "here"},
				Edit: func(string) (*Draft, error) {
					return &Draft{Cmd: cmd, Read: func() (string, error) { return "", nil }}, nil
				},
			}
			go func() { end <- Run(ctx, cfg) }()
			<-listed
			if _, err := keys.WriteString("\x07"); err != nil {
				t.Fatal(err)
			}
			if _, err := runs.Read(make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
			if test.stop {
				stop()
			}
			_ = keys.Close() // and no SIGHUP: this process is not the session's leader
			if err := <-end; test.stop != errors.Is(err, context.Canceled) || !test.stop && err != nil {
				t.Errorf("Run = %v", err)
			}
			_ = says.Close()
			if left := syscall.Kill(cmd.Process.Pid, 0) == nil; left != test.left {
				t.Errorf("the editor is left: %v", left)
			}
		})
	}
}
