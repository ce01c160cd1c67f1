package doctor

import (
	"context"
	"fmt"
	"strings"
)

// Hooks are the user's own hooks of the embedded agent.
type Hooks struct {
	Level    string // of their sandbox, as in [Sandbox]
	Path     string // of their file
	Count    int
	Prompts  int      // of Count: questions to the model
	Agents   int      // of Count: agents with the model
	Shown    []string // files that their sandbox shows beside what the agent sees
	Programs string   // the directory for their programs
	Problems []HookProblem
	Error    error // the file cannot be read
}

// HookProblem is a hook that cannot do its work.
type HookProblem struct {
	Event, Command, Why string
	Hidden              bool   // the sandbox does not show what it names
	Allow               string // the directory to show, if that can be allowed
	Refuses             bool   // all that it was to look at
}

// checkHooks says where hooks run, and which cannot start there.
func checkHooks(ctx context.Context, w *World) Result {
	h, err := w.Hooks(ctx)
	switch {
	case err != nil:
		return failed(err)
	case h.Level == "backend":
		return skip("an agent-server runs its own hooks")
	case h.Error != nil:
		return Result{}.fail("the hooks cannot be read, so no conversation starts", h.Error.Error(), "repair "+h.Path+", or move it away")
	case h.Count == 0:
		return fine("there are no hooks in %s", h.Path)
	}
	r := fine("%s of %s: %s", plural(h.Count, "hook"), h.Path, h.where())
	for _, p := range h.Problems[:min(most, len(h.Problems))] {
		text := fmt.Sprintf("the %s hook %s cannot do its work", p.Event, p.Command)
		if p.Refuses {
			text = fmt.Sprintf("the %s hook %s cannot start, so it refuses all that it is for", p.Event, p.Command)
		}
		r = r.warn(text, p.Why, h.repair(p))
	}
	if left := len(h.Problems) - most; left > 0 {
		r = r.warn("and "+plural(left, "more problem"), "", "repair the others first")
	}
	return r
}

// where says where hooks of each type run.
func (h Hooks) where() string {
	if h.Prompts+h.Agents == 0 {
		return "they run " + h.place()
	}
	var parts []string
	if n := h.Count - h.Prompts - h.Agents; n > 0 {
		parts = append(parts, plural(n, "command")+" "+h.place())
	}
	if h.Prompts > 0 {
		parts = append(parts, plural(h.Prompts, "question")+" to the model, without a program")
	}
	if h.Agents > 0 {
		shown := h
		shown.Shown = nil // to commands only
		parts = append(parts, plural(h.Agents, "agent")+" with the model, "+shown.place())
	}
	return strings.Join(parts, "; ")
}

// place says where programs of hooks run.
func (h Hooks) place() string {
	switch h.Level {
	case "full", "reduced":
	case "external":
		return "where ohgw runs, with your rights there"
	default:
		return "with your rights"
	}
	if len(h.Shown) == 0 {
		return "in the agent's sandbox, which does not show your home directory"
	}
	return "in a sandbox that also shows, read-only, " + strings.Join(h.Shown, ", ")
}

// repair is what to do about a hook.
func (h Hooks) repair(p HookProblem) string {
	switch {
	case !p.Hidden:
		return "repair the hook in " + h.Path
	case p.Allow == "":
		return "put it into " + h.Programs
	}
	return fmt.Sprintf("put it into %s; or: ohgw sandbox allow read %s", h.Programs, p.Allow)
}
