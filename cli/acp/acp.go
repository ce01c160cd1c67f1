// Package acp is the command that editors start as their agent.
package acp

import (
	"context"
	"errors"
	"log/slog"
	"maps"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/acp"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/shortlived"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup/running"
	"github.com/ohgw/ohgw/setup/serving"
)

// options is the command line of acp.
type options struct {
	*kit.App

	model    string
	settings kit.SettingFlags
}

// New makes the command "acp".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Be the agent of an editor (Agent Client Protocol)",
		Long: kit.Long(`
Speaks the Agent Client Protocol on stdin and stdout, for editors that start
their agent as a program, such as Zed and the JetBrains IDEs. "ohgw connect
zed-agent --write" and "ohgw connect jetbrains-agent --write" add it to their
settings.

The command uses the running daemon, over /v1 like any other client. If no
daemon is running, it runs the agent in this process, with the settings of "ohgw
serve" from variables and the config file. With --demo or a flag of the sandbox
it always does so. The agent works in the directory that the editor has open.

Logs go to stderr. The command ends when the editor closes stdin; runs of the
agent end with it.`, 0, fault.Failed, fault.Usage, fault.Interrupted),
		Example:           kit.Examples("ohgw acp", "ohgw acp --model openhands_work"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &opts) },
	}
	cmd.Flags().StringVarP(&opts.model, "model", "m", "", "use this `MODEL` (default openhands, the active profile)")
	_ = cmd.RegisterFlagCompletionFunc("model", a.CompleteModels) // The flag is there.
	opts.settings = kit.AddSettingsNamed(cmd, "url", "demo")
	maps.Copy(opts.settings, kit.AddSettings(cmd, config.SandboxSection))
	return cmd
}

// run serves the editor until it closes stdin.
func run(ctx context.Context, o *options) (err error) {
	shortlived.Stay(100)
	s, err := o.Settings(o.settings)
	if err != nil {
		return err
	}
	here, err := kit.RunsHere(s)
	if err != nil {
		return err
	}
	if o.StdinTTY {
		o.Note("Waiting for an editor on stdin. Editors start this command themselves: ohgw connect zed-agent --write")
	}
	restore := kit.SurvivePipes()
	defer restore()
	g := &opener{options: o, settings: s, here: here != "", log: o.Logger("text")}
	err = acp.Serve(ctx, acp.Config{
		Open: g.open, Workspace: g.workspace, Confirmation: g.confirmation, Explain: explain,
		Model: o.model, NewID: uuid.New, Version: buildinfo.Get().Version, Log: g.log,
	}, o.Stdin, o.Stdout)
	if g.own != nil {
		err = errors.Join(err, g.own.Stop())
	}
	return err
}

// opener finds the gateway: the one that was named, or that runs, or one of our
// own.
type opener struct {
	*options

	settings *config.Settings
	here     bool // a daemon that runs is not used
	log      *slog.Logger
	daemon   *running.Daemon // nil for a gateway of our own
	own      *serving.Own
}

func (g *opener) open(ctx context.Context) (gateway.Endpoint, error) {
	if !g.here {
		d, err := running.Find(ctx, g.Setup(), g.settings)
		if err == nil {
			g.daemon = d
			return g.client(gateway.Config{URL: d.Base, Key: d.Key, HTTP: d.HTTP}), nil
		}
		if !errors.Is(err, instance.ErrNotRunning) {
			return nil, err
		}
	}
	own, err := serving.OpenOwn(ctx, g.Setup(), g.settings, g.log)
	if err != nil {
		return nil, err
	}
	g.own = own
	return g.client(gateway.Config{URL: own.URL, Key: own.Key, HTTP: own.HTTP}), nil
}

func (g *opener) client(cfg gateway.Config) gateway.Endpoint {
	cfg.Now, cfg.NewKey, cfg.UserAgent = g.Now, uuid.New, "ohgw/"+buildinfo.Get().Version
	return gateway.New(cfg)
}
