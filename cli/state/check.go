package state

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/state/pg"
	"github.com/ohgw/ohgw/setup/database"
)

func newCheck(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := options{App: a, flags: flags}
	return &cobra.Command{
		Use:   "check",
		Short: "Check that a gateway could work with the database",
		Long: kit.Long(`
Checks that the database answers and accepts writes, has the tables of this
ohgw, lets the role use them, and that its clock agrees with this machine's. It
also finds a pooler that keeps no sessions. It changes nothing. The exit code is
0 only if a gateway could work with it.

With --json, the output has address, server (the version of Postgres), version
(of the tables) and skew_ms (how far its clock is ahead).`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw state check", "ohgw state check --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return opts.within(cmd.Context(), patience, opts.check)
		},
	}
}

func (o *options) check(ctx context.Context, s *config.Settings, db *pg.DB) error {
	session, err := database.OpenSession(o.Setup(), s)
	if err != nil {
		return err
	}
	if err := database.CheckSession(ctx, s, db, session); err != nil {
		return err
	}
	h, err := db.Check(ctx)
	if err != nil {
		return database.Fault(db, err)
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"address": db.Address(), "server": h.Server, "version": h.Version, "skew_ms": h.Skew.Milliseconds()})
	}
	t := kit.Table{}
	t.Add("address", db.Address())
	t.Add("Postgres", h.Server)
	t.Add("tables", "version "+strconv.Itoa(h.Version))
	t.Add("clock", skewText(h.Skew))
	return t.WritePairs(o.Stdout)
}

// skewText is how far the clock of the database is ahead.
func skewText(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d > 0:
		return d.String() + " ahead"
	case d < 0:
		return (-d).String() + " behind"
	}
	return "agrees with this machine's"
}
