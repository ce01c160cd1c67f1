package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup/running"
	"github.com/ohgw/ohgw/setup/serving"
	"github.com/ohgw/ohgw/tui"
)

func TestRecentConversationsAreTheLatestFirst(t *testing.T) {
	t.Parallel()
	r := &recentFile{path: filepath.Join(t.TempDir(), "chat", "recent.jsonl")}
	if list, err := r.List(t.Context()); err != nil || list != nil {
		t.Errorf("without a file: %v, %v", list, err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var want []tui.Conversation
	for i := range maxRecent + 5 {
		c := tui.Conversation{ID: uuid.New(), Model: "m", Title: fmt.Sprint("question ", i), Place: "here", Turns: 1, Used: now.Add(time.Duration(i) * time.Minute)}
		if err := r.Remember(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want = append([]tui.Conversation{c}, want...)
	}
	again := want[3]
	again.Turns, again.Used = 2, now.Add(24*time.Hour)
	if err := r.Remember(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	want = append([]tui.Conversation{again}, slices.Delete(want, 3, 4)...)[:maxRecent]
	got, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(r.path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAConversationKeepsWhatItBeganWith(t *testing.T) {
	t.Parallel()
	r := &recentFile{path: filepath.Join(t.TempDir(), "recent.jsonl")}
	id := uuid.New()
	for i, title := range []string{"", "first", "second"} {
		c := tui.Conversation{ID: id, Model: "m" + title, Title: title, Turns: 1, Used: time.Unix(int64(i), 0).UTC()}
		if err := r.Remember(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []tui.Conversation{{ID: id, Model: "msecond", Title: "first", Turns: 3, Used: time.Unix(2, 0).UTC()}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecentConversationsSurviveWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "recent.jsonl")
	const known = `{"id":"0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e","title":"known","turns":1,"used":"2026-11-21T12:00:00Z"}`
	if err := os.WriteFile(path, []byte("\x00\xff\n{}\n[1]\n"+known+"\n{\"id\":\"x\"}\n{\"id\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &recentFile{path: path}
	if list, err := r.List(t.Context()); err != nil || len(list) != 1 || list[0].Title != "known" {
		t.Errorf("%+v, %v", list, err)
	}
	long := tui.Conversation{ID: uuid.New(), Title: "\x1b[2Ja\nb" + strings.Repeat("é", maxTitle), Used: time.Unix(1, 0)}
	if err := r.Remember(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	list, err := r.List(t.Context())
	if err != nil || len(list) != 2 || len(list[1].Title) > maxTitle || !strings.HasPrefix(list[1].Title, "[2Ja bé") || !strings.HasSuffix(list[1].Title, "é") {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestSeveralChatsRememberAtTheSameTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "recent.jsonl")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { // each as another process would: with a file of its own
			r := &recentFile{path: path}
			if err := r.Remember(context.Background(), tui.Conversation{ID: uuid.New(), Used: time.Unix(1, 0)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := (&recentFile{path: path}).List(t.Context()); err != nil || len(list) != 20 {
		t.Errorf("%d remembered, %v", len(list), err)
	}
}

// plays gives what a transcript makes of pieces, in words.
func plays(pieces ...gateway.Piece) (shown []string, answer string) {
	var t transcript
	for _, p := range pieces {
		for _, s := range t.add(p) {
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
			answer = t.answer(d)
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
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFilesOfAChatAreNeverOverwritten(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := &session{options: &options{App: &kit.App{Env: &kit.Env{Paths: func() (paths.Set, error) { return paths.Set{Home: home}, nil }}}}}
	path, err := c.save(t.Context(), "~/talk.md", "hello")
	if err != nil || path != filepath.Join(home, "talk.md") {
		t.Fatalf("%s, %v", path, err)
	}
	if _, err := c.save(t.Context(), path, "other"); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("%v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "hello" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := c.save(t.Context(), filepath.Join(home, "none", "x"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestAConversationIsGoneOnWithWhereItIs(t *testing.T) {
	t.Parallel()
	remote := gateway.New(gateway.Config{URL: "http://gateway.example:1234"})
	waits := turnJSON{Conversation: "ID", Status: "waiting_for_confirmation"}
	for name, tt := range map[string]struct {
		chat         session
		screen, once string
	}{
		"the daemon": {
			session{options: &options{}, client: remote, asker: &running.Daemon{Found: instance.Info{URL: "http://127.0.0.1:6449"}}},
			"ohgw chat --conversation ID", "ohgw chat -p --conversation ID yes",
		},
		"another one": {
			session{client: remote, asker: &running.Daemon{}, options: &options{model: "openhands_work"}},
			"ohgw chat --url http://gateway.example:1234 --conversation ID",
			"ohgw chat --url http://gateway.example:1234 -p --model openhands_work --conversation ID yes",
		},
		"the demo": {
			session{own: &serving.Own{}, demo: true, options: &options{model: demoModel}},
			"ohgw chat --demo --conversation ID", "ohgw chat --demo -p --conversation ID yes",
		},
		"here": {session{options: &options{}, own: &serving.Own{}}, "ohgw chat --conversation ID", "ohgw chat -p --conversation ID yes"},
	} {
		if got := tt.chat.hints().Resume("ID"); got != tt.screen {
			t.Errorf("%s: %q, want %q", name, got, tt.screen)
		}
		f, ok := errors.AsType[*fault.Error](tt.chat.unfinished(waits))
		if want := "continue with " + tt.once + " (or no)"; !ok || f.Hint != want {
			t.Errorf("%s: %+v, want the hint %q", name, f, want)
		}
	}
}

func TestTheClipboardIsThatOfTheDesktop(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		goos string
		env  map[string]string
		want string // the first writer
	}{
		"mac":     {"darwin", nil, "pbcopy"},
		"windows": {"windows", nil, "clip.exe"},
		"wayland": {"linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "wl-copy"},
		"x11":     {"linux", map[string]string{"DISPLAY": ":0"}, "xclip"},
		"wsl":     {"linux", map[string]string{"WSL_DISTRO_NAME": "x"}, "clip.exe"},
		"ssh":     {"linux", nil, "termux-clipboard-set"},
	} {
		c := clipboard{goos: tc.goos, getenv: func(k string) string { return tc.env[k] }, find: func(string) (string, error) { return "", os.ErrNotExist }}
		if got := c.writers()[0][0]; got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if err := c.copyText(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "is not available") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheClipboardGetsTheText(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "xclip")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncat > "+dir+"/got\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := clipboard{
		goos: "linux", getenv: func(k string) string { return map[string]string{"DISPLAY": ":0"}[k] }, environ: []string{"PATH=/usr/bin:/bin"},
		find: func(name string) (string, error) {
			if name == "xclip" {
				return program, nil
			}
			return "", os.ErrNotExist
		},
	}
	if err := c.copyText(t.Context(), "some text"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "got")); err != nil || string(data) != "some text" {
		t.Errorf("%q, %v", data, err)
	}
}
