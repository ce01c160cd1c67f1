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

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/systemd"
	"github.com/ohgw/ohgw/internal/token"
)

// gcPercent is how much the heap of a daemon may grow before it is collected.
// Go's own 100 takes 1,000 idle streams over their 150 MB.
const gcPercent = 50

func newServe(a *app) *cobra.Command {
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
func (a *app) serve(ctx context.Context, flags settingFlags) (err error) {
	s, err := a.settings(flags)
	if err != nil {
		return err
	}
	if err := a.checkServe(s); err != nil {
		return err
	}
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	claim, err := instance.Acquire(ctx, dirs.Runtime, dirs.State)
	if err != nil {
		return claimFault(err, dirs)
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	ln, err := a.socket(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = ln.Close() }() // Serve closes it, too.
	// Mostly idle streams: memory is worth more here than the collector's time.
	debug.SetGCPercent(gcPercent)
	log := a.logger(s.LogFormat)
	key, err := a.openDoor(ctx, s, dirs.State)
	if err != nil {
		return err
	}
	g, err := a.openGateway(ctx, s, gatewayInput{tokens: key.tokens(), state: dirs.State, workspaces: dirs.Workspaces(), log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	if a.Root && g.backend.status.Address == "" { // the agents run in this process
		a.note("warning: this is root: the agents' commands may change everything on this machine")
		a.note("  let a user of its own run it: sudo -iu NAME ohgw serve")
	}
	info := instance.Info{URL: baseURL(ln.Addr()), PID: os.Getpid(), Version: buildinfo.Get().Version, Started: a.Now().Truncate(time.Second)}
	if err := claim.Publish(info); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		a.tellManager(systemd.Stopping)
		a.hint("\nStopping. Running answers have %s to end; Ctrl-C again ends them at once.", s.Drain)
	})
	defer stop()
	a.announce(ctx, greeting{info: info, settings: s, backend: g.backend, key: key, state: dirs.State}, log)
	a.tellManager(systemd.Ready, "STATUS=Answers at "+info.URL+"/v1")
	return g.Serve(ctx, ln)
}

// checkServe looks at settings that are wrong together, or here.
func (a *app) checkServe(s *config.Settings) error {
	host, _, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return fmt.Errorf("split address: %w", err) // config has read it
	}
	if !loopbackHost(host) {
		if s.NoAuth {
			return usage(fmt.Sprintf("without keys, whoever reaches %s could run commands here", s.Addr),
				"leave out --no-auth, or listen on 127.0.0.1 ("+s.Origin("no_auth").String()+", "+s.Origin("addr").String()+")")
		}
		a.note("warning: %s can be reached from other machines; whoever has a token can run commands through it", s.Addr)
		if len(s.AllowHosts) == 0 {
			a.note("warning: clients elsewhere are refused until --allow-host names the host or address that they call")
		}
	}
	if s.Workspace == "" {
		return nil
	}
	if filepath.Clean(s.Workspace) == filepath.Dir(s.Workspace) {
		return usage("the workspace "+s.Workspace+" is all files of this machine",
			"name a directory for the agents' work ("+s.Origin("workspace").String()+")")
	}
	info, err := os.Stat(s.Workspace)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.note("warning: there is no %s on this machine; the agent-server must have it", s.Workspace)
	case err == nil && !info.IsDir():
		return usage("the workspace "+s.Workspace+" is no directory", "name a directory ("+s.Origin("workspace").String()+")")
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
func (a *app) logger(format string) *slog.Logger {
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

// door is who may come in, and what can be said about it.
type door struct {
	store  *token.Store // nil: everybody
	value  secret.Value // a key to paste; zero if none is known
	once   string       // why the value is not shown again; "" if it is kept
	source string       // what key that is, or why none is known
}

// tokens are those that the daemon knows; nil: everybody may come in.
func (d door) tokens() daemon.Tokens {
	if d.store == nil {
		return nil
	}
	return doorkeeper{d.store}
}

// openDoor opens the tokens, and makes the default one the first time.
func (a *app) openDoor(ctx context.Context, s *config.Settings, state string) (door, error) {
	if s.NoAuth {
		return door{source: "none is needed (" + s.Origin("no_auth").String() + ")"}, nil
	}
	if set := a.Getenv("OHGW_API_KEYS"); set != "" && len(token.SplitKeys(set)) == 0 {
		return door{}, usage("OHGW_API_KEYS is set and has no key", "put keys into it, separated by commas, or unset it to use the stored tokens")
	}
	// A daemon has nobody who unlocks a keyring; its clients should not wait.
	values, err := a.openKeyStore(s, secret.PatienceForMachines)
	if err != nil {
		return door{}, err
	}
	store := token.NewStore(token.Config{Dir: state, Now: a.Now, Keys: token.SplitKeys(a.Getenv("OHGW_API_KEYS")), Values: values})
	if store.Replaced() {
		return door{store: store, source: "those of OHGW_API_KEYS"}, nil
	}
	return a.openDefault(ctx, store, values)
}

// openDefault makes the default token the first time, and finds its value if it
// is going to be shown.
func (a *app) openDefault(ctx context.Context, store *token.Store, values *keyStore) (door, error) {
	shown := a.Stderr.TTY() && !a.json && !a.quiet
	made, err := store.EnsureDefault(ctx, shown)
	if lost, ok := errors.AsType[*token.NotKeptError](err); ok {
		a.note(`warning: there is no token "default", because nothing would keep its value: %s`, notKeptText(ctx, lost.Err, values))
		a.note("  ohgw tokens create NAME makes a token; --key-store file keeps the default one in a private file")
		return door{store: store, source: "those that ohgw tokens create makes"}, nil
	}
	if err != nil {
		return door{}, a.tokenFault(err, token.DefaultName)
	}
	d := door{store: store, value: made.Value, source: sourceText(nil)}
	switch {
	case made.NotKept != nil:
		d.once = notKeptText(ctx, made.NotKept, values)
		return d, nil //nolint:nilerr // the token is good, and shown
	case made.Name != "":
		a.warnPlain(values)
		a.settle(values)
		return d, nil
	}
	a.settleToken(ctx, store, values)
	if shown {
		d.value, _, err = store.Default(ctx)
	} else {
		_, err = store.WhereDefault(ctx)
	}
	d.source = sourceText(err)
	return d, nil
}

// sourceText says what key clients can show; err is why the default one is not
// known.
func sourceText(err error) string {
	if err == nil {
		return `the token "default"`
	}
	return "see ohgw tokens list (" + publicCause(err) + ")"
}

// publicCause is why the default token cannot be shown, in a few words.
func publicCause(err error) string {
	switch {
	case errors.Is(err, token.ErrNotFound):
		return "the default token was revoked"
	case errors.Is(err, token.ErrNoValue):
		return "the value of the default token is not kept here any more"
	}
	return clean(err.Error())
}
