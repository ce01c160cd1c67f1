package sandbox

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

func newReset(a *kit.App) *cobra.Command {
	opts := resetOptions{App: a}
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Empty the sandbox's home directory",
		Long: kit.Long(`
Removes everything in the home directory of the sandbox for the current
directory: what agents installed, their caches and settings. The workspace and
your own home directory are not touched. ohgw sandbox diff lists the files.

The command asks for confirmation; --yes skips the question. While an agent or
a command uses the sandbox for this directory, nothing is removed. With --json
the output has reset, the directory, and files, the number of removed files.`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example:           kit.Examples("ohgw sandbox reset", "ohgw sandbox reset --yes"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runReset(cmd.Context(), &opts) },
	}
	cmd.Flags().BoolVarP(&opts.Yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// resetOptions is what the command takes.
type resetOptions struct {
	*kit.App

	Yes bool
}

// runReset runs the command.
func runReset(ctx context.Context, o *resetOptions) error {
	home, workspace, err := ownHome(o.App)
	if err != nil {
		return err
	}
	left, err := leftovers(ctx, home)
	if err != nil {
		return err
	}
	question := "Remove " + counted(left) + " files (" + sizeText(left.Size) + ") that agents left for " + workspace + "?"
	if yes, err := o.Confirm(ctx, o.Yes, question, "Nothing was removed."); err != nil || !yes {
		return err
	}
	err = boxes.ResetHome(home)
	if errors.Is(err, boxes.ErrHomeInUse) {
		return &fault.Error{
			Msg: "a sandbox for " + workspace + " is in use, and nothing was removed", Code: fault.Conflict,
			Hint: "end its conversation and command first; ohgw ps lists conversations",
		}
	}
	if err != nil {
		return fault.New("not everything could be removed", "see what is left: ohgw sandbox diff", err)
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"reset": home, "files": left.Count})
	}
	o.Note("Removed %s files.", counted(left))
	return nil
}
