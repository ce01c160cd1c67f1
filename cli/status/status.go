// Package status has the command "status": it asks the running daemon about itself and
// its backend.
package status

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/sandboxes"
)

// New makes the command "status".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the running daemon and its backend",
		Long: kit.Long(`
Shows the daemon's address, the backend that runs its agents and why it was
chosen, the features that an older agent-server lacks, the sandbox of the
agents' commands, the number of running and waiting turns, and which key the
command used.

The key is OHGW_API_KEY, otherwise the default token. The exit code is 5 if no
daemon answers or if its backend cannot be used; in the second case the status
is printed, too. In a pipe, each line is a name and a value separated by a tab.`,
			0, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw status", "ohgw status --json | jq .runs"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &opts) },
	}
	opts.flags = kit.AddSettings(cmd, config.ClientSection)
	return cmd
}

// statusJSON is the output of status in JSON.
type statusJSON struct {
	Daemon  daemonJSON            `json:"daemon"`
	Backend *daemon.BackendHealth `json:"backend"`
	Runs    *daemon.RunHealth     `json:"runs"`
	Sandbox *daemon.SandboxHealth `json:"sandbox,omitempty"` // an older daemon does not tell
	Key     string                `json:"key"`               // which one was shown; never its value
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

// options is what the command takes.
type options struct {
	*kit.App

	flags kit.SettingFlags
}

// run runs the command.
func run(ctx context.Context, o *options) error {
	c, err := o.DaemonClient(ctx, o.flags)
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
		Daemon:  daemonJSON{URL: c.Base, Status: h.Status, Version: h.Version, PID: c.Found.PID, Started: kit.TimeOrNull(c.Found.Started)},
		Backend: h.Backend,
		Runs:    h.Runs,
		Sandbox: h.Sandbox,
		Key:     c.With,
	}
	if o.JSON {
		err = o.PrintJSON(doc)
	} else {
		err = printStatus(o.App, doc)
	}
	if err == nil && h.Backend.Error != "" {
		err = &fault.Error{
			Msg: "the agents cannot be used at the moment", Hint: "start the " + h.Backend.Name + " or repair the cause; ohgw reconnects by itself",
			Code: fault.Unreachable, Err: errors.New(h.Backend.Error),
		}
	}
	return err
}

func printStatus(a *kit.App, s statusJSON) error {
	var t kit.Table
	t.Add("daemon", s.Daemon.URL+"/v1")
	t.Add("status", s.Daemon.Status)
	t.Add("version", s.Daemon.Version)
	if s.Daemon.PID != 0 {
		t.Add("process", strconv.Itoa(s.Daemon.PID))
	}
	if s.Daemon.Started != nil {
		t.Add("started", a.TimeText(*s.Daemon.Started))
	}
	t.Add("backend", strings.TrimSpace(s.Backend.Name+" "+s.Backend.Version))
	t.Add("address", s.Backend.Address)
	t.Add("chosen because", s.Backend.Why)
	for _, m := range s.Backend.Missing {
		t.Add("lacks", m)
	}
	for _, m := range s.Backend.Members {
		t.Add("agent-server "+m.Name, memberText(m))
	}
	if s.Sandbox != nil {
		box := agentapi.SandboxStatus(*s.Sandbox)
		if s.Backend.Name == "cloud" && box.Reason == "" {
			box.Reason = sandboxes.InCloud
		}
		t.Add("sandbox", sandboxes.Words(box))
	}
	t.Add("running turns", strconv.Itoa(s.Runs.Running))
	t.Add("waiting turns", strconv.Itoa(s.Runs.Queued))
	t.Add("key used", s.Key)
	return t.WritePairs(a.Stdout)
}

// memberText is how an agent-server of a pool is.
func memberText(m daemon.MemberHealth) string {
	text := m.State + ", " + strconv.Itoa(m.Runs) + " of " + strconv.Itoa(m.Slots) + " slots in use"
	if len(m.Differs) > 0 {
		text += ", other profiles than the rest: " + strings.Join(m.Differs, ", ")
	}
	if m.Error != "" {
		text += ": " + m.Error
	}
	return text
}
