package sandbox

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

func newDiff(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "diff",
		Short: "List what agents left in the sandbox's home directory",
		Long: kit.Long(`
Lists the files in the home directory of the sandbox for the current directory:
size, time of the last change, and path, the newest first. It lists 200 files at
most, and looks at 200,000. Your own home directory is another one, which agents
do not see.

In a pipe, each file is one line with tabs between the columns; the size is in
bytes. With --json the output has home (the directory), files (path, size,
changed), count, size (of all files) and complete. ohgw sandbox reset removes
the files.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw sandbox diff", "ohgw sandbox diff --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runDiff(cmd.Context(), &diffOptions{App: a}) },
	}
}

// diffOptions is what the command takes.
type diffOptions struct{ *kit.App }

// runDiff runs the command.
func runDiff(ctx context.Context, o *diffOptions) error {
	home, workspace, err := ownHome(o.App)
	if err != nil {
		return err
	}
	left, err := leftovers(ctx, home)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(left)
	}
	t := kit.Table{Header: []string{"SIZE", "CHANGED", "FILE"}}
	for _, f := range left.Files {
		size := strconv.FormatInt(f.Size, 10)
		if o.Stdout.TTY() {
			size = sizeText(f.Size)
		}
		t.Add(size, o.TimeText(f.Changed), f.Path)
	}
	if err := t.Write(o.Stdout); err != nil {
		return err
	}
	switch {
	case left.Count == 0:
		o.Hint("Agents left no files for %s.", workspace)
	case left.Count > len(left.Files) || !left.Complete:
		o.Note("These are the newest of %s files (%s) in %s", counted(left), sizeText(left.Size), left.Home)
	default:
		o.Hint("%d files (%s) in %s", left.Count, sizeText(left.Size), left.Home)
	}
	return nil
}

func counted(left leftoversJSON) string {
	if left.Complete {
		return strconv.Itoa(left.Count)
	}
	return "more than " + strconv.Itoa(left.Count)
}
