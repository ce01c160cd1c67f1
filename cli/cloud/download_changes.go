package cloud

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/accounts"
)

func newDownloadChanges(opts *downloadOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "changes ID",
		Short: "Download the changed files",
		Long: kit.Long(`
Downloads the files that the conversation has changed in its repository, byte
for byte, into the directory changes-ID or that of --output. Deleted files are
left out.

With --json, files is a list as in "ohgw cloud download files".`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Credential, fault.Unreachable, fault.Conflict),
		Example: kit.Examples("ohgw cloud download changes 7f1c", "ohgw cloud download changes 7f1c --output out --continue"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: kit.CompleteOn(opts.Account),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runDownloadChanges(cmd.Context(), opts)
		},
	}
}

// runDownloadChanges runs the command.
func runDownloadChanges(ctx context.Context, o *downloadOptions) error {
	if o.Output == "-" {
		return fault.NewUsage("changed files cannot be written to stdout", "name a directory with --output")
	}
	acc, conv, err := o.Find(ctx, o.ID)
	if err != nil {
		return err
	}
	defer acc.Close()
	changes, note, err := acc.Changes(ctx, conv.ID)
	if err != nil {
		return accounts.Fault(err, acc.Server)
	}
	if note != "" {
		o.Note("%s", note)
	}
	var paths []string
	for _, c := range changes {
		if c.Status != "deleted" {
			paths = append(paths, c.Path)
		}
	}
	if left := len(changes) - len(paths); left > 0 {
		o.Note("Deleted files that are left out: %d", left)
	}
	dir := o.Output
	if dir == "" {
		dir = "changes-" + conv.Short()
	}
	return o.fetchAll(ctx, acc, conv, dir, paths)
}
