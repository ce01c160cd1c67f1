package config

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
)

func newPath(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print where the config file is",
		Long: kit.Long(`
Prints the path of the config file: the one given with --config, otherwise
OHGW_CONFIG, otherwise config.toml in the user's config directory. The file need
not exist; the command neither reads nor creates it.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw config path", `"${EDITOR:-vi}" "$(ohgw config path)"`),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runPath(cmd.Context(), &pathOptions{App: a})
		},
	}
}

// pathOptions is what the command takes.
type pathOptions struct {
	*kit.App
}

// runPath runs the command.
func runPath(_ context.Context, o *pathOptions) error {
	path, _, err := o.Setup().ConfigFile()
	if err != nil {
		return err
	}
	_, err = os.Stat(path)
	found := !errors.Is(err, fs.ErrNotExist)
	if o.JSON {
		return o.PrintJSON(map[string]any{"file": path, "found": found})
	}
	if !found {
		o.Hint("The file does not exist yet; ohgw config show lists the settings")
	}
	return kit.WriteText(o.Stdout, path+"\n")
}
