package manager_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/escape"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// conversation is that of the boxes.
const conversation = "0192f0c1-7f3e-7c00-8000-0123456789ab"

// world is a user with a project.
type world struct {
	t                         testing.TB
	root, home, state, shared string // shared is a directory beside the home directory
	cfg                       manager.Config
	env                       manager.Env
	blocked                   chan sandbox.Block
	environ                   []string // of programs; nil before the first
}

// newWorld has a machine with level full, where the attempts to break out fail.
func newWorld(t testing.TB, changes ...func(*world)) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, home: filepath.Join(root, "home"), shared: filepath.Join(root, "shared"), blocked: make(chan sandbox.Block, 100)}
	w.state = filepath.Join(w.home, ".local/state/ohgw")
	w.env = manager.Env{
		Conversation: conversation, Dir: filepath.Join(w.state, "conversations", conversation), Workspace: filepath.Join(w.home, "app"),
		Blocked: func(b sandbox.Block) { w.blocked <- b },
	}
	for _, dir := range []string{w.env.Workspace, w.env.Dir, w.shared} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.cfg = manager.Config{
		Settings: manager.Settings{Mode: manager.On, Minimum: sandbox.Full, OnBlock: manager.Report, Network: manager.NoNetwork},
		User:     boxes.User{Home: w.home, State: w.state}, Getenv: func(string) string { return "" },
		Ask: func(context.Context) probe.Result { return probe.Result{Level: sandbox.Full, Landlock: 5} },
		Test: func(context.Context) ([]escape.Result, error) {
			return []escape.Result{{Name: "read a key", Refused: true}}, nil
		},
	}
	for _, change := range changes {
		change(w)
	}
	return w
}

// manager makes a manager of this world.
func (w *world) manager() *manager.Manager {
	w.t.Helper()
	m, err := manager.New(w.t.Context(), w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := m.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return m
}

// box makes the box of the conversation.
func (w *world) box(m *manager.Manager) sandbox.Box {
	w.t.Helper()
	box, err := m.Box(w.t.Context(), w.env)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := box.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return box
}

func TestModesWithoutBox(t *testing.T) {
	t.Parallel()
	for mode, want := range map[manager.Mode]sandbox.Level{manager.Off: sandbox.Off, manager.External: sandbox.External} {
		w := newWorld(t, func(w *world) {
			w.cfg.Settings.Mode = mode
			w.cfg.Ask, w.cfg.Test = nil, nil // neither is done
		})
		m := w.manager()
		if got := m.Status(); got != (manager.Status{Level: want}) {
			t.Errorf("%s: Status() = %+v", mode, got)
		}
		if got := w.box(m).Level(); got != want {
			t.Errorf("%s: the box has level %s", mode, got)
		}
		if err := m.Check(w.home); err != nil {
			t.Errorf("%s: Check(the home directory) = %v", mode, err)
		}
	}
}

func TestTheLevelMustBeEnough(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		found   probe.Result
		minimum sandbox.Level
		want    string // the error; "" for none
	}{
		{"none", probe.Result{Level: sandbox.Off, Reason: "it is forbidden"}, sandbox.Reduced, "there is no sandbox on this machine: it is forbidden"},
		{"reduced", probe.Result{Level: sandbox.Reduced, Reason: "it is forbidden"}, sandbox.Full, "this machine has the sandbox at level reduced only: it is forbidden"},
		{"reduced is accepted", probe.Result{Level: sandbox.Reduced, Reason: "it is forbidden"}, sandbox.Reduced, ""},
		{"full", probe.Result{Level: sandbox.Full}, sandbox.Reduced, ""},
	} {
		w := newWorld(t, func(w *world) {
			w.cfg.Ask = func(context.Context) probe.Result { return c.found }
			w.cfg.Settings.Minimum = c.minimum
		})
		if c.want == "" {
			if got := w.manager().Status().Level; got != c.found.Level {
				t.Errorf("%s: level %s", c.name, got)
			}
			continue
		}
		_, err := manager.New(t.Context(), w.cfg)
		refused, ok := errors.AsType[*manager.LevelError](err)
		if !ok || refused.Error() != c.want || refused.Minimum != c.minimum {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// Where there is no sandbox, only conversations run whose commands are ohgw's own.
func TestScriptedConversations(t *testing.T) {
	t.Parallel()
	reduced := probe.Result{Level: sandbox.Reduced, Reason: "no namespaces"}
	w := newWorld(t, func(w *world) {
		w.cfg.Scripted, w.cfg.Settings.Minimum = "demo", sandbox.Reduced
		w.cfg.Ask = func(context.Context) probe.Result {
			return probe.Result{Level: sandbox.Off, Reason: "no kernel", Fix: "get one"}
		}
	})
	m := w.manager()
	if got := m.Status(); got.Level != sandbox.Off || got.Reason != "no kernel" || got.Fix != "get one" {
		t.Errorf("Status() = %+v", got)
	}
	for _, profile := range []string{"", "work"} {
		w.env.Profile = profile
		box, err := m.Box(t.Context(), w.env)
		if _, ok := errors.AsType[*manager.LevelError](err); box != nil || !ok || m.Lacking() == nil {
			t.Errorf("%q: box = %v, error %v", profile, box, err)
		}
	}
	w.env.Profile = "demo"
	if got := w.box(m).Level(); got != sandbox.Off {
		t.Errorf("the box has level %s", got)
	}

	// If only a weaker box is possible, New fails: it does not continue without a box.
	w.cfg.Settings.Minimum = sandbox.Full
	w.cfg.Ask = func(context.Context) probe.Result { return reduced }
	_, err := manager.New(t.Context(), w.cfg)
	if _, ok := errors.AsType[*manager.LevelError](err); !ok {
		t.Errorf("level reduced where full was asked for: %v", err)
	}

	// With a sandbox it is for everybody.
	w = newWorld(t, func(w *world) { w.cfg.Scripted, w.env.Profile = "demo", "work" })
	if m := w.manager(); w.box(m).Level() != sandbox.Full || m.Lacking() != nil {
		t.Errorf("with a sandbox: level %s, %v", w.box(m).Level(), m.Lacking())
	}
}

func TestNoBoxWhereOneWasBroken(t *testing.T) {
	t.Parallel()
	for want, attempts := range map[string]func(context.Context) ([]escape.Result, error){
		"the sandbox does not hold, an attempt succeeded: read a key": func(context.Context) ([]escape.Result, error) {
			return []escape.Result{{Name: "write a file", Refused: true}, {Name: "read a key"}}, nil
		},
		"the sandbox cannot be tested: no memory": func(context.Context) ([]escape.Result, error) { return nil, errors.New("no memory") },
	} {
		w := newWorld(t, func(w *world) { w.cfg.Test = attempts })
		if box, err := w.manager().Box(t.Context(), w.env); box != nil || err == nil || err.Error() != want {
			t.Errorf("the box: %v, %v, want %s", box, err, want)
		}
	}
}

func TestBoxesWaitForTheAttempts(t *testing.T) {
	t.Parallel()
	tested := make(chan struct{})
	w := newWorld(t, func(w *world) {
		w.cfg.Test = func(context.Context) ([]escape.Result, error) { <-tested; return nil, nil }
	})
	m := w.manager()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if box, err := m.Box(ctx, w.env); box != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("before: %v, %v", box, err)
	}
	close(tested)
	w.box(m)
}

// The settings for a workspace hold whichever way leads there.
func TestSettingsForAWorkspaceBehindALink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Settings.For = map[string]manager.Settings{w.env.Workspace: {Hide: []string{w.shared}}}
	w.env.Workspace = filepath.Join(w.root, "link")
	if err := os.Symlink(filepath.Join(w.home, "app"), w.env.Workspace); err != nil {
		t.Skip(err)
	}
	box := w.box(w.manager())
	b, ok := explain(box, filepath.Join(w.shared, "file"))
	if !ok || b.Access != sandbox.Read || !strings.Contains(b.Why, "does not show") {
		t.Errorf("Explain() = %+v, %v", b, ok)
	}
}

func explain(box sandbox.Box, path string) (sandbox.Block, bool) {
	return box.(interface {
		Explain(path string) (sandbox.Block, bool)
	}).Explain(path)
}
