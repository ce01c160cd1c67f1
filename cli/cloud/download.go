package cloud

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/accounts"
)

// downloadOptions is what the commands take.
type downloadOptions struct {
	oneOptions

	Paths    []string
	Output   string
	Force    bool
	Continue bool
}

func newDownload(o *options) *cobra.Command {
	opts := downloadOptions{oneOptions: oneOptions{options: o}}
	cmd := &cobra.Command{
		Use:   "download COMMAND",
		Short: "Download files of a conversation",
		Long: `Downloads files of a conversation on a server: some of them, those that it has
changed, or its whole workspace. The conversation has to be awake.

A file is written completely or not at all. A file that is there is replaced with
--force only. Nothing is written outside of the directory of the download.`,
		Example: kit.Examples("ohgw cloud download changes 7f1c", "ohgw cloud download workspace 7f1c --output -"),
		Args:    kit.UnknownCommand, RunE: kit.ShowHelp,
	}
	f := cmd.PersistentFlags()
	f.StringVarP(&opts.Output, "output", "o", "", "where to write: a `PATH`, or - for stdout")
	f.BoolVar(&opts.Force, "force", false, "replace files that are there")
	f.BoolVar(&opts.Continue, "continue", false, "leave files that are there, and fetch the others")
	cmd.AddCommand(newDownloadFiles(&opts), newDownloadChanges(&opts), newDownloadWorkspace(&opts))
	return cmd
}

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

// save writes one download to its file, or to stdout.
func (o *downloadOptions) save(acc accounts.Account, got *account.Download, name string) (err error) {
	defer func() { err = errors.Join(err, got.Close()) }()
	in := &transfer{App: o.App, name: name, size: got.Size, in: got}
	defer in.end()
	if o.Output == "-" {
		_, err := io.Copy(o.Stdout, in)
		return transferFault(err, acc)
	}
	path, err := o.outputFile(name)
	if err != nil {
		return err
	}
	t, err := openTarget(filepath.Dir(path), o.Force, false)
	if err != nil {
		return err
	}
	defer t.close()
	if _, err := t.exists(filepath.Base(path)); err != nil {
		return err
	}
	n, err := t.write(filepath.Base(path), in)
	if err != nil {
		return transferFault(err, acc)
	}
	in.end()
	if o.JSON {
		return o.PrintJSON(map[string]any{"file": path, "bytes": n})
	}
	o.Note("%s: %s", path, bytesText(n))
	return nil
}

// outputFile is the file that --output names, or one of this name here.
func (o *downloadOptions) outputFile(name string) (string, error) {
	if o.Output != "" {
		return o.Absolute(o.Output)
	}
	return o.Absolute(name)
}

// transferFault is a failure of a transfer as a person should read it.
func transferFault(err error, acc accounts.Account) error {
	if read, ok := errors.AsType[*readError](err); ok {
		err = read.err
	}
	return accounts.Fault(err, acc.Server)
}
