package cli

import (
	"github.com/spf13/cobra"
)

func newConfig(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config COMMAND",
		Short: "Show settings and where they come from",
		Long: `Shows the settings of ohgw. Each comes from its flag, else its variable, else
the config file, else the default; "ohgw help environment" lists them all.

The config file is TOML. Keys and tokens do not belong there.`,
		Example: examples("ohgw config show", "ohgw config path"),
		Args:    unknownCommand,
		RunE:    showHelp,
	}
	cmd.AddCommand(newConfigShow(a), newConfigPath(a))
	return cmd
}
