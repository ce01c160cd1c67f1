package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
)

func newStatus(a *App) *cobra.Command {
	var flags settingFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the running daemon and its backend",
		Long: long(`
Shows where the daemon listens, what runs its agents and why that was chosen,
what the version of the agent-server lacks, how many turns run and wait, and
which key was shown to the daemon and where that is kept.

It shows OHGW_API_KEY to the daemon, else the default token. It ends with 5 when
no daemon answers, and also when its backend cannot be used; the status is
printed then, too. Piped, it prints name and value separated by a tab.`,
			0, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           examples("ohgw status", "ohgw status --json | jq .runs"),
		Args:              none(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.status(cmd.Context(), flags) },
	}
	flags = addSettings(cmd, config.ClientSection)
	return cmd
}

// statusJSON is the output of status in JSON.
type statusJSON struct {
	Daemon  daemonJSON            `json:"daemon"`
	Backend *daemon.BackendHealth `json:"backend"`
	Runs    *daemon.RunHealth     `json:"runs"`
	Key     string                `json:"key"` // which one was shown; never its value
}

// daemonJSON is the daemon itself. PID and start are known of a daemon on this
// machine only.
type daemonJSON struct {
	URL     string     `json:"url"`
	Status  string     `json:"status"`
	Version string     `json:"version"`
	PID     int        `json:"pid,omitempty"`
	Started *time.Time `json:"started,omitempty"`
}

func (a *App) status(ctx context.Context, flags settingFlags) error {
	c, err := a.daemonClient(ctx, flags)
	if err != nil {
		return err
	}
	var h daemon.Health
	if _, err := c.Get(ctx, "/healthz", &h); err != nil {
		return err
	}
	if h.Status == "" {
		return c.Stranger(errors.New("/healthz has no status"))
	}
	if h.Backend == nil || h.Runs == nil { // what everybody may know
		return c.Locked(nil)
	}
	doc := statusJSON{
		Daemon:  daemonJSON{URL: c.Base, Status: h.Status, Version: h.Version, PID: c.Found.PID, Started: timeOrNull(c.Found.Started)},
		Backend: h.Backend,
		Runs:    h.Runs,
		Key:     c.With,
	}
	if a.json {
		err = a.printJSON(doc)
	} else {
		err = a.printStatus(doc)
	}
	if err == nil && h.Backend.Error != "" {
		err = &fault.Error{
			Msg: "the agents cannot be used now", Hint: "start the " + h.Backend.Name + " or mend what the cause says; ohgw finds it again by itself",
			Code: fault.Unreachable, Err: errors.New(h.Backend.Error),
		}
	}
	return err
}

func (a *App) printStatus(s statusJSON) error {
	var t table
	t.add("daemon", s.Daemon.URL+"/v1")
	t.add("status", s.Daemon.Status)
	t.add("version", s.Daemon.Version)
	if s.Daemon.PID != 0 {
		t.add("process", strconv.Itoa(s.Daemon.PID))
	}
	if s.Daemon.Started != nil {
		t.add("started", a.timeText(*s.Daemon.Started))
	}
	t.add("backend", strings.TrimSpace(s.Backend.Name+" "+s.Backend.Version))
	t.add("address", s.Backend.Address)
	t.add("chosen because", s.Backend.Why)
	for _, m := range s.Backend.Missing {
		t.add("lacks", m)
	}
	t.add("running turns", strconv.Itoa(s.Runs.Running))
	t.add("waiting turns", strconv.Itoa(s.Runs.Queued))
	t.add("our key", s.Key)
	return t.writePairs(a.Stdout)
}
