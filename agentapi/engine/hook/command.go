package hook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/bounded"
	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/sandbox"
)

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

// guard has a hook refuse that could not be started, or whose answer could not be read.
func (r *Runner) guard(result *Result, h hookfile.Hook, e Event) {
	what, repair, why := "could not be started", r.cfg.Repair, result.Err
	switch {
	case result.unread != "":
		what, repair, why = "gave an answer that could not be read", "Have it print less.", result.unread
		result.Success, result.Err = false, "The answer of the hook could not be read: "+why+"."
	case why == "":
		why = fmt.Sprintf("its program was not found, or cannot be executed (exit code %d)", result.ExitCode)
		if said := strings.TrimSpace(result.Stderr); said != "" {
			why += ": " + said
		}
		result.Err = "The hook could not be started: " + why + "."
	}
	// Without the tools that do nothing, an agent could not even say why it stops.
	if guards(e.Type) && !slices.Contains(idle, e.Tool) {
		result.Blocked = true
		result.Reason = strings.TrimSpace(fmt.Sprintf("This is refused because its hook %s: %s. The hook is: %s. %s", what, strings.TrimSuffix(why, "."), h.Command, repair))
	}
}

// limit is how long a hook may take, with what it starts.
func limit(seconds int) time.Duration { return time.Duration(max(seconds, 1)) * time.Second }

// patience is how long the output of a hook that has ended is read.
const patience = time.Second

const stoppedText = "The hook was stopped with the run."

func lateText(seconds int) string {
	return fmt.Sprintf("The hook did not end after %d seconds and was stopped.", max(seconds, 1))
}

// command runs one command and reads its answer.
func command(ctx context.Context, box sandbox.Box, p sandbox.Program, input []byte, seconds int) Result {
	limited, cancel := context.WithTimeout(ctx, limit(seconds))
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
		r.ExitCode, r.Err = -1, stoppedText
	case limited.Err() != nil:
		r.ExitCode, r.Err = -1, lateText(seconds)
	case err != nil:
		r.ExitCode, r.Err, r.Unable = -1, fmt.Sprintf("The hook could not be run: %v.", err), true
	}
	if err == nil || isExit {
		r.answer(out.Bytes())
		r.unread = unread(&out)
	}
	return r
}

// Exit codes: of a hook that refuses, and of a shell that cannot start a program.
const (
	exitBlock         = 2
	exitNotExecutable = 126
	exitNotFound      = 127
)
