package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/filelock"
)

func newProfiles(a *App) *cobra.Command {
	var in profilesInput
	cmd := &cobra.Command{
		Use:   "profiles COMMAND",
		Short: "List, check and repair OpenHands' LLM profiles",
		Long: `Works on the LLM profiles of OpenHands, in OpenHands' own files: each profile is
a model of the gateway. An agent-server may run meanwhile; both take the same
locks.

The files are in the directory that OH_PERSISTENCE_DIR names, else in
~/.openhands.`,
		Example: examples("ohgw profiles list", "ohgw profiles migrate --dry-run"),
		Args:    unknownCommand,
		RunE:    showHelp,
	}
	cmd.PersistentFlags().DurationVar(&in.LockTimeout, "lock-timeout", filelock.DefaultTimeout, "wait so long for another program's lock")
	in.flags = addSettingsTo(cmd, cmd.PersistentFlags(), config.KeySection)
	cmd.AddCommand(
		newProfilesList(a, &in), newProfilesShow(a, &in), newProfilesAdd(a, &in), newProfilesUse(a, &in), newProfilesRename(a, &in),
		newProfilesRemove(a, &in), newProfilesCheck(a, &in), newProfilesMigrate(a, &in),
	)
	return cmd
}

// profilesInput is what all commands about profiles take.
type profilesInput struct {
	LockTimeout time.Duration

	flags settingFlags // which store of keys
}

// completeProfiles offers the names of profiles.
func (a *App) completeProfiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.Setup().ProfileNames(), cobra.ShellCompDirectiveNoFileComp
}
