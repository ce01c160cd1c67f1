// Package state has the commands about the database that several gateways share.
package state

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/setup/database"
)

// New makes the command "state".
func New(a *kit.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state COMMAND",
		Short: "Prepare and check the database that several gateways share",
		Long: `Prepares and checks the Postgres database that several gateways share. Every
command reads the URL from --state, OHGW_STATE, the config file (state), or the
private file that state_file names.

A password does not belong in --state, where other users of the machine can read
it: use OHGW_STATE, PGPASSFILE, PGPASSWORD or state_file.`,
		Example: kit.Examples("ohgw state migrate --state postgres://ohgw@db.example/ohgw", "ohgw state status", "ohgw state check"),
		Args:    kit.UnknownCommand,
		RunE:    kit.ShowHelp,
	}
	flags := kit.AddSettingsTo(cmd, cmd.PersistentFlags(), config.StateSection)
	cmd.AddCommand(newMigrate(a, flags), newStatus(a, flags), newCheck(a, flags))
	return cmd
}

// options is what all commands take.
type options struct {
	*kit.App

	flags kit.SettingFlags
}

// patience bounds a command that only looks.
const patience = 30 * time.Second

// within opens the database for a command, which has a time limit unless that is 0.
func (o *options) within(ctx context.Context, limit time.Duration, do func(context.Context, *config.Settings, *pg.DB) error) error {
	s, err := o.Settings(o.flags)
	if err != nil {
		return err
	}
	db, err := database.Open(o.Setup(), s)
	if err != nil {
		return err
	}
	defer db.Close()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return do(ctx, s, db)
}
