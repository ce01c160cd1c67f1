package state

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/setup/database"
)

func newMigrate(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := options{App: a, flags: flags}
	return &cobra.Command{
		Use:   "migrate",
		Short: "Create or upgrade the tables",
		Long: kit.Long(`
Creates the tables of this ohgw in the database, or adds what a newer version
needs. It removes nothing and changes no row, so gateways of the version before
go on beside those of the new one. The command may be repeated, and several at
the same time wait for each other. Gateways never change tables themselves.

The role must own the database, or may create tables in its schema. With --json,
the output has address, from (0: there were no tables) and version.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw state migrate", "ohgw state migrate --state postgres://owner@db.example/ohgw"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return opts.within(cmd.Context(), 0, opts.migrate)
		},
	}
}

func (o *options) migrate(ctx context.Context, _ *config.Settings, db *pg.DB) error {
	defer o.TellLate("waiting for the database; another migration may be in progress")()
	from, err := db.Migrate(ctx)
	if err != nil {
		return database.Fault(db, err)
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"address": db.Address(), "from": from, "version": max(from, pg.Version)})
	}
	switch {
	case from > pg.Version:
		o.Note("The tables in %s have version %d. This ohgw knows version %d and can use them.", db.Address(), from, pg.Version)
	case from == pg.Version:
		o.Note("The tables in %s have version %d already.", db.Address(), pg.Version)
	case from == 0:
		o.Note("Created the tables of version %d in %s.", pg.Version, db.Address())
	default:
		o.Note("Upgraded the tables in %s from version %d to %d.", db.Address(), from, pg.Version)
	}
	return nil
}
