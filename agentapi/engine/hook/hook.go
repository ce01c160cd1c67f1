// Package hook runs OpenHands' hooks: commands of the user that are told of what
// happens in a conversation, and may refuse it.
//
// A command runs in the box of the conversation. Invariants: it ends after its time
// limit, with what it started; what is kept of its output is bounded; a hook that
// has run and fails refuses nothing. One before an action or a message that cannot be
// started refuses it: a guard that does not run guards nothing. Hooks of the types prompt and agent are not run: they pass,
// as OpenHands' do when they fail. Which hooks there are is decided elsewhere.
package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/hookfile"
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
}

// Result is what became of one hook.
type Result struct {
	Command        string // as it is named in events
	Success        bool
	Blocked        bool
	ExitCode       int
	Stdout, Stderr string
	Reason         string
	Context        string
	Err            string
	Unable         bool // its program could not be started
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
// refused is the last.
func (r *Runner) Run(ctx context.Context, e Event) []Result {
	if r == nil {
		return nil
	}
	refusable := slices.Contains([]string{hookfile.PreToolUse, hookfile.UserPromptSubmit, hookfile.Stop}, e.Type)
	var results []Result
	for _, h := range r.cfg.Hooks.For(e.Type, e.Tool) {
		if ctx.Err() != nil {
			break
		}
		result := r.one(ctx, h, e)
		result.Command = label(h)
		results = append(results, result)
		if result.Blocked && refusable {
			break
		}
	}
	return results
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

func (r *Runner) one(ctx context.Context, h hookfile.Hook, e Event) Result {
	if h.Type != hookfile.TypeCommand {
		return Result{Err: "The embedded engine does not run hooks of the type " + h.Type + "."}
	}
	r.mu.Lock()
	box, env := r.box, slices.Clone(r.env)
	r.mu.Unlock()
	if box == nil {
		none := Result{ExitCode: -1, Err: "There is no sandbox in which the hook could run.", Unable: true}
		r.guard(&none, h, e)
		return none
	}
	input, err := json.Marshal(r.told(e))
	if err != nil {
		return Result{ExitCode: -1, Err: err.Error()}
	}
	env = append(env, "OPENHANDS_PROJECT_DIR="+r.cfg.Dir, "OPENHANDS_SESSION_ID="+r.cfg.Session, "OPENHANDS_EVENT_TYPE="+Name(e.Type))
	if e.Tool != "" {
		env = append(env, "OPENHANDS_TOOL_NAME="+e.Tool)
	}
	p := sandbox.Program{Args: []string{"/bin/sh", "-c", r.line(h.Command)}, Dir: r.cfg.Dir, Env: env}
	if h.Async {
		r.background.Go(func() { command(r.ctx, box, p, input, h.Timeout) })
		return Result{Success: true}
	}
	result := command(ctx, box, p, input, h.Timeout)
	if result.Unable {
		r.guard(&result, h, e)
	}
	return result
}

// idle are the tools that change nothing.
var idle = []string{"finish", "think"}

// line is a command with the paths of its files as they are outside: the home directory
// in the sandbox may be another one, to which the agent writes.
func (r *Runner) line(command string) string {
	words := slices.SortedFunc(maps.Keys(r.cfg.Files), func(a, b string) int { return len(b) - len(a) }) // one may begin another
	for _, word := range words {
		if at := r.cfg.Files[word]; word != at {
			command = strings.ReplaceAll(command, word, at)
		}
	}
	return command
}

// guard has a hook refuse that could not be started.
func (r *Runner) guard(result *Result, h hookfile.Hook, e Event) {
	why := result.Err
	if why == "" {
		why = fmt.Sprintf("its program was not found, or cannot be executed (exit code %d)", result.ExitCode)
		if said := strings.TrimSpace(result.Stderr); said != "" {
			why += ": " + said
		}
		result.Err = "The hook could not be started: " + why + "."
	}
	// Without the tools that do nothing, an agent could not even say why it stops.
	if guards(e.Type) && !slices.Contains(idle, e.Tool) {
		result.Blocked = true
		result.Reason = strings.TrimSpace(fmt.Sprintf("This is refused because its hook could not be started: %s. The hook is: %s. %s", strings.TrimSuffix(why, "."), h.Command, r.cfg.Repair))
	}
}

// patience is how long the output of a hook that has ended is read.
const patience = time.Second

// command runs one command and reads its answer.
func command(ctx context.Context, box sandbox.Box, p sandbox.Program, input []byte, seconds int) Result {
	limited, cancel := context.WithTimeout(ctx, time.Duration(max(seconds, 1))*time.Second)
	defer cancel()
	out, errs := bounded.Head{Max: maxKept}, bounded.Head{Max: maxKept} // the rest is read, too: it does not stop the command
	err := sandbox.Talk(limited, box, p, input, &out, &errs, patience)
	r := Result{Success: err == nil, Stdout: told(&out), Stderr: told(&errs)}
	exit, isExit := errors.AsType[*sandbox.ExitError](err)
	switch {
	case isExit:
		r.ExitCode = exit.Code
		r.Blocked = exit.Code == exitBlock
		r.Unable = exit.Code == exitNotExecutable || exit.Code == exitNotFound
	case ctx.Err() != nil:
		r.ExitCode, r.Err = -1, "The hook was stopped with the run."
	case limited.Err() != nil:
		r.ExitCode, r.Err = -1, fmt.Sprintf("The hook did not end after %d seconds and was stopped.", max(seconds, 1))
	case err != nil:
		r.ExitCode, r.Err, r.Unable = -1, fmt.Sprintf("The hook could not be run: %v.", err), true
	}
	if err == nil || isExit {
		r.answer(out.Bytes())
	}
	return r
}

// Exit codes: of a hook that refuses, and of a shell that cannot start a program.
const (
	exitBlock         = 2
	exitNotExecutable = 126
	exitNotFound      = 127
)

// answer reads the JSON that a hook may print. Anything else is only output.
func (r *Result) answer(data []byte) {
	var said struct {
		Decision *string `json:"decision"`
		Reason   any     `json:"reason"`
		Context  any     `json:"additionalContext"`
		Continue any     `json:"continue"`
	}
	if json.Unmarshal(data, &said) != nil {
		return
	}
	if said.Decision != nil && *said.Decision == "deny" || said.Continue == false {
		r.Blocked = true
	}
	r.Reason, r.Context = words(said.Reason), words(said.Context)
}

// words is a text in a hook's JSON, or another value as text.
func words(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return fitting(v)
	}
	return fitting(fmt.Sprint(v))
}
