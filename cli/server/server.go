// Package server has the command "server" about the stored servers of OpenHands, with
// "add", "list", "test", "use", "remove" and "import", and the commands "login" and
// "logout", which store and remove the key of such a server.
package server

import (
	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/servers"
	"github.com/ohgw/ohgw/setup"
)

// New makes the command "server".
func New(a *kit.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "server COMMAND",
		Short: "Store servers of OpenHands and their keys",
		Long: `Stores the servers of OpenHands that you use: OpenHands Cloud, an app-server of
your own, or an agent-server. Their keys are in the system keyring; without one,
use --key-store file. Commands take --server NAME; without it they use the
default server.

A key in a variable such as OH_API_KEY is for one server: that of OHGW_CLOUD_URL,
or else the default one. See ohgw help environment.`,
		Example: kit.Examples("ohgw login", "ohgw server add work --url https://openhands.example.com", "ohgw server test"),
		Args:    kit.UnknownCommandOrKey,
		RunE:    kit.ShowHelp,
	}
	flags := kit.AddSettingsTo(cmd, cmd.PersistentFlags(), config.KeySection)
	cmd.AddCommand(newAdd(a, flags), newList(a, flags), newTest(a, flags), newUse(a, flags), newRemove(a, flags), newImport(a, flags))
	return cmd
}

// options is what all commands about servers take.
type options struct {
	*kit.App

	flags kit.SettingFlags // which key store
	Name  string
}

// open opens the list of servers.
func (o *options) open() (setup.Servers, error) {
	s, err := o.Settings(o.flags)
	if err != nil {
		return setup.Servers{}, err
	}
	return o.Setup().Servers(s)
}

// serverJSON is a server in the JSON output.
type serverJSON struct {
	servers.Server

	Default bool `json:"default"`
}

// versions are the versions of the API that a server answers, for people.
func versions(s servers.Server) string {
	switch {
	case s.Header == "":
		return "-"
	case s.V0 && s.V1:
		return "V0 V1"
	case s.V0:
		return "V0"
	case s.V1:
		return "V1"
	}
	return "-"
}

// completeNames offers the stored servers.
func completeNames(a *kit.App, flags kit.SettingFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.ServerNames(flags), cobra.ShellCompDirectiveNoFileComp
	}
}
