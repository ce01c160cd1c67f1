// Package terminal is the agent's shell: one bash on a real terminal for each
// conversation, which stays open between the calls.
//
// Invariants: nothing that a command prints can end its call or fake its exit
// code; a call never waits longer than it says; memory is bounded whatever is
// printed; what the shell started ends with Close, as far as the system tells
// what that is. A program escapes only if it leaves its session, its parents
// and its environment behind (on Linux), or its session and parents
// (elsewhere). The shell is not a sandbox: it may do what the user may.
package terminal

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/optional"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/truncate"
)

// Config is what a Terminal needs.
type Config struct {
	// Dir is where the shell begins: the workspace.
	Dir string
	// ID is the conversation's: its programs have it in their environment.
	ID string
	// Environ is the environment of ohgw; only a part is passed on, see
	// [tool.CleanEnvironment].
	Environ []string
	// Box is where the shell runs; nil: outside of every sandbox.
	Box    sandbox.Box
	Params Params
	// SaveDir gets the whole of an output that is too long to show; empty
	// stands for nowhere.
	SaveDir string
	// Secrets may be nil.
	Secrets *secretenv.Registry
	// Replaced says that the conversation had a shell before, which is gone. The
	// first result tells the model.
	Replaced bool
	// User and Host are named in the results.
	User, Host string
	// IdleLimit is after how long without a sign of life the machine is taken
	// away, if it is; a timeout must stay well below it. Zero: never.
	IdleLimit time.Duration
}

// Terminal is the tool of one conversation.
type Terminal struct {
	cfg   Config
	shell string
	tag   string // tells the programs of this Terminal from all others

	mu      sync.Mutex // one call at a time
	session *session   // nil before the first call and after the shell ended
	started bool       // there was a shell
	seq     uint64     // of the last command of the session
	running string     // the command whose end was not reported yet, if any
	busy    bool       // there is such a command
	note    string     // what the next result has to say first

	closing chan struct{} // closed by Close; a call that runs ends then
	close   func()        // closes it, once
}

// variable names the programs of one conversation in their environment.
const variable = "AI_AGENT_TERMINAL"

var variableName = pattern.Of(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// New makes the tool. It starts nothing yet. The error is a [fault.Error]: the
// machine has no bash, or the params ask for what there is not.
func New(cfg Config) (*Terminal, error) {
	switch {
	case !supported:
		return nil, fault.New("the agent's terminal does not support this operating system yet",
			"use an agent-server with --agent-server, or run ohgw inside WSL", nil)
	case cfg.Params.TerminalType == "powershell":
		return nil, fault.New("the agent's terminal does not support PowerShell", "remove terminal_type from the tool's params", nil)
	case cfg.Params.Username != "" && cfg.Params.Username != cfg.User:
		return nil, fault.New(fmt.Sprintf("the agent's terminal cannot run as user %q", cfg.Params.Username),
			"remove username from the tool's params", nil)
	}
	for name := range cfg.Params.Env {
		if !variableName().MatchString(name) {
			return nil, fault.New(fmt.Sprintf("the terminal's params have a variable %q, which is not a valid variable name", name),
				"correct env in the tool's params", nil)
		}
	}
	if cfg.Box == nil {
		cfg.Box = sandbox.Outside(sandbox.Off, sandbox.Mark{})
	}
	shell, err := findShell(cfg.Params.ShellPath, cfg.Environ)
	if err != nil {
		return nil, err
	}
	t := &Terminal{cfg: cfg, shell: shell, tag: cfg.ID + "." + rand.Text(), closing: make(chan struct{})}
	t.close = sync.OnceFunc(func() { close(t.closing) })
	if cfg.Replaced {
		t.note = replacedNote
	}
	return t, nil
}

const replacedNote = "[The shell of the earlier commands was closed meanwhile, and this is a new one: the working directory, variables and functions are as at " +
	"the beginning, and programs that ran in the background have ended.]\n"

func findShell(path string, environ []string) (string, error) {
	shell, err := sandbox.Find(cmp.Or(path, "bash"), environ)
	if err == nil {
		return shell, nil
	}
	if path != "" {
		return "", fault.New(fmt.Sprintf("cannot run %q as the agent's shell", path), "correct shell_path in the tool's params", err)
	}
	return "", fault.New("cannot find bash, which the agent's terminal needs",
		"install bash, or set shell_path in the tool's params", err)
}

// Definition is what the model is told.
func (t *Terminal) Definition() tool.Definition { return definition() }

// Locks says that calls come one after the other.
func (t *Terminal) Locks(json.RawMessage) []string { return []string{"terminal:session"} }

// Resize sends the running programs the new size of the terminal.
func (t *Terminal) Resize(cols, rows uint16) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session == nil {
		return nil
	}
	return t.session.resize(cols, rows)
}

// Close ends the shell and what it started. The result of a call that runs says so.
func (t *Terminal) Close() error {
	t.close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
	if t.started { // looking for its programs means to look at all there are
		killAll(func() []int { return tagged(t.tag) })
	}
	return nil
}

// end closes the session.
func (t *Terminal) end() {
	if t.session != nil {
		t.session.close()
	}
	t.session, t.busy, t.seq = nil, false, 0
}

// Run executes one call. When ctx is cancelled it stops the command, by force
// if need be, and gives ctx's error.
func (t *Terminal) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var args arguments
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return tool.Result{}, &tool.ArgumentError{Msg: "the arguments of terminal cannot be read"}
	}
	args.Command = strings.TrimSpace(args.Command)
	t.mu.Lock()
	defer t.mu.Unlock()
	if args.Reset && args.IsInput {
		return tool.Result{}, &tool.ArgumentError{Msg: "reset and is_input exclude each other: a new shell runs nothing that could take input."}
	}
	r := reply{command: args.Command}
	if t.closed() {
		return t.endedByClose(r)
	}
	if problem := t.check(args); problem != "" {
		return t.refuse(r, problem)
	}
	t.notice()
	if args.Reset {
		t.end()
		t.note = ""
		r.prefix = "[The shell was ended and a new one was started.]\n"
		if args.Command == "" {
			r.exitCode = new(int) // of the call: there is no command
			return t.result(r)
		}
	}
	return t.run(ctx, args, r)
}

func (t *Terminal) run(ctx context.Context, args arguments, r reply) (tool.Result, error) {
	if !args.IsInput && t.busy && isControl(args.Command) {
		args.IsInput = true // what else could it be
	}
	switch {
	case args.Command == "" && !t.busy:
		return t.refuse(r, "Nothing is running, so there is no more output. Give a command to run.")
	case args.IsInput && !t.busy:
		return t.refuse(r, "Nothing is running that could take input. To run this as a command, leave is_input out.")
	case args.Command == "":
		r.prefix += "[More output of the command that is running:]\n"
	case args.IsInput:
		r.prefix += "[Output after the input:]\n"
		if t.session.over(t.seq) {
			r.prefix = "[The program had ended before the input came, which was not sent. Its last output:]\n"
			break
		}
		if err := t.typeIn(args.Command); err != nil {
			return t.refuse(r, "The input was not sent: "+err.Error()+". Wait with an empty command, or stop it with C-c.")
		}
	default:
		return t.runCommand(ctx, args, r)
	}
	return t.wait(ctx, args, r)
}

// runCommand runs a command, unless an earlier one is still running.
func (t *Terminal) runCommand(ctx context.Context, args arguments, r reply) (tool.Result, error) {
	if t.busy && !t.session.over(t.seq) {
		if t.session.stranded() && !t.session.revive(ctx, t.seq) {
			r.prefix = "[Your command was not run.]\n"
			return t.replaced(r)
		}
		if !t.session.over(t.seq) {
			return t.stillRunning(r)
		}
	}
	if err := t.begin(ctx, args.Command, &r); err != nil {
		return t.cannotStart(ctx, r, err)
	}
	return t.wait(ctx, args, r)
}

// check says what is wrong with a call that cannot be meant as it is written.
func (t *Terminal) check(args arguments) string {
	switch {
	case strings.ContainsRune(args.Command, 0):
		return "The command contains a NUL character, which no command can."
	case args.Timeout != nil && t.cfg.IdleLimit > 0 && seconds(*args.Timeout) > t.cfg.IdleLimit*9/10:
		return fmt.Sprintf("A timeout of %g seconds is too long here: the machine is taken away when "+
			"nothing happens for %g seconds. Use at most %g, or run the command in the background and look at its output now and then.",
			*args.Timeout, t.cfg.IdleLimit.Seconds(), (t.cfg.IdleLimit * 9 / 10).Seconds())
	case args.IsInput:
		return ""
	}
	if what := literal(args.Command); what != "" {
		return "The command is " + what + " in Python or JSON, not a shell command. " +
			"To run code, write it to a file with file_editor and run that, or pass it on in a here-document: python3 - <<'EOF' ..."
	}
	parts := statements(args.Command)
	if len(parts) < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Only one command at a time: join them with && or ; or send them one by one. These are several:")
	for i, part := range parts {
		fmt.Fprintf(&b, "\n%d. %s", i+1, truncate.Head(part, 200))
	}
	return b.String()
}

// notice finds out that the shell ended since the last call.
func (t *Terminal) notice() {
	if t.session == nil || t.session.alive() {
		return
	}
	t.note = fmt.Sprintf("[The shell had ended with exit code %d. This is a new one: directory, variables and functions are as at the beginning.]\n",
		t.session.exitCode())
	t.end()
}

// begin sends a command to the shell, which is started if there is none.
func (t *Terminal) begin(ctx context.Context, command string, r *reply) error {
	vars, missing := t.cfg.Secrets.For(ctx, command)
	if err := ctx.Err(); err != nil {
		return err
	}
	carried := t.renew(ctx)
	if t.session == nil {
		t.endLeftovers()
		s, err := startSession(ctx, t.cfg.Box, t.program(), t.cfg.Secrets)
		if err != nil {
			return err
		}
		t.session, t.seq, t.started = s, 0, true
	}
	r.prefix += t.note
	t.note = ""
	for _, name := range missing {
		r.prefix += fmt.Sprintf("[The value of the secret %s is not available; the variable is not set.]\n", name)
	}
	r.prefix += t.lastWords(ctx)
	t.seq++
	t.running, t.busy = command, true
	t.session.begin(t.seq, carried+exports(vars), command)
	return nil
}

// endLeftovers ends what an earlier shell of the conversation has started and
// could not end, because its process was killed. It looks once, and only where
// there was such a shell: that means to look at all processes there are.
func (t *Terminal) endLeftovers() {
	if t.cfg.Replaced && !t.started && t.cfg.ID != "" {
		killAll(func() []int { return tagged(t.cfg.ID + ".") })
	}
}

// lastWords takes what came since the last call: the end of a command that was still
// running then, or the output of programs in the background.
func (t *Terminal) lastWords(ctx context.Context) string {
	if t.busy {
		// Its error is ctx's, which the caller finds out, too.
		_ = t.session.waitForMarker(ctx, t.seq)
	}
	text, _, _ := t.session.takeOutput(t.cfg.SaveDir).text(lastWordsLimit)
	switch {
	case t.busy:
		return fmt.Sprintf("[The command before has ended with exit code %d. Its last output:]\n%s\n[Output of this command:]\n",
			t.session.state().exitCode, text)
	case strings.TrimSpace(text) != "":
		return fmt.Sprintf("[Output since the last command:]\n%s\n[Output of this command:]\n", text)
	}
	return ""
}

const lastWordsLimit = 4000

func exports(vars []secretenv.Variable) string {
	var b strings.Builder
	for _, v := range vars {
		fmt.Fprintf(&b, "export %s=%s\n", v.Name, shellword.Quoted(v.Value()))
	}
	return b.String()
}

// program is the shell.
func (t *Terminal) program() sandbox.Program {
	args := append(t.niceness(), t.shell, "--noprofile", "--norc", "--noediting", "-i")
	return sandbox.Program{
		Args: args, Dir: t.cfg.Dir, Terminal: true,
		Env: append(t.environment(), "PS1=", "PS2=", "BASH_SILENCE_DEPRECATION_WARNING=1"),
	}
}

func (t *Terminal) environment() []string {
	extra := map[string]string{}
	maps.Copy(extra, t.cfg.Params.Env)
	for name, value := range map[string]string{
		"TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat", "AI_AGENT": "openhands",
	} {
		if _, own := extra[name]; !own {
			extra[name] = value
		}
	}
	extra[variable] = t.tag
	return tool.CleanEnvironment(t.cfg.Environ, extra)
}

// typeIn types a text and Enter, or a key.
func (t *Terminal) typeIn(command string) error {
	sent, ok := key(command)
	if !ok {
		return t.session.input(strings.ReplaceAll(command, "\n", "\r") + "\r")
	}
	if len(sent) == 1 {
		// Not as a character: those wait until the program reads.
		if sig, ok := t.session.signalFor(sent[0]); ok {
			t.session.signal(sig, t.seq)
			return nil
		}
	}
	return t.session.input(sent)
}

// lookAtShell is how often the shell is looked at while a command runs.
const lookAtShell = 250 * time.Millisecond

// wait returns when the command is over, or is to be looked at all the same.
func (t *Terminal) wait(ctx context.Context, args arguments, r reply) (tool.Result, error) {
	limit := t.cfg.Params.quiet()
	if args.Timeout != nil {
		limit = seconds(*args.Timeout)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	look := time.NewTicker(lookAtShell)
	defer look.Stop()
	s := t.session
	for seen := s.written(); ; {
		if s.over(t.seq) {
			if err := s.waitForMarker(ctx, t.seq); err != nil {
				return tool.Result{}, err
			}
			return t.finished(r)
		}
		select {
		case <-s.wake:
			if now := s.written(); args.Timeout == nil && now != seen {
				seen = now
				timer.Reset(limit)
			}
		case <-s.gone:
			s.drain()
			return t.shellEnded(r)
		case <-t.closing:
			return t.closedMeanwhile(ctx, r)
		case <-look.C:
			if s.stranded() && !s.revive(ctx, t.seq) {
				return t.replaced(r)
			}
		case <-timer.C:
			r.timeout = args.Timeout != nil
			return t.unfinished(r, limit)
		case <-ctx.Done():
			return tool.Result{}, t.interrupt(ctx)
		}
	}
}

// interrupt stops the command and gives the error of ctx, which is cancelled, with what
// the command has written.
func (t *Terminal) interrupt(ctx context.Context) error {
	t.session.interrupt(t.seq)
	t.busy = t.busy && !t.session.over(t.seq)
	const reserve = 500 // for what the conversation says with it
	text, _, _ := t.session.takeOutput("").text(tool.LimitTerminal - reserve)
	return &tool.StoppedError{Output: text, Err: ctx.Err()}
}

// closedMeanwhile reports a call whose terminal is closed while it waits.
func (t *Terminal) closedMeanwhile(ctx context.Context, r reply) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, t.interrupt(ctx)
	}
	t.session.endNow()
	r.text = t.session.takeOutput("")
	return t.endedByClose(r)
}

// cannotStart says why there is no shell. A sandbox that cannot be started ends the
// run: neither the model nor another command can do anything about it.
func (t *Terminal) cannotStart(ctx context.Context, r reply, err error) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, ctx.Err()
	}
	if _, ok := errors.AsType[*sandbox.UnavailableError](err); ok {
		return tool.Result{}, err
	}
	return t.refuse(r, fmt.Sprintf("The terminal does not work: %v. The user has to fix that.", err))
}

// reply is a result in the making.
type reply struct {
	command        string
	prefix, suffix string
	text           *output
	words          string // in place of text
	isError        bool
	timeout        bool
	exitCode       *int
	state          *prompt
}

// result puts a reply together.
func (t *Terminal) result(r reply) (tool.Result, error) {
	o := observation{
		Command: r.command, ExitCode: r.exitCode, Timeout: r.timeout,
		Metadata: tool.TerminalMetadata{ExitCode: -1, PID: -1, Prefix: r.prefix, Suffix: r.suffix},
	}
	if r.exitCode != nil && r.text != nil {
		o.Metadata.ExitCode = *r.exitCode
	}
	if r.state != nil {
		o.Metadata.PID = r.state.lastJob
		o.Metadata.WorkingDir = optional.Of(r.state.dir)
		o.Metadata.PyInterpreterPath = optional.Of(findPython(r.state.path, r.state.dir))
		o.Metadata.Username, o.Metadata.Hostname = optional.Of(t.cfg.User), optional.Of(t.cfg.Host)
	}
	text := r.words
	if r.text != nil {
		before, after := o.Metadata.Around()
		// OpenHands writes around the output with other words than we do.
		const reserve = 200
		short, truncated, err := r.text.text(max(reserve, tool.LimitTerminal-len(before)-len(after)-reserve))
		if truncated {
			o.SaveDir = optional.Of(t.cfg.SaveDir)
		}
		if err != nil {
			o.Metadata.Suffix += "\n[The whole output could not be saved.]"
		}
		text = short
	}
	result, err := tool.NewResult(tool.KindTerminalObservation, []event.Content{event.Text(text)}, r.isError, o)
	if err != nil {
		return tool.Result{}, err
	}
	result.Content, _, err = tool.Content(result.Observation)
	return result, err
}
