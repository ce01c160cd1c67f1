package agents

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// Hooks are the user's own, of hooks.json.
type Hooks struct {
	Path     string
	Count    int
	Shown    []string // to their sandbox beside what the agent sees; nil without a sandbox
	Problems []hook.Problem
}

// Hooks reads the user's hooks, and looks whether they can start in the sandbox that they
// would have.
func (c Backend) Hooks(home, base string, find func(name string) (string, error)) (Hooks, error) {
	found := Hooks{Path: filepath.Join(base, hookfile.Name)}
	data, err := os.ReadFile(found.Path)
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
	for _, matchers := range config {
		for _, m := range matchers {
			found.Count += len(m.Hooks)
		}
	}
	if found.Count == 0 {
		return found, nil
	}
	check := hook.Checker{Home: home, Base: base, Find: find, Shown: func(string) bool { return true }}
	if c.boxes != nil {
		files := hook.New(hook.Config{Hooks: config, Files: hook.FilesOf(config, true, home, base)}).Files()
		workspace, err := os.MkdirTemp("", "ohgw-doctor-") // for what a sandbox shows of any
		if err != nil {
			return found, fmt.Errorf("make a directory: %w", err)
		}
		defer func() { _ = os.RemoveAll(workspace) }()
		if check.Shown, err = c.boxes.Shown(workspace, files); err != nil {
			return found, err
		}
		found.Shown = files
	}
	found.Problems = check.Check(config)
	return found, nil
}
