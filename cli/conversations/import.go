package conversations

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup/library"
)

// importOptions is what the command takes.
type importOptions struct {
	*place

	File      string
	Workspace string
}

func newImport(p *place) *cobra.Command {
	opts := importOptions{place: p}
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Take a conversation from a file",
		Long: kit.Long(`
Takes a conversation from an archive that "ohgw conversations export", or the
download of a trajectory from OpenHands, has written. Then it can be continued
with "ohgw chat --conversation ID". It works in the directory that it had, or in
that of --workspace. Its secrets are not in an archive: its model is that of a
profile on this machine. Only the embedded agent can import.

With --json the output has imported, the id.`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example: kit.Examples("ohgw conversations import talk.zip", "ohgw conversations import talk.zip --workspace ."),
		Args:    kit.Exactly("the file"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"zip"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.File = args[0]
			return runImport(cmd.Context(), &opts)
		},
	}
	cmd.Flags().StringVar(&opts.Workspace, "workspace", "", "the `DIR` that it works in from now on")
	_ = cmd.MarkFlagDirname("workspace") // The flag is there.
	return cmd
}

// runImport runs the command.
func runImport(ctx context.Context, o *importOptions) error {
	from := control.Archive{}
	if o.Workspace != "" {
		dir, err := o.Absolute(o.Workspace)
		if err != nil {
			return err
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fault.NewUsage("there is no directory "+dir+" (--workspace)", "create it: mkdir -p "+shellword.Of(dir))
		}
		from.Workspace = dir
	}
	path, err := o.Absolute(o.File)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fault.New("the file cannot be read: "+path, kit.Meant(path, "check its name and that you may read it"), err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	if from.Size, err = f.Seek(0, io.SeekEnd); err != nil {
		return fault.New("the file cannot be read: "+path, "use a file, not a pipe", err)
	}
	from.File = f
	lib, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lib.Close() }() // Everything is on the disk.
	id, err := lib.Import(ctx, from)
	if err != nil {
		return library.Fault(err)
	}
	if o.JSON {
		return o.PrintJSON(map[string]string{"imported": id})
	}
	o.Note("The conversation %s was imported.", id)
	o.Hint("Continue it with: ohgw chat --conversation %s", id)
	return nil
}
