package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/truncate"
)

const howToGoOn = "Wait for more with an empty command, answer it with is_input, or stop it with is_input and C-c. If nothing helps, reset begins a new shell."

// running is the exit code of a program that has not ended.
const running = -1

// finished reports a command that is over.
func (t *Terminal) finished(r reply) (tool.Result, error) {
	p := t.session.state()
	r.text, r.state, r.exitCode = t.session.takeOutput(""), &p, &p.exitCode
	t.busy = false
	return t.result(r)
}

// unfinished reports a command that goes on.
func (t *Terminal) unfinished(r reply, limit time.Duration) (tool.Result, error) {
	what := fmt.Sprintf("no new output for %g seconds", limit.Seconds())
	if r.timeout {
		what = fmt.Sprintf("the limit of %g seconds has passed", limit.Seconds())
	}
	code := running
	r.exitCode = &code
	r.suffix = fmt.Sprintf("\n[The program is still running: %s. %s]", what, howToGoOn)
	r.text = t.session.takeOutput(t.cfg.SaveDir)
	return t.result(r)
}

// stillRunning refuses a command because another one is not over.
func (t *Terminal) stillRunning(r reply) (tool.Result, error) {
	code := running
	r.exitCode, r.isError = &code, true
	r.prefix += "[Output of the program that is running:]\n"
	r.suffix = fmt.Sprintf("\n[Your command was not run: %q is still running. %s]", truncate.Head(t.running, 100), howToGoOn)
	r.text = t.session.takeOutput(t.cfg.SaveDir)
	return t.result(r)
}

// shellEnded reports the end of the shell itself, after a command such as exit.
func (t *Terminal) shellEnded(r reply) (tool.Result, error) {
	code := t.session.exitCode()
	r.exitCode = &code
	r.text = t.session.takeOutput("")
	r.suffix = "\n[The shell has ended. The next command gets a new one: directory, variables and functions are then as at the beginning.]"
	result, err := t.result(r)
	t.end()
	return result, err
}

// replaced reports a shell that waits for a line of input where it would have
// to say that the command is over: something that it needs for that was taken
// from it. It is ended.
func (t *Terminal) replaced(r reply) (tool.Result, error) {
	code := running
	r.exitCode, r.isError = &code, true
	r.text = t.session.takeOutput("")
	r.suffix = fmt.Sprintf("\n[The shell no longer takes commands: %q has changed how it works, or replaced it by another one. Its exit code is unknown. "+
		"The shell was ended. The next command gets a new one: directory, variables and functions are then as at the beginning.]", truncate.Head(t.running, 100))
	result, err := t.result(r)
	t.end()
	return result, err
}

// closed reports whether Close was called.
func (t *Terminal) closed() bool {
	select {
	case <-t.closing:
		return true
	default:
		return false
	}
}

// endedByClose reports a call whose terminal was closed before it was over.
func (t *Terminal) endedByClose(r reply) (tool.Result, error) {
	code := running
	r.exitCode, r.isError = &code, true
	r.suffix = "\n[The terminal was closed before the command had ended.]"
	return t.result(r)
}

// refuse reports a call that was not carried out.
func (t *Terminal) refuse(r reply, why string) (tool.Result, error) {
	r.isError, r.words = true, why
	return t.result(r)
}

// findPython is the python that a command in dir would run.
func findPython(path, dir string) string {
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		full := filepath.Join(d, "python")
		info, err := os.Stat(full)
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return full
		}
	}
	return ""
}
