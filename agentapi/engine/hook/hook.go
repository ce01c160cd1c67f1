// Package hook runs OpenHands' hooks: commands, questions to a model, and small agents of the
// user that are told of what happens in a conversation, and may refuse it, change it, or add
// a text to it.
//
// A command runs in the box of the conversation; a [Judge] asks models. Invariants: a hook
// ends after its time limit, with what it started, also where that has left its session;
// what is kept of its output is bounded; a hook that has run and fails refuses nothing. A command before an action or a message
// refuses it where it cannot be started, or where its answer cannot be read: a guard that
// does not run guards nothing. Which hooks there are is decided elsewhere.
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/truncate"
)

// Config is what a Runner needs.
type Config struct {
	Hooks   hookfile.Config
	Dir     string // the workspace, absolute
	Session string // the conversation's id
	// Files are what the sandbox of hooks shows beside that of the agent, by the words in
	// commands that name them.
	Files  map[string]string
	Repair string // what to do about a program that is not there, as a sentence
}

// Event is what hooks are told.
type Event struct {
	Type     string // one of hookfile's
	Tool     string
	Input    json.RawMessage // the action
	Response json.RawMessage // the observation
	Message  string
	Reason   string // of the end of a run
	// Change makes the action of another input, which a hook has for a call. Its error
	// completes the sentence "the hook changed the input, and ...". May be nil.
	Change func(input json.RawMessage) (action json.RawMessage, err error)
}

// Result is what became of one hook.
type Result struct {
	Event          Event  // as this hook was told of it: one before it may have changed the input
	Command        string // as it is named in events
	Success        bool
	Blocked        bool
	ExitCode       int
	Stdout, Stderr string
	Reason         string
	Context        string
	Err            string
	Unable         bool // its program could not be started

	input  json.RawMessage // that it wants a call to have; nil: as it is
	unread string          // why its answer could not be read
}

// Why is why a hook refused.
func (r Result) Why() string {
	switch {
	case r.Reason != "":
		return r.Reason
	case r.Stderr != "":
		return r.Stderr
	}
	return "Blocked by hook"
}

// Refusal is why the first hook that refused did. It is "" if none did.
func Refusal(results []Result) string {
	for _, r := range results {
		if r.Blocked {
			return r.Why()
		}
	}
	return ""
}

// Runner runs the hooks of one conversation. A nil Runner has none.
type Runner struct {
	cfg  Config
	ctx  context.Context
	stop context.CancelFunc

	mu  sync.Mutex
	box sandbox.Box
	env []string

	background sync.WaitGroup
	left       leftovers
}

// New makes a Runner; nil without hooks.
func New(cfg Config) *Runner {
	if len(cfg.Hooks) == 0 {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Runner{cfg: cfg, ctx: ctx, stop: stop}
}

// Use says in which box commands run, and with which environment.
func (r *Runner) Use(box sandbox.Box, env []string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.box, r.env = box, env
}

// Close ends the hooks that no caller waits for.
func (r *Runner) Close() {
	if r != nil {
		r.stop()
		r.background.Wait()
		r.left.close()
	}
}

// Files are paths that the sandbox of the hooks has to show.
func (r *Runner) Files() []string {
	if r == nil {
		return nil
	}
	return slices.Compact(slices.Sorted(maps.Values(r.cfg.Files)))
}

// Any reports whether there are hooks for an event.
func (r *Runner) Any(event, tool string) bool {
	return r != nil && len(r.cfg.Hooks.For(event, tool)) > 0
}

// Run runs the hooks for an event, one after the other. One that refuses what may be
// refused is the last. The judge asks models for those of other types than command.
func (r *Runner) Run(ctx context.Context, e Event, judge Judge) []Result {
	if r == nil {
		return nil
	}
	refusable := slices.Contains([]string{hookfile.PreToolUse, hookfile.UserPromptSubmit, hookfile.Stop}, e.Type)
	var results []Result
	for _, h := range r.cfg.Hooks.For(e.Type, e.Tool) {
		if ctx.Err() != nil {
			break
		}
		result := r.one(ctx, h, e, judge)
		result.Command, result.Event = label(h), e
		result.change(&e)
		results = append(results, result)
		if result.Blocked && refusable {
			break
		}
	}
	return results
}

// change gives an event the input that the hook wants. An input that a call cannot have
// refuses the call: the hook did not want it as it was.
func (r *Result) change(e *Event) {
	if r.input == nil || r.Blocked || e.Type != hookfile.PreToolUse || e.Change == nil {
		return
	}
	action, err := e.Change(r.input)
	if err != nil {
		r.Blocked, r.Reason = true, fitting(fmt.Sprintf("A hook changed the input of this call, and %v.", err))
		return
	}
	e.Input = action
}

// maxLabel is how much of a prompt names its hook, in characters.
const maxLabel = 20

// label returns how events name a hook.
func label(h hookfile.Hook) string {
	text := ""
	switch {
	case h.Command != "":
		return h.Command
	case h.Name != nil:
		return h.Type + "-hook:" + *h.Name
	case h.Type == hookfile.TypePrompt && h.Prompt != nil:
		text = *h.Prompt
	case h.Type == hookfile.TypeAgent && h.SystemPrompt != nil:
		text = *h.SystemPrompt
	}
	if text == "" {
		return h.Type + "-hook:" + h.Type
	}
	return h.Type + "-hook:" + truncate.Head(text, maxLabel)
}

func (r *Runner) one(ctx context.Context, h hookfile.Hook, e Event, judge Judge) Result {
	if h.Type != hookfile.TypeCommand {
		return r.judged(ctx, h, e, judge)
	}
	r.mu.Lock()
	box, env := r.box, slices.Clone(r.env)
	r.mu.Unlock()
	if box == nil {
		none := Result{ExitCode: -1, Err: "There is no sandbox in which the hook could run.", Unable: true}
		r.guard(&none, h, e)
		return none
	}
	input, err := plainjson.Marshal(r.told(e))
	if err != nil {
		return Result{ExitCode: -1, Err: err.Error()}
	}
	env = append(env, "OPENHANDS_PROJECT_DIR="+r.cfg.Dir, "OPENHANDS_SESSION_ID="+r.cfg.Session, "OPENHANDS_EVENT_TYPE="+Name(e.Type))
	if e.Tool != "" {
		env = append(env, "OPENHANDS_TOOL_NAME="+e.Tool)
	}
	tag := newTag()
	p := sandbox.Program{Args: []string{"/bin/sh", "-c", r.line(h.Command)}, Dir: r.cfg.Dir, Env: append(env, tag)}
	r.left.watch(tag, limit(h.Timeout))
	if h.Async {
		r.background.Go(func() { command(r.ctx, box, p, input, h.Timeout) })
		return Result{Success: true}
	}
	result := command(ctx, box, p, input, h.Timeout)
	if result.Unable || result.unread != "" {
		r.guard(&result, h, e)
	}
	return result
}
