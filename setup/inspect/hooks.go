package inspect

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/internal/doctor"
	"github.com/ohgw/ohgw/internal/redact"
	"github.com/ohgw/ohgw/internal/truncate"
	"github.com/ohgw/ohgw/setup/sandboxes"
)

// hooksState is the user's hooks, as the embedded agent would run them.
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
	h, err := b.Hooks(dirs.Home, places.Base(), p.LookPath)
	state.Path, state.Count, state.Shown, state.Error = h.Path, h.Count, h.Shown, err
	for _, of := range h.Problems {
		state.Problems = append(state.Problems, doctor.HookProblem{Event: hook.Name(of.Event), Command: shortened(of.Command), Why: of.Why, Hidden: of.Hidden, Allow: of.Allow, Refuses: of.Refuses})
	}
	return state, nil
}

// maxCommand is how many characters name a hook.
const maxCommand = 80

// shortened is a command on a line, without what looks like a key.
func shortened(command string) string {
	return truncate.Marked(redact.Text(strings.Join(strings.Fields(command), " ")), maxCommand, "…")
}
