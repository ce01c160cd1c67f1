// Package serve is the command that answers OpenAI clients.
package serve

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/setup/serving"
	"github.com/ohgw/ohgw/internal/systemd"
)

// gcPercent is how much the heap of a daemon may grow before it is collected.
// Go's own 100 takes 1,000 idle streams over their 150 MB.
const gcPercent = 50

// New makes the command "serve".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer OpenAI clients with OpenHands agents",
		Long: kit.Long(`
Serves /v1 on this machine until Ctrl-C. Each LLM profile of OpenHands is a
model, "openhands" the active one. The agents run in an OpenHands agent-server:
that of --agent-server, else of OHGW_AGENT_SERVER_URL, else of the config file,
else the one that answers at 127.0.0.1:8000. Where none was named and none
answers, the embedded agent runs in this process, with OpenHands' own profiles;
--backend chooses. A server that was named may come later, or go and come back:
ohgw starts, says so, answers 503 meanwhile (and so does /readyz), and finds it
by itself.

The embedded agent has a shell and files, with the rights of whoever starts it:
--workspace confines its file editor, not its shell, and --confirm makes actions
wait for a yes. --demo adds the profile "demo", a script in this process that
needs no key and no network and drives the real agent.

The agent-server's key is taken from OHGW_AGENT_SERVER_KEY, else
OH_SESSION_API_KEYS_0, else SESSION_API_KEY, else the file that the config names
(agent_server.key_file). Clients need a token; the first start makes the token
"default", and "ohgw tokens" makes more.

Keys that "ohgw keys" has stored are handed to an agent-server on this machine
when an agent starts, in place of those in its profiles.

It writes its address to the runtime directory, where the other commands find
it, and tokens, workspaces and records to the state directory. On a terminal it
prints what a client needs, the key too; else one line when it is ready, and
never the key. With --json that line is JSON, on stdout.

Ctrl-C or SIGTERM lets running answers end (--drain), then it ends with 0. A
second signal ends it at once, with 128 and its number.`,
			0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Conflict),
		Example: kit.Examples(
			"ohgw serve",
			"ohgw serve --agent-server http://127.0.0.1:8000 --workspace ~/project",
		),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &opts) },
	}
	opts.flags = kit.AddSettings(cmd, config.ServeSection, config.KeySection)
	_ = cmd.MarkFlagDirname("workspace") // The flag is there.
	return cmd
}

// options is what the command takes.
type options struct {
	*kit.App

	flags kit.SettingFlags
}

// run starts the gateway and stays until ctx ends.
func run(ctx context.Context, o *options) (err error) {
	s, err := o.Settings(o.flags)
	if err != nil {
		return err
	}
	if err := checkSettings(o.App, s); err != nil {
		return err
	}
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return err
	}
	claim, err := instance.Acquire(ctx, dirs.Runtime, dirs.State)
	if err != nil {
		return claimFault(err, dirs)
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	ln, err := serving.Socket(ctx, o.Setup(), s)
	if err != nil {
		return err
	}
	defer func() { _ = ln.Close() }() // Serve closes it, too.
	// Mostly idle streams: memory is worth more here than the collector's time.
	debug.SetGCPercent(gcPercent)
	log := o.Logger(s.LogFormat)
	key, err := serving.OpenAccess(ctx, o.Setup(), s, dirs.State, o.Stderr.TTY() && !o.JSON && !o.Quiet)
	if err != nil {
		return err
	}
	g, err := serving.Open(ctx, o.Setup(), s, serving.Options{Tokens: key.Tokens(), State: dirs.State, Workspaces: dirs.Workspaces(), Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	if o.Root && g.Backend.InProcess() {
		o.Note("warning: this is root: the agents' commands may change everything on this machine")
		o.Note("  let a user of its own run it: sudo -iu NAME ohgw serve")
	}
	info := instance.Info{URL: serving.BaseURL(ln.Addr()), PID: o.PID, Version: buildinfo.Get().Version, Started: o.Now().Truncate(time.Second)}
	if err := claim.Publish(info); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		tellManager(o.App, systemd.Stopping)
		o.Hint("\nStopping. Running answers have %s to end; Ctrl-C again ends them at once.", s.Drain)
	})
	defer stop()
	announce(ctx, o.App, greeting{info: info, settings: s, backend: g.Backend, key: key, state: dirs.State}, log)
	tellManager(o.App, systemd.Ready, "STATUS=Answers at "+info.URL+"/v1")
	return g.Serve(ctx, ln)
}

// tellManager tells the service manager something. That it does not hear it is
// no reason to stop.
func tellManager(a *kit.App, states ...string) {
	if err := systemd.Notify(a.Getenv, states...); err != nil {
		a.Note("warning: %v", err)
	}
}
