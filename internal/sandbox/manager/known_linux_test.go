package manager_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/escape"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
	"github.com/ohgw/ohgw/internal/testkit/forbidtest"
)

// The attempts to break out count for a day, for the same build on the same machine.
// Each process finds out itself whether it can make a box.
func TestTheLevelIsTestedOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	probed, tested := 0, 0
	var program string
	w := newWorld(t, func(w *world) {
		program = filepath.Join(w.root, "ohgw")
		ask, test := w.cfg.Ask, w.cfg.Test
		w.cfg.Now = func() time.Time { return now }
		w.cfg.Executable = func() (string, error) { return program, nil }
		w.cfg.Ask = func(ctx context.Context) probe.Result { probed++; return ask(ctx) }
		w.cfg.Test = func(ctx context.Context) ([]escape.Result, error) { tested++; return test(ctx) }
	})
	write := func(text string) {
		if err := os.WriteFile(program, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	begun := now
	known := filepath.Join(w.state, "sandbox", "known.json")
	for i, c := range []struct {
		name   string
		change func()
		want   int // how often it was tested so far
	}{
		{"first", func() {}, 1},
		{"again", func() {}, 1},
		{"almost a day later", func() { now = begun.Add(24*time.Hour - 1) }, 1},
		{"a day later", func() { now = begun.Add(24 * time.Hour) }, 2},
		{"the clock was set back", func() { now = begun }, 3},
		{"another build", func() { write("two!") }, 4},
		{"a damaged file", func() {
			if err := os.WriteFile(known, []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 5},
		{"at last", func() {}, 5},
	} {
		c.change()
		m, err := manager.New(t.Context(), w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Status(); got.Landlock != 5 || got.Level != "full" {
			t.Errorf("%s: Status() = %+v", c.name, got)
		}
		box, err := m.Box(t.Context(), w.env) // after the attempts
		if err != nil {
			t.Fatal(err)
		}
		if err := box.Close(); err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if probed != i+1 || tested != c.want {
			t.Errorf("%s: probed %d times and tested %d times, want %d and %d", c.name, probed, tested, i+1, c.want)
		}
	}
}

// What another process has found costs a start nothing: a box is made when one is asked
// for, or the level.
func TestAKnownLevelIsProvedWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*world, *manager.Manager){
		"the level": func(_ *world, m *manager.Manager) { m.Status(); m.Status() },
		"a box":     func(w *world, m *manager.Manager) { w.box(m) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(w *world) { w.cfg.Executable, w.cfg.Settings.Minimum = os.Executable, sandbox.Reduced })
			w.box(w.manager()) // The level is found and tested.
			probed, find := make(chan struct{}, 8), w.cfg.Ask
			w.cfg.Ask = func(ctx context.Context) probe.Result { probed <- struct{}{}; return find(ctx) }
			quiet, err := manager.New(t.Context(), w.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := quiet.Close(); err != nil { // waits for what the manager has begun
				t.Error(err)
			}
			if got := len(probed); got != 0 {
				t.Errorf("a manager that was not asked has made %d boxes", got)
			}
			ask(w, w.manager())
			if got := len(probed); got != 1 {
				t.Errorf("a manager that was asked has made %d boxes to prove its level, want 1", got)
			}
		})
	}
}

// A level that another process has found is said only where this one has it, too.
func TestTheLevelIsThatOfThisProcess(t *testing.T) {
	t.Parallel()
	reduced := probe.Result{Level: sandbox.Reduced, Landlock: 5, Reason: "a part of /proc is covered"}
	for _, c := range []struct {
		name    string
		found   probe.Result
		minimum sandbox.Level
		refused string // by New, or by the first box; "" if neither is refused
		atOnce  bool
	}{
		{"reduced", reduced, sandbox.Reduced, "", false},
		{"reduced where full is required", reduced, sandbox.Full, "this machine has the sandbox at level reduced only: a part of /proc is covered", true},
		{"none", probe.Result{Level: sandbox.Off, Reason: "it is forbidden"}, sandbox.Reduced, "there is no sandbox on this machine: it is forbidden", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(w *world) { w.cfg.Executable, w.cfg.Settings.Minimum = os.Executable, c.minimum })
			w.box(w.manager()) // The level is found and tested.
			known := filepath.Join(w.state, "sandbox", "known.json")
			if _, err := os.Stat(known); err != nil {
				t.Fatal(err)
			}
			tested := 0
			w.cfg.Ask = func(context.Context) probe.Result { return c.found }
			w.cfg.Test = func(context.Context) ([]escape.Result, error) { tested++; return nil, nil }
			m, err := manager.New(t.Context(), w.cfg)
			if c.atOnce {
				if err == nil || err.Error() != c.refused {
					t.Errorf("New: %v, want %s", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = m.Close() })
			if got := m.Status(); got != manager.Status(c.found) {
				t.Errorf("Status() = %+v, want %+v", got, c.found)
			}
			box, err := m.Box(t.Context(), w.env)
			switch {
			case c.refused != "" && (err == nil || err.Error() != c.refused):
				t.Errorf("Box: %v, want %s", err, c.refused)
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused == "":
				if got := box.Level(); got != c.found.Level || tested != 1 {
					t.Errorf("the box has level %s, tested %d times", got, tested)
				}
				_ = box.Close()
			}
			if _, err := os.Stat(known); err == nil {
				t.Error("the level is still taken for found")
			}
		})
	}
}

// When the first box cannot be made of the level that was found, the level is found
// again, and the program runs at that one.
func TestTheLevelIsFoundAgain(t *testing.T) {
	t.Parallel()
	tested := 0
	w := newWorld(t, real, func(w *world) {
		w.cfg.Settings.Minimum, w.cfg.Executable = sandbox.Reduced, os.Executable
		found := w.cfg.Ask
		first := true
		w.cfg.Ask = func(ctx context.Context) probe.Result {
			if first {
				first = false
				return found(ctx)
			}
			var prober probe.Prober
			return prober.Ask(ctx)
		}
		w.cfg.Test = func(context.Context) ([]escape.Result, error) { tested++; return nil, nil }
	})
	m := w.manager()
	box := w.box(m)
	forbidden := make(chan struct{})
	go func() {
		defer close(forbidden)
		// The thread ends with this goroutine, and the filter with the thread.
		runtime.LockOSThread()
		if err := forbidtest.Forbid(forbidtest.Namespaces); err != nil {
			t.Error(err)
			return
		}
		p, out, err := w.start(box, "echo ran")
		if err != nil {
			t.Error(err)
			return
		}
		defer out.Close()
		if code, err := p.Wait(); code != 0 || err != nil {
			t.Errorf("exit code %d, %v", code, err)
		}
	}()
	<-forbidden
	if got := m.Status(); got.Level != sandbox.Reduced || got.Reason == "" || box.Level() != sandbox.Reduced || tested != 2 {
		t.Errorf("Status() = %+v, the box has level %s, tested %d times", got, box.Level(), tested)
	}
	// A level at which a program has run stays.
	if got := w.run(box, "echo $TMPDIR"); got == "" {
		t.Error("the next program is not at level reduced")
	}
}
