// Package profiles has the commands about OpenHands' LLM profiles.
package profiles

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/filelock"
)

// New makes the command "profiles".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "profiles COMMAND",
		Short: "List, check and repair OpenHands' LLM profiles",
		Long: `Manages OpenHands' LLM profiles, in OpenHands' own files. Each profile is a
model of the gateway. An agent-server may run at the same time, because both use
the same locks.

The files are in the directory OH_PERSISTENCE_DIR, by default ~/.openhands.`,
		Example: kit.Examples("ohgw profiles list", "ohgw profiles migrate --dry-run"),
		Args:    kit.UnknownCommandOrKey,
		RunE:    kit.ShowHelp,
	}
	cmd.PersistentFlags().DurationVar(&opts.LockTimeout, "lock-timeout", filelock.DefaultTimeout, "how long to wait for another program's lock")
	opts.flags = kit.AddSettingsTo(cmd, cmd.PersistentFlags(), config.KeySection)
	cmd.AddCommand(
		newList(&opts), newShow(&opts), newAdd(&opts), newUse(&opts), newRename(&opts),
		newRemove(&opts), newCheck(&opts), newMigrate(&opts),
	)
	return cmd
}

// options is what all commands about profiles take.
type options struct {
	*kit.App

	LockTimeout time.Duration

	flags kit.SettingFlags // which key store
}
