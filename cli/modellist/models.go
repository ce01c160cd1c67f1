// Package modellist has the command "models": it lists the models of the running daemon, or
// those that a daemon would have.
package modellist

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/setup/running"
	"github.com/ohgw/ohgw/setup/serving"
)

// New makes the command "models".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models that clients can use",
		Long: kit.Long(`
Lists the models of the running daemon (GET /v1/models). If none is running, it
lists those that a daemon would have now. Use the ids in a client: "openhands"
is OpenHands' active profile, "openhands_NAME" is the profile NAME,
"openhands_agent_NAME" the agent NAME, and "openhands_team_NAME" the team NAME.
A token that is limited to models sees only those.

The key is OHGW_API_KEY, otherwise the default token. With --json the command
prints the daemon's answer unchanged.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Refused),
		Example:           kit.Examples("ohgw models", "ohgw models --json | jq -r '.data[].id'"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &opts) },
	}
	opts.flags = kit.AddSettings(cmd, config.ClientSection)
	return cmd
}

// options is what the command takes.
type options struct {
	*kit.App

	flags kit.SettingFlags
}

// run runs the command.
func run(ctx context.Context, o *options) (err error) {
	c, end, err := o.gateway(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	var list kit.ModelList
	raw, err := c.Get(ctx, "/v1/models", &list)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.PrintRaw(raw)
	}
	t := kit.Table{Header: []string{"ID", "NAME", "LLM"}}
	for _, m := range list.Data {
		t.Add(m.ID, m.Name, m.Description)
	}
	if len(list.Data) == 0 {
		o.Hint("There are no models: OpenHands has no LLM profile, or this token may not use any of them.")
	}
	return t.Write(o.Stdout)
}

// gateway connects to the daemon that runs, or starts one in this process, as a chat has
// it. end lets go of it.
func (o *options) gateway(ctx context.Context) (c *running.Daemon, end func() error, err error) {
	end = func() error { return nil }
	s, err := o.Settings(o.flags)
	if err != nil {
		return nil, end, err
	}
	env := o.Setup()
	if c, err = running.Find(ctx, env, s); !errors.Is(err, instance.ErrNotRunning) {
		return c, end, err
	}
	env.Ask = nil // A list asks nothing.
	own, err := serving.OpenOwn(ctx, env, s, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, end, err
	}
	o.Note("No ohgw is running. These are the models that ohgw serve would have: agents: %s.", own.Backend.Line())
	return &running.Daemon{HTTP: own.HTTP, Base: own.URL, Key: own.Key}, own.Stop, nil
}
