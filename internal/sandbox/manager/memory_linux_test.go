package manager_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// atEachLevel runs a test with the boxes of each level.
func atEachLevel(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, real, func(w *world) {
				w.cfg.Settings.Minimum = sandbox.Reduced
				w.cfg.Ask = func(context.Context) probe.Result { return probe.Result{Level: level, Landlock: 5} }
			}))
		})
	}
}

// The box of an agent that keeps notes shows their directory, writable, and nothing else of
// the directory around it, also by links that lead there.
func TestABoxShowsTheNotesOfTheUser(t *testing.T) {
	t.Parallel()
	atEachLevel(t, func(t *testing.T, w *world) {
		base := filepath.Join(w.home, ".openhands")
		notes := filepath.Join(base, "memory")
		write(t, filepath.Join(notes, "MEMORY.md"), "tea\n")
		write(t, filepath.Join(base, "settings.json"), "sk-secret")
		write(t, filepath.Join(base, "profiles", "main.json"), "sk-secret")
		if err := os.Symlink("../settings.json", filepath.Join(notes, "link.md")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../profiles", filepath.Join(notes, "links")); err != nil {
			t.Fatal(err)
		}
		w.cfg.User.Private = []string{base}
		m := w.manager()
		if got := w.run(w.box(m), "{ cat "+notes+"/MEMORY.md; mkdir -p "+notes+"; echo x >"+notes+"/x; } 2>/dev/null; echo ."); got != "." {
			t.Errorf("an agent without notes reads %q", got)
		}
		if _, err := os.Lstat(filepath.Join(notes, "x")); err == nil {
			t.Error("an agent without notes has written some")
		}
		w.env.Memory = notes
		box := w.box(m)
		script := "cd " + notes + " && cat MEMORY.md && echo cake >>MEMORY.md && echo day >2026-01-31.md && rm -f gone; " +
			"for f in link.md links/main.json ../settings.json ../profiles/main.json; do cat $f 2>/dev/null; done; " +
			"echo x 2>/dev/null >../x; ln ../settings.json hard 2>/dev/null; mv ../memory ../other 2>/dev/null; rmdir ../memory 2>/dev/null; ls " + notes
		want := "tea\n2026-01-31.md\nMEMORY.md\nlink.md\nlinks"
		if got := w.run(box, script); got != want {
			t.Errorf("the agent sees %q, want %q", got, want)
		}
		if data, err := os.ReadFile(filepath.Join(notes, "MEMORY.md")); err != nil || string(data) != "tea\ncake\n" {
			t.Errorf("the notes have %q, %v", data, err)
		}
		entries, err := os.ReadDir(base)
		if err != nil || len(entries) != 3 {
			t.Errorf("the directory around has %v, %v", entries, err)
		}
		files, err := sandbox.FilesOf(box, notes, true)
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		if err := files.Create(filepath.Join(notes, "by-the-editor.md"), []byte("note")); err != nil {
			t.Errorf("the editor makes no note: %v", err)
		}
		for _, at := range []string{"link.md", "links/main.json", "../settings.json"} {
			real, err := files.Real(filepath.Join(notes, at))
			if err == nil {
				_, _, err = files.Read(real, 100)
			}
			if err == nil {
				t.Errorf("the editor reads %s", at)
			}
		}
		if _, ok := explain(box, filepath.Join(notes, "MEMORY.md")); ok {
			t.Error("the notes are explained as refused")
		}
	})
}

// A conversation that does not change its workspace does not change the notes.
func TestABoxThatIsReadOnlyShowsTheNotesReadOnly(t *testing.T) {
	t.Parallel()
	atEachLevel(t, func(t *testing.T, w *world) {
		notes := filepath.Join(w.home, ".openhands", "memory")
		write(t, filepath.Join(notes, "MEMORY.md"), "tea")
		w.env.Memory, w.env.ReadOnly = notes, true
		if got := w.run(w.box(w.manager()), "cat "+notes+"/MEMORY.md; echo x 2>/dev/null >"+notes+"/MEMORY.md || echo refused"); got != "tearefused" {
			t.Errorf("the agent sees %q", got)
		}
	})
}

// Something else in the place of the notes costs the notes, not the box.
func TestABoxWithoutItsNotesIsABox(t *testing.T) {
	t.Parallel()
	atEachLevel(t, func(t *testing.T, w *world) {
		base := filepath.Join(w.home, ".openhands")
		notes := filepath.Join(base, "memory")
		write(t, filepath.Join(base, "profiles", "main.json"), "sk-secret")
		m := w.manager()
		for name, put := range map[string]func() error{
			"nothing": func() error { return nil },
			"a link":  func() error { return os.Symlink("profiles", notes) },
			"a file":  func() error { return os.WriteFile(notes, nil, 0o600) },
		} {
			_ = os.Remove(notes)
			if err := put(); err != nil {
				t.Fatal(err)
			}
			env := w.env
			env.Memory = notes
			box, err := m.Box(t.Context(), env)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.run(box, "cat "+notes+"/main.json 2>/dev/null; echo works"); got != "works" {
				t.Errorf("%s: the agent sees %q", name, got)
			}
			if err := box.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A directory of the system stays read-only, whatever names it.
func TestNotesDoNotOpenWhatBelongsToTheSystem(t *testing.T) {
	t.Parallel()
	atEachLevel(t, func(t *testing.T, w *world) {
		w.env.Memory = "/usr/share"
		script := "ls -d /usr/share; touch /usr/share/x 2>/dev/null || echo refused"
		if got := w.run(w.box(w.manager()), script); strings.TrimSpace(got) != "/usr/share\nrefused" {
			t.Errorf("the agent sees %q", got)
		}
	})
}
