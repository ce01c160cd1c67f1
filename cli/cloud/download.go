package cloud

import (
	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
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
