package pool

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/setup/running"
)

func newList(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := options{App: a, flags: maps.Clone(flags)}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agent-servers of the pool",
		Long: kit.Long(`
Lists the agent-servers of the pool: name, state, conversations with a run,
slots, when the server was last looked at, and what is wrong with it. The state
is up, drain (it gets no new conversations) or lost (it does not answer, and its
conversations are refused with 503 until it does).

The numbers are those of the running daemon. If none runs, only the names and
which servers drain are known, and the state of the others is unknown. With
--state, the database has the states and runs of all gateways.

In a pipe, each server is one line with tabs between the columns and times as in
RFC 3339. With --json, servers is a list of objects with name, address, state,
runs (null: not known), slots, checked (null: not known), differs (profiles that
are not as at the others) and error.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw pool list", "ohgw pool list --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return opts.list(cmd.Context())
		},
	}
	maps.Copy(opts.flags, kit.AddSettings(cmd, config.ClientSection)) // it asks the daemon
	return cmd
}

// serverJSON is an agent-server in the JSON output.
type serverJSON struct {
	Name    string     `json:"name"`
	Address string     `json:"address"`
	State   string     `json:"state"`
	Runs    *int       `json:"runs"` // null: not known
	Slots   int        `json:"slots"`
	Checked *time.Time `json:"checked"` // null: not known
	Differs []string   `json:"differs"`
	Error   string     `json:"error"`
}

func (o *options) list(ctx context.Context) error {
	servers, err := o.servers(ctx)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(map[string]any{"servers": servers})
	}
	t := kit.Table{Header: []string{"NAME", "STATE", "RUNS", "SLOTS", "CHECKED", "PROBLEM"}}
	for _, s := range servers {
		runs, checked := "-", "-"
		if s.Runs != nil {
			runs = strconv.Itoa(*s.Runs)
		}
		if s.Checked != nil {
			checked = o.TimeText(*s.Checked)
		}
		problem := s.Error
		if problem == "" && len(s.Differs) > 0 {
			problem = "other profiles: " + strings.Join(s.Differs, ", ")
		}
		t.Add(s.Name, s.State, runs, strconv.Itoa(s.Slots), checked, cmp.Or(problem, "-"))
	}
	return t.Write(o.Stdout)
}

// servers finds those of the running daemon, or as they are noted.
func (o *options) servers(ctx context.Context) ([]serverJSON, error) {
	members, err := o.members(ctx)
	if err != nil || len(members) > 0 {
		return members, err
	}
	n, err := o.notes()
	if err != nil {
		return nil, err
	}
	defer n.close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	noted, err := n.Servers(ctx)
	if err != nil {
		return nil, n.fault(err)
	}
	if len(noted) == 0 {
		return nil, noPool()
	}
	list := make([]serverJSON, 0, len(noted))
	for _, s := range noted {
		item := serverJSON{Name: s.Name, Address: s.URL, State: string(s.State), Slots: s.Slots, Differs: []string{}}
		switch {
		case n.db != nil:
			item.Runs, item.Checked, item.Error = &s.Runs, kit.TimeOrNull(s.Checked), s.Err
		case s.State != agentapi.MemberDraining:
			item.State = "unknown"
		}
		list = append(list, item)
	}
	return list, nil
}

// members asks the running daemon for its servers; none if there is no daemon, or it has
// no pool.
func (o *options) members(ctx context.Context) ([]serverJSON, error) {
	s, err := o.Settings(o.flags)
	if err != nil {
		return nil, err
	}
	c, err := running.Find(ctx, o.Setup(), s)
	if errors.Is(err, instance.ErrNotRunning) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var h daemon.Health
	if _, err := c.Get(ctx, "/healthz", &h); err != nil {
		return nil, err
	}
	if h.Backend == nil {
		return nil, c.Locked(nil)
	}
	list := make([]serverJSON, 0, len(h.Backend.Members))
	for _, m := range h.Backend.Members {
		list = append(list, serverJSON{
			Name: m.Name, Address: m.Address, State: m.State, Runs: &m.Runs, Slots: m.Slots, Differs: m.Differs, Error: m.Error, Checked: kit.TimeOrNull(m.Checked),
		})
	}
	return list, nil
}
