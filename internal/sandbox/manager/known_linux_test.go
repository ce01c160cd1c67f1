package manager_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox/escape"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// What was found out and tested counts for a day, for the same build on the same
// machine.
func TestTheLevelIsFoundOnce(t *testing.T) {
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
	for _, c := range []struct {
		name   string
		change func()
		want   int // how often it was found out so far
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
		if probed != c.want || tested != c.want {
			t.Errorf("%s: probed %d times and tested %d times, want %d", c.name, probed, tested, c.want)
		}
	}
}
