package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/storage"
	"github.com/ohgw/ohgw/setup"
)

// problem is an error as it is shown.
type problem struct {
	Message  string `json:"message"`
	Cause    string `json:"cause,omitempty"`
	Hint     string `json:"hint,omitempty"`
	Usage    string `json:"usage,omitempty"`
	ExitCode int    `json:"exit_code"`
}

// report prints the error that a command line ended with. It is the only place
// that prints errors. What looks like a key is taken out of all of it.
func report(a *kit.App, cmd *cobra.Command, args []string, err error) {
	p := problem{Message: err.Error(), ExitCode: int(fault.CodeOf(err))}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		p.Message, p.Hint = f.Msg, f.Hint
		if f.Err != nil {
			p.Cause = f.Err.Error()
		}
		if a.Debug {
			p.Cause = err.Error()
		}
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && toStdout(a, e) {
		p.Message, p.Cause = "the output cannot be written to stdout", e.Err.Error()
		if storage.Of(err) == storage.Full {
			p.Hint = "free space on the disk that stdout is written to, or write it to another file"
		}
	} else if storage.Of(err) == storage.Full {
		p.Hint = "the disk is full: free space, or use directories on another disk with XDG_STATE_HOME and XDG_RUNTIME_DIR"
	}
	if _, ok := errors.AsType[*fault.UsageError](err); ok {
		p.Usage = cmd.UseLine()
	}
	p.Message, p.Cause, p.Hint = setup.Clean(p.Message), setup.Clean(p.Cause), setup.Clean(p.Hint)
	// The flags after a wrong one were not read.
	if a.JSON || slices.Contains(beforeDashes(args), "--json") {
		kit.WriteJSONLine(a.Stderr, map[string]problem{"error": p})
		return
	}
	p.write(a.Stderr)
}

// toStdout reports whether an error is one of writing to stdout.
func toStdout(a *kit.App, err *fs.PathError) bool {
	file, ok := a.Stdout.Writer.(interface{ Name() string })
	return ok && err.Op == "write" && err.Path == file.Name()
}

func (p problem) write(w *iostream.Writer) {
	fmt.Fprintf(w, "%s %s\n", w.Styled(iostream.Red, "ohgw:"), kit.Fitted(w, p.Message, len("ohgw: ")))
	for _, line := range []struct{ name, text string }{{"cause:", p.Cause}, {"hint:", p.Hint}, {"usage:", p.Usage}} {
		if line.text != "" {
			fmt.Fprintf(w, "  %s %s\n", w.Styled(iostream.Faint, fmt.Sprintf("%-6s", line.name)), kit.Fitted(w, line.text, len("  usage: ")))
		}
	}
}

// beforeDashes is args up to "--", which ends the flags.
func beforeDashes(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i]
	}
	return args
}
