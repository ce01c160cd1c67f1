package conversations

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup/cloud"
)

// downloadOptions is what the commands take.
type downloadOptions struct {
	oneOptions

	Paths    []string
	Output   string
	Force    bool
	Continue bool
}

func newDownload(p *place) *cobra.Command {
	opts := downloadOptions{oneOptions: oneOptions{place: p}}
	cmd := &cobra.Command{
		Use:   "download COMMAND",
		Short: "Download files from OpenHands Cloud",
		Long: `Downloads files of a conversation on a server: some of them, those that it has
changed, or its whole workspace. The conversation has to be awake.

A file is written completely or not at all. A file that is there is replaced with
--force only. Nothing is written outside of the directory of the download.`,
		Example: kit.Examples("ohgw conversations download changes 7f1c", "ohgw conversations download workspace 7f1c --output -"),
		Args:    kit.UnknownCommand, RunE: kit.ShowHelp,
	}
	f := cmd.PersistentFlags()
	f.StringVarP(&opts.Output, "output", "o", "", "where to write: a `PATH`, or - for stdout")
	f.BoolVar(&opts.Force, "force", false, "replace files that are there")
	f.BoolVar(&opts.Continue, "continue", false, "leave files that are there, and fetch what is missing")
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
		Example: kit.Examples("ohgw conversations download files 7f1c README.md src/main.go", "ohgw conversations download files 7f1c README.md --output -"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fault.NewUsage("the id or a path is missing", "see "+cmd.CommandPath()+" --help")
			}
			return nil
		},
		ValidArgsFunction: completeRemote(opts.place),
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

With --json, files is a list as in "ohgw conversations download files".`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Credential, fault.Unreachable, fault.Conflict),
		Example: kit.Examples("ohgw conversations download changes 7f1c", "ohgw conversations download changes 7f1c --output out --continue"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: completeRemote(opts.place),
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
--output; it is not unpacked. If the transfer is cut, --continue fetches the
rest, or everything again if the server has packed it again since then.

With --json the output has file and bytes.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Conflict),
		Example: kit.Examples("ohgw conversations download workspace 7f1c", "ohgw conversations download workspace 7f1c --output - | tar tz"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: completeRemote(opts.place),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runDownloadWorkspace(cmd.Context(), opts)
		},
	}
}

// runDownloadWorkspace runs the command.
func runDownloadWorkspace(ctx context.Context, o *downloadOptions) error {
	if o.Continue && o.Output == "-" {
		return fault.NewUsage("a download to stdout cannot be continued", "name a file with --output, or remove --continue")
	}
	acc, conv, err := o.find(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	get := func(part *transport.Part) (*account.Download, error) {
		done := o.TellLate("the server packs the workspace")
		defer done()
		return acc.WorkspaceFrom(ctx, conv.ID, part)
	}
	return o.save(acc, workspaceName(conv), get)
}

// workspaceName is the name of the archive.
func workspaceName(conv account.Conversation) string {
	name := "workspace-" + conv.ID[:min(shortID, len(conv.ID))]
	if conv.Version == account.V0 {
		return name + ".zip"
	}
	return name + ".tar.gz"
}

// save writes one download to its file, or to stdout.
func (o *downloadOptions) save(acc cloud.Account, name string, get func(*transport.Part) (*account.Download, error)) (err error) {
	if o.Output == "-" {
		got, err := get(nil)
		if err != nil {
			return cloud.Fault(err, acc.Server)
		}
		in := o.transfer(name, got)
		defer in.end()
		_, err = io.Copy(o.Stdout, in)
		return transferFault(errors.Join(err, got.Close()), acc)
	}
	path, err := o.outputFile(name)
	if err != nil {
		return err
	}
	t, err := openTarget(filepath.Dir(path), o.Force, o.Continue)
	if err != nil {
		return err
	}
	defer t.close()
	base := filepath.Base(path)
	there, err := t.exists(base)
	switch {
	case err != nil:
		return err
	case there && o.Continue && !o.Force:
		return o.tellSaved(path, -1)
	}
	n, err := o.saveTo(t, acc, base, get)
	if err != nil {
		return transferFault(err, acc)
	}
	return o.tellSaved(path, n)
}

// saveTo writes one download below a directory, and goes on with one that was cut.
func (o *downloadOptions) saveTo(t *target, acc cloud.Account, local string, get func(*transport.Part) (*account.Download, error)) (n int64, err error) {
	var begun *half
	if o.Continue {
		begun = t.take(local)
	}
	got, err := get(begun.partOf())
	if err != nil {
		t.keepHalf(local, begun)
		return 0, cloud.Fault(err, acc.Server)
	}
	defer func() { err = errors.Join(err, got.Close()) }()
	if begun != nil && got.From == 0 {
		o.Note("%s: the server cannot continue this download; it begins again.", local)
	}
	in := o.transfer(local, got)
	defer in.end()
	return t.receive(local, begun, got, in)
}

// transfer shows a download on a terminal.
func (o *downloadOptions) transfer(name string, got *account.Download) *transfer {
	size := got.Size
	if size >= 0 {
		size += got.From
	}
	return &transfer{App: o.App, name: name, size: size, in: got, n: got.From}
}

// tellSaved tells that a file is there; n is -1 for one that was there before.
func (o *downloadOptions) tellSaved(path string, n int64) error {
	if n < 0 {
		info, err := os.Stat(path)
		if err != nil {
			return fault.New("the file cannot be read: "+path, "check that you may read it", err)
		}
		n = info.Size()
	}
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
func transferFault(err error, acc cloud.Account) error {
	if read, ok := errors.AsType[*readError](err); ok {
		err = read.err
	}
	if cut, ok := errors.AsType[*cutError](err); ok && !errors.Is(err, context.Canceled) {
		return &fault.Error{Msg: "the transfer from " + acc.Server.Host() + " was cut after " + bytesText(cut.n), Hint: "repeat the command with --continue", Code: fault.Unreachable, Err: cut.err}
	}
	return cloud.Fault(err, acc.Server)
}
