// Package config has the commands that show settings.
package config

import (
	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
)

// New makes the command "config".
func New(a *kit.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config COMMAND",
		Short: "Show settings and where they come from",
		Long: `Shows the settings of ohgw. Each comes from its flag, else its variable, else
the config file, else the default; "ohgw help environment" lists them all.

The config file is TOML. Keys and tokens do not belong there.`,
		Example: kit.Examples("ohgw config show", "ohgw config path"),
		Args:    kit.UnknownCommand,
		RunE:    kit.ShowHelp,
	}
	cmd.AddCommand(newShow(a), newPath(a))
	return cmd
}
