package cloud

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

func newDownloadFiles(opts *downloadOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "files ID PATH...",
		Short: "Download single files",
		Long: kit.Long(`
Downloads files byte for byte, into the current directory or that of --output,
under their paths in the workspace. A relative path begins in the workspace of
the conversation. "--output -" writes one file to stdout. A V0 server returns
texts only.

With --json, files is a list of objects with path, file, bytes and action
(written, kept or failed).`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Credential, fault.Unreachable, fault.Conflict),
		Example: kit.Examples("ohgw cloud download files 7f1c README.md src/main.go", "ohgw cloud download files 7f1c README.md --output -"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fault.NewUsage("the id or a path is missing", "see "+cmd.CommandPath()+" --help")
			}
			return nil
		},
		ValidArgsFunction: kit.CompleteOn(opts.Account),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID, opts.Paths = args[0], args[1:]
			return runDownloadFiles(cmd.Context(), opts)
		},
	}
}

// runDownloadFiles runs the command.
func runDownloadFiles(ctx context.Context, o *downloadOptions) error {
	if o.Output == "-" && len(o.Paths) != 1 {
		return fault.NewUsage("only one file can be written to stdout", "name one path, or a directory with --output")
	}
	acc, conv, err := o.Find(ctx, o.ID)
	if err != nil {
		return err
	}
	defer acc.Close()
	if o.Output == "-" {
		body, err := acc.File(ctx, conv.ID, o.Paths[0])
		if err != nil {
			return fileFault(err, acc, o.Paths[0])
		}
		return o.save(acc, &account.Download{ReadCloser: body, Size: -1}, o.Paths[0])
	}
	dir := o.Output
	if dir == "" {
		dir = "."
	}
	return o.fetchAll(ctx, acc, conv, dir, o.Paths)
}
