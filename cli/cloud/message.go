package cloud

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/internal/fault"
)

// waitOptions say what follows a message.
type waitOptions struct {
	Wait   bool
	Follow bool

	runs  bool // a run goes on already
	lines bool // with --json, what is said is printed, and not the end of the run
}

func (w *waitOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.Wait, "wait", false, "wait for the end of the run, and print its answer")
	cmd.Flags().BoolVarP(&w.Follow, "follow", "f", false, "print what the agent says until the end of the run")
}

// maxPrompt bounds a message from stdin.
const maxPrompt = 4 << 20

// message reads a message of the command line, or of stdin if that is not a terminal.
func (o *options) message(args []string) (string, error) {
	if len(args) > 0 {
		return strings.Join(args, " "), nil
	}
	if o.StdinTTY {
		return "", nil
	}
	text, err := io.ReadAll(io.LimitReader(o.Stdin, maxPrompt+1))
	if err != nil {
		return "", fault.New("the message cannot be read from stdin", "pass it as an argument", err)
	}
	if len(text) > maxPrompt {
		return "", fault.NewUsage("the message is larger than 4 MiB", "put it into a file of the workspace")
	}
	return strings.TrimSpace(string(text)), nil
}

// progress tells a step of a start or a wake.
func (o *options) progress(step account.Progress) {
	text := strings.ToLower(strings.ReplaceAll(step.State, "_", " "))
	if step.Detail != "" {
		text += ": " + step.Detail
	}
	o.Note("… %s", text)
}
