package memory_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/memory"
)

// world is a home directory and a workspace, with the directory of the user's notes.
type world struct {
	t      *testing.T
	at     memory.Places
	warned []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	user, err := memory.Prepare(filepath.Join(home, ".openhands"))
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, at: memory.Places{User: user, Home: home, Workspace: t.TempDir()}}
}

// user and project are the files of the notes.
func (w *world) user() string { return filepath.Join(w.at.User, "MEMORY.md") }

func (w *world) project() string { return filepath.Join(w.at.Workspace, ".openhands/memory/MEMORY.md") }

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(budget int) string {
	w.t.Helper()
	w.warned = nil
	text := memory.Read(w.at, budget, func(err error) { w.warned = append(w.warned, err.Error()) })
	if n := utf8.RuneCountInString(text); n > max(budget, 200) {
		w.t.Errorf("notes have %d characters, the budget is %d", n, budget)
	}
	return text
}

const (
	userHeading    = "# User memory (~/.openhands/memory/MEMORY.md)\n"
	projectHeading = "# Project memory (.openhands/memory/MEMORY.md)\n"
	notice         = "[earlier memory truncated]"
)

func TestNotesOfTheUserComeBeforeThoseOfTheProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.read(memory.Budget); got != "" || len(w.warned) > 0 {
		t.Errorf("without files: %q, warnings %q", got, w.warned)
	}
	w.write(w.project(), "\n tests: make test\r\nslow \n")
	if got, want := w.read(memory.Budget), projectHeading+"tests: make test\nslow"; got != want {
		t.Errorf("notes = %q, want %q", got, want)
	}
	w.write(w.user(), "likes tea\n")
	if got, want := w.read(memory.Budget), userHeading+"likes tea\n\n"+projectHeading+"tests: make test\nslow"; got != want {
		t.Errorf("notes = %q, want %q", got, want)
	}
	w.at.Home = t.TempDir() // OH_PERSISTENCE_DIR names another directory
	if got, want := w.read(memory.Budget), "# User memory ("+filepath.ToSlash(w.user())+")\nlikes tea\n"; !strings.HasPrefix(got, want) {
		t.Errorf("notes = %q, want %q first", got, want)
	}
	w.at.User = ""
	if got, want := w.read(memory.Budget), projectHeading+"tests: make test\nslow"; got != want {
		t.Errorf("without a user's directory: %q, want %q", got, want)
	}
}

func TestTheOldestLinesAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.user(), "short\n")
	w.write(w.project(), strings.Repeat("an old line\n", 1000)+"the newest line\n")
	got := w.read(memory.Budget)
	if !strings.HasPrefix(got, userHeading+"short\n\n"+projectHeading+notice+"\nan old line\n") || !strings.HasSuffix(got, "\nthe newest line") {
		t.Errorf("notes begin with %.200q and end with %q", got, got[len(got)-40:])
	}
	if n := utf8.RuneCountInString(got); n < memory.Budget-len("an old line\n") {
		t.Errorf("only %d of %d characters are used", n, memory.Budget)
	}
	w.write(w.project(), strings.Repeat("ü", 3*memory.Budget))
	if got, want := w.read(memory.Budget), userHeading+"short\n\n"+projectHeading+notice; got != want {
		t.Errorf("a long line: %.200q, want %q", got, want)
	}
	if got, want := w.read(10), userHeading+notice+"\n\n"+projectHeading+notice; got != want {
		t.Errorf("a small budget: %.200q, want %q", got, want)
	}
}

// A file of 100 MB is read from its end, and not as a whole.
func TestALargeFileIsReadFromItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(w.user(), "\xff first\n")
	grow := func(path, end string) {
		t.Helper()
		if err := os.Truncate(path, 100<<20); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(end); err != nil {
			t.Fatal(err)
		}
	}
	grow(w.user(), "\nlikes tea\nand cake\n")
	if got, want := w.read(memory.Budget), userHeading+notice+"\nlikes tea\nand cake"; got != want || len(w.warned) > 0 {
		t.Errorf("notes = %q, warnings %q", got, w.warned)
	}
	w.write(w.user(), "")
	grow(w.user(), strings.Repeat(" ", 2<<20))
	if got, want := w.read(memory.Budget), userHeading+notice; got != want {
		t.Errorf("notes = %.200q, want %q", got, want)
	}
}

func TestWhatCannotBeReadHasNoNotes(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(w *world) error{
		"not UTF-8":   func(w *world) error { w.write(w.user(), "tea \xff\xfe\n"); return nil },
		"a directory": func(w *world) error { return os.Mkdir(w.user(), 0o700) },
		"out of the directory": func(w *world) error {
			w.write(filepath.Join(w.at.Home, ".openhands/profiles/main.json"), `{"api_key":"sk-1"}`)
			return os.Symlink("../profiles/main.json", w.user())
		},
		"absolute": func(w *world) error {
			w.write(filepath.Join(w.at.Home, "key"), "sk-1")
			return os.Symlink(filepath.Join(w.at.Home, "key"), w.user())
		},
		"a loop": func(w *world) error { return os.Symlink("MEMORY.md", w.user()) },
		"unreadable": func(w *world) error {
			if os.Geteuid() == 0 {
				w.t.Skip("root reads every file")
			}
			w.write(w.user(), "tea")
			return os.Chmod(w.user(), 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if err := make(w); err != nil {
				t.Fatal(err)
			}
			w.write(w.project(), "kept\n")
			got := w.read(memory.Budget)
			if diff := cmp.Diff(projectHeading+"kept", got); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if len(w.warned) != 1 || !strings.HasPrefix(w.warned[0], "read memory "+w.user()+": ") || strings.Contains(w.warned[0], "sk-1") {
				t.Errorf("warnings %q", w.warned)
			}
		})
	}
}

// A workspace may come from a stranger: its links lead to nothing outside of it.
func TestLinksOfAWorkspaceStayInIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := filepath.Join(w.at.Home, "secret")
	w.write(filepath.Join(secret, "MEMORY.md"), "sk-1")
	if err := os.Mkdir(filepath.Join(w.at.Workspace, ".openhands"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Dir(w.project())); err != nil {
		t.Fatal(err)
	}
	if got := w.read(memory.Budget); got != "" || len(w.warned) != 1 {
		t.Errorf("notes = %q, warnings %q", got, w.warned)
	}
	if err := os.Remove(filepath.Dir(w.project())); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.at.Workspace, "notes.md"), "inside")
	if err := os.Mkdir(filepath.Dir(w.project()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../notes.md", w.project()); err != nil {
		t.Fatal(err)
	}
	if got, want := w.read(memory.Budget), projectHeading+"inside"; got != want {
		t.Errorf("notes = %q, want %q", got, want)
	}
}

func TestTheDirectoryOfNotesIsNoLink(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	base := filepath.Join(home, ".openhands")
	if err := os.MkdirAll(filepath.Join(base, "profiles"), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "memory")
	if err := os.Symlink("profiles", dir); err != nil {
		t.Fatal(err)
	}
	if got, err := memory.Prepare(base); err == nil || got != "" {
		t.Errorf("Prepare = %q, %v with a link", got, err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := memory.Prepare(base); err == nil || got != "" {
		t.Errorf("Prepare = %q, %v with a file", got, err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(home, "link") // the directory of OpenHands may be one
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	got, err := memory.Prepare(link)
	info, missing := os.Stat(dir)
	if err != nil || got != filepath.Join(real, "memory") || missing != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("Prepare = %q, %v; the directory: %v, %v", got, err, info, missing)
	}
}
