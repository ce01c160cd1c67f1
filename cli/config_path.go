package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
)

func newConfigPath(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print where the config file is",
		Long: long(`
Prints the path of the config file: that of --config, else of OHGW_CONFIG, else
config.toml in the user's config directory. The file need not exist; it is not
read and not made.`, 0, fault.Failed, fault.Usage),
		Example:           examples("ohgw config path", `"${EDITOR:-vi}" "$(ohgw config path)"`),
		Args:              none(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return a.configPath() },
	}
}

func (a *App) configPath() error {
	path, _, err := a.Setup().ConfigFile()
	if err != nil {
		return err
	}
	_, err = os.Stat(path)
	found := !errors.Is(err, fs.ErrNotExist)
	if a.json {
		return a.printJSON(map[string]any{"file": path, "found": found})
	}
	if !found {
		a.hint("There is no such file yet; ohgw config show lists what it may hold")
	}
	return writeText(a.Stdout, path+"\n")
}
