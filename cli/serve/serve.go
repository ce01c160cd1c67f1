// Package serve has the command "serve": it runs the daemon, in a terminal, for the
// system, or in the background.
package serve

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/service"
	"github.com/ohgw/ohgw/internal/shortlived"
	"github.com/ohgw/ohgw/internal/systemd"
	"github.com/ohgw/ohgw/setup/serving"
	"github.com/ohgw/ohgw/setup/sharing"
)

// pace is how much the heap of a daemon may grow before it is collected. A small heap
// is collected half as often with 100 as with 50, which takes a quarter of the processor
// time of a turn and some megabytes. A large one is mostly idle streams and conversations:
// memory is worth more there than the collector's time.
var pace = shortlived.Pace{Small: 100, Large: 50, Limit: 32 << 20}

// New makes the command "serve".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve OpenHands agents to OpenAI clients",
		Long: kit.Long(`
Serves /v1 on this machine until Ctrl-C. Each of OpenHands' LLM profiles is a
model; "openhands" is the active profile.

The agents run in an OpenHands agent-server: the one given by --agent-server,
otherwise by OHGW_AGENT_SERVER_URL, otherwise by the config file, otherwise the
one that answers at 127.0.0.1:8000. If none is given and none answers, the
embedded agent runs in this process, with OpenHands' own profiles. --backend
chooses between them. A given agent-server may start later or restart: until it
answers, requests and /readyz get 503.

The embedded agent has a shell and files, in a sandbox: it can write to its
workspace and reach the hosts of package managers. --sandbox off gives it your
rights. --workspace confines all agents to one directory. --confirm makes
actions wait for confirmation. --demo adds the profile "demo": a script in
this process that drives the real agent and needs no key and no network.

The agent-server's key is OHGW_AGENT_SERVER_KEY, otherwise
OH_SESSION_API_KEYS_0, otherwise SESSION_API_KEY, otherwise the file that the
config names (agent_server.key_file). Clients need a token. The first start
creates the token "default"; create more with "ohgw tokens".

Keys stored with "ohgw keys" are passed to an agent-server on this machine when
an agent starts. They replace the keys in its profiles.

With --state, several gateways share a Postgres database and answer as one: see
"ohgw state". They need the same agent-servers; the embedded agent is refused.

The address is written to the runtime directory, where the other commands find
it. Tokens, workspaces and records are in the state directory. On a terminal,
the command prints what a client needs, including the key. Otherwise it prints
one line when it is ready, without the key. With --json that line is JSON on
stdout.

After Ctrl-C, SIGTERM or "ohgw stop", running answers may finish (--drain); then
the exit code is 0. A second signal ends ohgw at once, with 128 + its number.

With --detach, ohgw runs in the background: the command returns when ohgw is
ready, or prints why it is not. Its log is serve.log in the state directory
("ohgw logs" prints it); "ohgw stop" stops it. The log is renamed at 10 MiB, and
the last three are kept. To start ohgw at login, use "ohgw service install".`,
			0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Conflict),
		Example: kit.Examples(
			"ohgw serve",
			"ohgw serve --detach",
			"ohgw serve --agent-server http://127.0.0.1:8000 --workspace ~/project",
		),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &opts) },
	}
	opts.flags = kit.AddSettings(cmd, config.ServeSection, config.KeySection, config.SandboxSection, config.StateSection)
	cmd.Flags().BoolVar(&opts.Detach, "detach", false, "run in the background; return when ohgw is ready")
	cmd.Flags().BoolVar(&opts.detached, detachedFlag, false, "this is the process that --detach has started")
	_ = cmd.Flags().MarkHidden(detachedFlag) // The flag is there.
	return cmd
}

// options is what the command takes.
type options struct {
	*kit.App

	flags kit.SettingFlags

	Detach   bool
	detached bool
}

// detachedFlag marks the process that --detach has started.
const detachedFlag = "detached"

// run starts the gateway, in the background or here.
func run(ctx context.Context, o *options) error {
	if o.Detach {
		return detach(ctx, o)
	}
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return err
	}
	if o.detached {
		if err := keepLog(o.App, dirs.ServeLog()); err != nil {
			return err
		}
	}
	s, err := o.Settings(o.flags)
	if err != nil {
		return err
	}
	if err := serving.CheckSettings(o.Setup(), s); err != nil {
		return err
	}
	if err := sharing.Check(s); err != nil {
		return err
	}
	return stay(ctx, o, s, dirs)
}

// stay starts the gateway and stays until ctx ends.
func stay(ctx context.Context, o *options, s *config.Settings, dirs paths.Set) (err error) {
	locked := dirs.State
	if s.State.Shared() { // the database keeps gateways from starting a run twice
		locked = ""
	}
	claim, err := instance.Acquire(ctx, dirs.Runtime, locked)
	if err != nil {
		return claimFault(err, dirs)
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	ln, err := serving.Socket(ctx, o.Setup(), s)
	if err != nil {
		return err
	}
	defer func() { _ = ln.Close() }() // Serve closes it, too.
	shortlived.StayAt(pace)
	log := o.Logger(logFormat(o, s))
	key, err := serving.OpenAccess(ctx, o.Setup(), s, dirs.State, o.Stderr.TTY() && !o.JSON && !o.Quiet)
	if err != nil {
		return err
	}
	shared, err := sharing.Open(ctx, o.Setup(), s, sharing.Options{Address: serving.BaseURL(ln.Addr()), Log: log})
	if err != nil {
		return err
	}
	defer shared.Close() // after the gateway
	g, err := serving.Open(ctx, o.Setup(), s, serving.Options{
		Tokens: key.Tokens(), State: dirs.State, Workspaces: dirs.Workspaces(), Log: log, Alone: true, Shared: shared.Daemon(), Pool: shared.Placement(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	shared.FollowSlots(s, g.Backend.Backend)
	info := instance.Info{URL: serving.BaseURL(ln.Addr()), PID: o.PID, Version: buildinfo.Get().Version, Started: o.Now().Truncate(time.Second), Log: logPlace(o, dirs)}
	if err := claim.Publish(info); err != nil {
		return err
	}
	told := whenDone(ctx, func() {
		tellManager(o.App, systemd.Stopping)
		sayStopping(o.App, g.Runs(), s.Drain)
	})
	defer told() // the program must not end before the service manager was told
	var greeted sync.WaitGroup
	greeted.Go(func() { // It waits for the sandbox. Requests do not.
		announce(ctx, o.App, greeting{info: info, settings: s, backend: g.Backend, key: key, state: dirs.State, detached: o.detached}, log)
	})
	defer greeted.Wait()
	tellManager(o.App, systemd.Ready, "STATUS=Answers at "+info.URL+"/v1")
	return g.Serve(ctx, ln)
}

// whenDone calls f as soon as ctx ends. Whoever has seen that ctx has ended calls
// settled, which returns when f has, or calls f itself: what waits for ctx learns of
// its end before the functions that context.AfterFunc begins, and would stop those.
func whenDone(ctx context.Context, f func()) (settled func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		f()
	})
	return func() {
		switch {
		case !stop():
			<-done
		case ctx.Err() != nil:
			f()
		}
	}
}

// logFormat is the form of the log: people read the one of a daemon in the
// background.
func logFormat(o *options, s *config.Settings) string {
	if o.detached && s.LogFormat == "auto" {
		return "text"
	}
	return s.LogFormat
}

// logPlace is where the log goes, for "ohgw logs".
func logPlace(o *options, dirs paths.Set) string {
	switch {
	case o.detached, o.Getenv("XPC_SERVICE_NAME") == service.Label: // launchd writes there
		return dirs.ServeLog()
	case o.Journal:
		return instance.LogJournal
	}
	return ""
}

// sayStopping says that the end has begun, and what it waits for.
func sayStopping(a *kit.App, runs daemon.RunHealth, drain time.Duration) {
	if runs.Running+runs.Queued == 0 {
		a.Hint("\nStopping.")
		return
	}
	a.Hint("\nStopping. Running answers have %s to finish; press Ctrl-C again to end them at once.", drain)
}

// tellManager reports states to the service manager. The gateway continues if that fails.
func tellManager(a *kit.App, states ...string) {
	if err := systemd.Notify(a.Getenv, states...); err != nil {
		a.Note("warning: %v", err)
	}
}
