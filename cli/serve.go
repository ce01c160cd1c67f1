package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/setup/serving"
	"github.com/ohgw/ohgw/internal/systemd"
)

// gcPercent is how much the heap of a daemon may grow before it is collected.
// Go's own 100 takes 1,000 idle streams over their 150 MB.
const gcPercent = 50

func newServe(a *App) *cobra.Command {
	var flags settingFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer OpenAI clients with OpenHands agents",
		Long: long(`
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
		Example: examples(
			"ohgw serve",
			"ohgw serve --agent-server http://127.0.0.1:8000 --workspace ~/project",
		),
		Args:              none(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), flags) },
	}
	flags = addSettings(cmd, config.ServeSection, config.KeySection)
	_ = cmd.MarkFlagDirname("workspace") // The flag is there.
	return cmd
}

// serve starts the gateway and stays until ctx ends.
func (a *App) serve(ctx context.Context, flags settingFlags) (err error) {
	s, err := a.settings(flags)
	if err != nil {
		return err
	}
	if err := a.checkServe(s); err != nil {
		return err
	}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return err
	}
	claim, err := instance.Acquire(ctx, dirs.Runtime, dirs.State)
	if err != nil {
		return claimFault(err, dirs)
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	ln, err := serving.Socket(ctx, a.Setup(), s)
	if err != nil {
		return err
	}
	defer func() { _ = ln.Close() }() // Serve closes it, too.
	// Mostly idle streams: memory is worth more here than the collector's time.
	debug.SetGCPercent(gcPercent)
	log := a.logger(s.LogFormat)
	key, err := serving.OpenAccess(ctx, a.Setup(), s, dirs.State, a.Stderr.TTY() && !a.json && !a.quiet)
	if err != nil {
		return err
	}
	g, err := serving.Open(ctx, a.Setup(), s, serving.Options{Tokens: key.Tokens(), State: dirs.State, Workspaces: dirs.Workspaces(), Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	if a.Root && g.Backend.InProcess() {
		a.Note("warning: this is root: the agents' commands may change everything on this machine")
		a.Note("  let a user of its own run it: sudo -iu NAME ohgw serve")
	}
	info := instance.Info{URL: serving.BaseURL(ln.Addr()), PID: os.Getpid(), Version: buildinfo.Get().Version, Started: a.Now().Truncate(time.Second)}
	if err := claim.Publish(info); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		a.tellManager(systemd.Stopping)
		a.hint("\nStopping. Running answers have %s to end; Ctrl-C again ends them at once.", s.Drain)
	})
	defer stop()
	a.announce(ctx, greeting{info: info, settings: s, backend: g.Backend, key: key, state: dirs.State}, log)
	a.tellManager(systemd.Ready, "STATUS=Answers at "+info.URL+"/v1")
	return g.Serve(ctx, ln)
}

// checkServe looks at settings that are wrong together, or here.
func (a *App) checkServe(s *config.Settings) error {
	host, _, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return fmt.Errorf("split address: %w", err) // config has read it
	}
	if !setup.LoopbackHost(host) {
		if s.NoAuth {
			return fault.NewUsage(fmt.Sprintf("without keys, whoever reaches %s could run commands here", s.Addr),
				"remove --no-auth, or listen on 127.0.0.1 ("+s.Origin("no_auth").String()+", "+s.Origin("addr").String()+")")
		}
		a.Note("warning: %s can be reached from other machines; whoever has a token can run commands through it", s.Addr)
		if len(s.AllowHosts) == 0 {
			a.Note("warning: clients elsewhere are refused until --allow-host names the host or address that they call")
		}
	}
	if s.Workspace == "" {
		return nil
	}
	if filepath.Clean(s.Workspace) == filepath.Dir(s.Workspace) {
		return fault.NewUsage("the workspace "+s.Workspace+" is every file on this machine",
			"name a directory for the agents' work ("+s.Origin("workspace").String()+")")
	}
	info, err := os.Stat(s.Workspace)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.Note("warning: there is no %s on this machine; the agent-server must have it", s.Workspace)
	case err == nil && !info.IsDir():
		return fault.NewUsage("the workspace "+s.Workspace+" is not a directory", "name a directory ("+s.Origin("workspace").String()+")")
	}
	return nil
}

// claimFault is the error for a daemon that may not start.
func claimFault(err error, dirs paths.Set) error {
	running, ok := errors.AsType[*instance.RunningError](err)
	switch {
	case !ok:
		return fault.New("the runtime or the state directory cannot be used", "mend it, or name another one with XDG_RUNTIME_DIR or XDG_STATE_HOME", err)
	case running.Info.URL != "":
		return &fault.Error{
			Msg:  fmt.Sprintf("your ohgw runs already, at %s (process %d)", running.Info.URL, running.Info.PID),
			Hint: "use that one (ohgw status), or stop it first", Code: fault.Conflict,
		}
	case running.Dir == dirs.State:
		return &fault.Error{
			Msg:  fmt.Sprintf("your %s runs already, with another runtime directory, and has the records in %s", running.Holder, dirs.State),
			Hint: "stop it first, or give this one a state of its own with XDG_STATE_HOME", Code: fault.Conflict,
		}
	}
	return &fault.Error{Msg: "another ohgw of yours is starting or ending", Hint: "wait a moment and try again", Code: fault.Conflict, Err: err}
}

// logger makes the log of the daemon, on stderr.
func (a *App) logger(format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	switch {
	case a.quiet:
		options.Level = slog.LevelError
	case a.debug:
		options.Level = slog.LevelDebug
	}
	if format == "auto" && a.Journal {
		return slog.New(systemd.NewJournalHandler(a.Stderr, *options, func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }))
	}
	if format == "text" || format == "auto" && a.Stderr.TTY() {
		return slog.New(slog.NewTextHandler(a.Stderr, options))
	}
	return slog.New(slog.NewJSONHandler(a.Stderr, options))
}
