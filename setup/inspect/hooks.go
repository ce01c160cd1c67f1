package inspect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/redact"
	"github.com/ohgw/ohgw/internal/truncate"
	"github.com/ohgw/ohgw/setup/doctor"
	"github.com/ohgw/ohgw/setup/sandboxes"
)

// hooksState reads the user's hooks, as the embedded agent would run them.
func (p *Installation) hooksState(ctx context.Context) (doctor.Hooks, error) {
	b, err := p.open(ctx)
	if err != nil {
		return doctor.Hooks{}, err
	}
	dirs, err := p.Dirs()
	if err != nil {
		return doctor.Hooks{}, err
	}
	places, err := p.Places()
	if err != nil {
		return doctor.Hooks{}, err
	}
	state := doctor.Hooks{Level: b.Sandbox(ctx).Level, Programs: filepath.Join(places.Base(), hook.Directory)}
	if state.Level == sandboxes.Elsewhere {
		return state, nil
	}
	h, err := readHooks(b.Boxes(), dirs.Home, places.Base(), p.LookPath)
	state.Path, state.Count, state.Shown, state.Error = h.path, h.count, h.shown, err
	state.Prompts, state.Agents = h.types[hookfile.TypePrompt], h.types[hookfile.TypeAgent]
	for _, of := range h.problems {
		state.Problems = append(state.Problems, doctor.HookProblem{Event: hook.Name(of.Event), Command: shortened(of.Command), Why: of.Why, Hidden: of.Hidden, Allow: of.Allow, Refuses: of.Refuses})
	}
	return state, nil
}

// userHooks are the user's own hooks, of hooks.json.
type userHooks struct {
	path     string
	count    int
	types    map[string]int // how many of each type
	shown    []string       // to their sandbox beside what the agent sees; nil without a sandbox
	problems []hook.Problem
}

// readHooks reads the user's hooks, and looks whether they can start in the sandbox that
// they would have. b is nil without one.
func readHooks(b *sandboxes.Boxes, home, base string, find func(name string) (string, error)) (userHooks, error) {
	found := userHooks{path: filepath.Join(base, hookfile.Name)}
	data, err := os.ReadFile(found.path)
	if os.IsNotExist(err) {
		return found, nil
	}
	var config hookfile.Config
	if err == nil {
		config, err = hookfile.Parse(data)
	}
	if err != nil {
		return found, err
	}
	found.types = make(map[string]int)
	for _, matchers := range config {
		for _, m := range matchers {
			for _, h := range m.Hooks {
				found.count++
				found.types[h.Type]++
			}
		}
	}
	if found.count == 0 {
		return found, nil
	}
	check := hook.Checker{Home: home, Base: base, Find: find, Shown: func(string) bool { return true }}
	if b != nil {
		files := hook.New(hook.Config{Hooks: config, Files: hook.FilesOf(config, true, home, base)}).Files()
		workspace, err := os.MkdirTemp("", "ohgw-doctor-") // for what a sandbox shows of any
		if err != nil {
			return found, fmt.Errorf("make a directory: %w", err)
		}
		defer func() { _ = os.RemoveAll(workspace) }()
		if check.Shown, err = b.Shown(workspace, files); err != nil {
			return found, err
		}
		found.shown = files
	}
	found.problems = check.Check(config)
	return found, nil
}

// maxCommand is how many characters name a hook.
const maxCommand = 80

// shortened is a command on a line, without what looks like a key.
func shortened(command string) string {
	return truncate.Marked(redact.Text(strings.Join(strings.Fields(command), " ")), maxCommand, "…")
}
