package cloud

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/accounts"
)

func newDownloadWorkspace(opts *downloadOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "workspace ID",
		Short: "Download the workspace",
		Long: kit.Long(`
Downloads the directory that the conversation works in as one archive: tar.gz,
or zip for a V0 conversation. It is written to workspace-ID.tar.gz, or to
--output; it is not unpacked. The server packs it again for each download, so
that --continue is refused.

With --json the output has file and bytes.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Conflict),
		Example: kit.Examples("ohgw cloud download workspace 7f1c", "ohgw cloud download workspace 7f1c --output - | tar tz"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: kit.CompleteOn(opts.Account),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runDownloadWorkspace(cmd.Context(), opts)
		},
	}
}

// runDownloadWorkspace runs the command.
func runDownloadWorkspace(ctx context.Context, o *downloadOptions) error {
	if o.Continue {
		return fault.NewUsage("a workspace cannot be continued: the server packs it again", "remove --continue, or download single files")
	}
	acc, conv, err := o.Find(ctx, o.ID)
	if err != nil {
		return err
	}
	defer acc.Close()
	done := o.TellLate("the server packs the workspace")
	got, err := acc.Workspace(ctx, conv.ID)
	done()
	if err != nil {
		return accounts.Fault(err, acc.Server)
	}
	return o.save(acc, got, got.Name)
}
