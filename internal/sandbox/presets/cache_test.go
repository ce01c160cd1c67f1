package presets_test

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox/presets"
)

// cached is a machine whose answers are kept, and the clock.
type cached struct {
	*machine
	cache string
	now   time.Time
}

func newCached(t *testing.T) *cached {
	t.Helper()
	c := &cached{cache: filepath.Join(t.TempDir(), "state", "answers.json"), now: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)}
	c.machine = newMachine(t, map[string]string{
		"npm": `{"registry":"http://npm.example/"}`, "go": `{"GOPROXY":"https://proxy.example","GOSUMDB":"off"}`,
		"apt-get": "http://deb.example/debian\n",
	})
	c.install(t, "npm", "go", "apt-get")
	return c
}

// process is another process of ohgw that asks, and how often tools were run for it.
func (c *cached) process(t *testing.T, preset string) (found presets.Found, runs int) {
	t.Helper()
	before := len(c.asked)
	a := presets.New(presets.Config{
		Getenv: func(name string) string { return c.env[name] }, Home: c.home, Dir: t.TempDir(), Root: c.root, Run: c.run, Cache: c.cache,
		Now:     func() time.Time { return c.now },
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, &net.DNSError{Err: "offline"} },
	})
	found, err := presets.Workspace{Asker: a}.Ask(t.Context(), preset)
	a.Close()
	if err != nil {
		t.Fatal(err)
	}
	return found, len(c.asked) - before
}

func TestAnswersAreKeptForTheNextProcess(t *testing.T) {
	t.Parallel()
	for preset, want := range map[string]string{
		"node": "npm.example:80 from @node, npm's registry", "go": "proxy.example:443 from @go, GOPROXY", "system": "deb.example:80 from @system, apt's sources",
	} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			c := newCached(t)
			first, runs := c.process(t, preset)
			if runs != 1 || !slices.Contains(text(first), want) {
				t.Fatalf("first: %d runs, %q", runs, text(first))
			}
			again, runs := c.process(t, preset)
			if runs != 0 || !slices.Equal(text(again), text(first)) {
				t.Errorf("again: %d runs, %q, want %q", runs, text(again), text(first))
			}
			if err := os.WriteFile(c.cache, []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
			if again, runs = c.process(t, preset); runs != 1 || !slices.Equal(text(again), text(first)) {
				t.Errorf("after damage: %d runs, %q", runs, text(again))
			}
		})
	}
}

// An answer holds as long as what it comes from.
func TestAnswersEndWithWhatTheyComeFrom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		preset string
		change func(t *testing.T, c *cached)
	}{
		"the user's file":    {"node", func(t *testing.T, c *cached) { write(t, filepath.Join(c.home, ".npmrc"), "registry=x") }},
		"the machine's file": {"node", func(t *testing.T, c *cached) { write(t, filepath.Join(c.root, "etc/npmrc"), "registry=x") }},
		"a file that is named": {"go", func(t *testing.T, c *cached) {
			c.env["GOENV"] = filepath.Join(c.home, "env")
			write(t, c.env["GOENV"], "x")
		}},
		"a variable":  {"go", func(_ *testing.T, c *cached) { c.env["GOPROXY"] = "https://other.example" }},
		"the program": {"go", func(t *testing.T, c *cached) { write(t, filepath.Join(c.bin, "go"), "newer") }},
		"a file in a directory": {"system", func(t *testing.T, c *cached) {
			write(t, filepath.Join(c.root, "etc/apt/sources.list.d/x.list"), "deb x")
		}},
		"another place of tools": {"system", func(t *testing.T, c *cached) { c.env["PATH"] = t.TempDir() + string(os.PathListSeparator) + c.bin }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newCached(t)
			if name == "the program" && filepath.Separator == '\\' {
				t.Skip("programs have other names")
			}
			m.process(t, c.preset)
			c.change(t, m)
			if _, runs := m.process(t, c.preset); runs != 1 {
				t.Errorf("%d runs after the change", runs)
			}
			if _, runs := m.process(t, c.preset); runs != 0 {
				t.Errorf("%d runs without another change", runs)
			}
		})
	}
}

func TestAnOldAnswerIsUsedWhileItIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, age := range []time.Duration{61 * time.Minute, -time.Minute} {
		c := newCached(t)
		first, _ := c.process(t, "node")
		c.now = c.now.Add(age)
		letGo, asked := make(chan struct{}), make(chan struct{})
		a := presets.New(presets.Config{
			Getenv: func(name string) string { return c.env[name] }, Home: c.home, Dir: t.TempDir(), Root: c.root, Cache: c.cache, Now: func() time.Time { return c.now },
			Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, &net.DNSError{Err: "offline"} },
			Run: func(context.Context, string, []string, []string) ([]byte, error) {
				close(asked)
				<-letGo
				return []byte(`{"registry":"http://newer.example/"}`), nil
			},
		})
		w := presets.Workspace{Asker: a}
		if found, err := w.Ask(t.Context(), "node"); err != nil || !slices.Equal(text(found), text(first)) {
			t.Errorf("at the age of %v: found %q, %v", age, text(found), err)
		}
		<-asked
		close(letGo)
		for newer := false; !newer; {
			found, err := w.Ask(t.Context(), "node")
			if err != nil {
				t.Fatal(err)
			}
			newer = strings.HasPrefix(text(found)[0], "newer.example:80")
		}
		a.Close()
		if found, runs := c.process(t, "node"); runs != 0 || !strings.HasPrefix(text(found)[0], "newer.example:80") {
			t.Errorf("at the age of %v: afterwards %q, %d runs", age, text(found), runs)
		}
	}
}

func TestAFailureIsNotKeptOnTheDisk(t *testing.T) {
	t.Parallel()
	for _, preset := range []string{"node", "go"} {
		c := newCached(t)
		says := c.says
		c.says = nil // every tool fails
		if found, runs := c.process(t, preset); runs != 1 || len(found.Problems) != 1 {
			t.Errorf("%s: %d runs, %q", preset, runs, text(found))
		}
		c.says = says
		if found, runs := c.process(t, preset); runs != 1 || len(found.Problems) != 0 {
			t.Errorf("%s: %d runs, %q", preset, runs, text(found))
		}
		c.says = nil // The answer that was kept stays.
		if found, runs := c.process(t, preset); runs != 0 || len(found.Problems) != 0 {
			t.Errorf("%s: %d runs, %q", preset, runs, text(found))
		}
	}
}
