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

func newStatus(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := options{App: a, flags: flags}
	return &cobra.Command{
		Use:   "status",
		Short: "List the gateways and count their runs",
		Long: kit.Long(`
Lists the gateways that share the database: number, state, address, version,
runs that each one looks after, and how long ago its last sign of life was. A
gateway that is lost gave none for 15 seconds, or its connection is gone; the
others take over its runs. Gateways that are lost stay in the list for a day.

On a terminal, a line below counts the runs of all gateways. With --json, the
output has address, slots, running, waiting and gateways, a list of objects with
id, state (up or lost), address, version, runs and seen_ms.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw state status", "ohgw state status --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return opts.within(cmd.Context(), patience, opts.status)
		},
	}
}

// gatewayJSON is a gateway in the JSON output.
type gatewayJSON struct {
	ID      int64  `json:"id"`
	State   string `json:"state"` // "up" or "lost"
	Address string `json:"address"`
	Version string `json:"version"`
	Runs    int    `json:"runs"`
	Seen    int64  `json:"seen_ms"` // since its last sign of life
}

func (o *options) status(ctx context.Context, _ *config.Settings, db *pg.DB) error {
	seen, err := db.Overview(ctx, 0)
	if err != nil {
		return database.Fault(db, err)
	}
	list := []gatewayJSON{}
	t := kit.Table{Header: []string{"GATEWAY", "STATE", "ADDRESS", "VERSION", "RUNS", "SEEN"}}
	for _, g := range seen.Gateways {
		state := "up"
		if g.Dead {
			state = "lost"
		}
		list = append(list, gatewayJSON{g.ID, state, g.Address, g.Version, g.Runs, g.Seen.Milliseconds()})
		t.Add(strconv.FormatInt(g.ID, 10), state, g.Address, g.Version, strconv.Itoa(g.Runs), g.Seen.Round(time.Second).String()+" ago")
	}
	if o.JSON {
		return o.PrintJSON(struct {
			Address  string        `json:"address"`
			Slots    int           `json:"slots"`
			Running  int           `json:"running"`
			Waiting  int           `json:"waiting"`
			Gateways []gatewayJSON `json:"gateways"`
		}{db.Address(), seen.Slots, seen.Running, seen.Waiting, list})
	}
	if err := t.Write(o.Stdout); err != nil {
		return err
	}
	o.Hint("%d of %d slots are in use; %d requests wait.", seen.Running, seen.Slots, seen.Waiting)
	return nil
}
