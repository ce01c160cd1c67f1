// Package chat is the command that chats with an agent: on a terminal, or with one
// question and its answer.
package chat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/cli/chat/answer"
	"github.com/ohgw/ohgw/cli/chat/attach"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/shortlived"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup/running"
	"github.com/ohgw/ohgw/setup/sandboxes"
	"github.com/ohgw/ohgw/setup/serving"
	"github.com/ohgw/ohgw/tui"
)

// The models that a chat asks when the user names none.
const (
	activeModel = openai.ModelActive
	demoModel   = openai.ModelPrefix + "demo"
)

// options is the command line of chat.
type options struct {
	*kit.App

	prompt       string
	print        bool
	stream       bool
	plain        bool
	model        string
	conversation string
	wanted       string // what --conversation says, if that is not an id: a part of a title, or "?"
	last         bool   // continue the conversation that was used last
	listing      bool   // list the conversations
	system       string
	images       []string
	timeout      time.Duration
	workspace    string
	yes          bool
	settings     kit.SettingFlags
	sandbox      kit.SettingFlags // those of the settings that are the sandbox's

	events   *answer.Events // for --json
	wasSetUp bool           // questions were asked already
	alone    bool           // the user has not typed "chat"
}

// New makes the command "chat".
func New(a *kit.App) *cobra.Command {
	cmd, _ := newCommand(a)
	return cmd
}

const description = `
Opens a chat with the agents of the running daemon, over /v1 like any other
client. If no daemon is running, the command says so and starts one in this
process for the duration of the chat, with the settings of "ohgw serve" from
variables and the config file. --demo does the same without a key or network;
the flags of the sandbox and of the browser do it too, since a running daemon
has its own settings.
Where there is no LLM profile yet, questions on the terminal set one up first.

With --print, or if stdin or stdout is not a terminal, the command asks once.
The prompt is the argument, or stdin, or the argument followed by stdin in
<stdin> tags. The final answer goes to stdout; on a terminal, or with --stream,
it appears as it is generated. The agent's actions go to stderr, unless --quiet
is given.

--json is for programs: it asks nothing, and prints an event a line, each with a
type: started, queue, lost, restart, text, step, approval_refused, usage, and
end, which is always the last one. end has outcome, exit_code, answer, model,
conversation, workspace, workspace_access, request_id, status, finish, notice,
waiting, sandbox_blocked, progress, ignored, usage, seconds and error.

The agent works in the current directory. The chat asks once for each directory,
and stores your answer. With --print it does not ask: without such an answer the
agent reads the directory and cannot change it, at the levels full and reduced
of the sandbox; otherwise, and in your home directory, it gets a new, empty
directory. --workspace names the directory without a question. A running daemon
accepts it with the token "default" or a token made with
"ohgw tokens create NAME --workspace DIR". A conversation keeps its directory.

A question without --conversation runs in a conversation of its own, which is
removed later (see one_shot_ttl). --conversation takes a UUID: a known one is
continued, a new one is created and kept. A chat on the terminal shows what was
said in it, and does not begin with an unknown one. It also takes the beginning
of an id or a part of a title; where that is of several conversations, and for
"?", it lets you choose.
--continue takes the latest conversation of the current directory.

--list lists the conversations of your chats, the latest first; the argument is
a part of the title. With --json, conversations is a list of objects with id,
title, model, directory, turns and used (a time).

Ctrl-C stops the run. If the network cuts an answer off, the command fetches it
again; no run is repeated.`

// newCommand makes the command and the options that its flags fill.
func newCommand(a *kit.App) (*cobra.Command, *options) {
	opts := &options{App: a}
	cmd := &cobra.Command{
		Use:   "chat [PROMPT]",
		Short: "Chat with an agent in the terminal",
		Long: kit.Long(description,
			0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Refused, fault.Configuration, fault.Provider, fault.Agent, fault.Budget, fault.Interrupted),
		Example: kit.Examples(
			"ohgw chat",
			`ohgw chat -p "Why does the build fail?" < build.log`,
			`ohgw chat -p --json "What is 6 x 7?" | jq -r 'select(.type == "end").answer'`,
			"ohgw chat --continue",
			"ohgw chat --list",
			"ohgw chat --demo",
		),
		Args:              atMost("the prompt"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return opts.start(cmd.Context(), args) },
	}
	opts.addFlags(cmd)
	addCompletions(a, cmd)
	return cmd, opts
}

// start runs the command with the arguments of its command line.
func (o *options) start(ctx context.Context, args []string) error {
	if len(args) > 0 {
		o.prompt = args[0]
	}
	if o.listing {
		return o.list(o.prompt)
	}
	if o.JSON {
		return o.answerEvents(ctx)
	}
	return run(ctx, o)
}

// addFlags gives cmd the flags of chat.
func (o *options) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&o.print, "print", "p", false, "send one prompt and print the answer")
	f.BoolVar(&o.stream, "stream", false, "stream the answer, even into a pipe")
	f.BoolVar(&o.plain, "plain", false, "chat line by line, for screen readers")
	f.StringVarP(&o.model, "model", "m", "", "use this `MODEL`, profile or agent (default openhands, the active profile)")
	f.StringVarP(&o.conversation, "conversation", "c", "", "continue or begin the conversation `ID`; \"?\" lets you choose")
	f.BoolVar(&o.last, "continue", false, "continue the latest conversation of this directory")
	f.BoolVar(&o.listing, "list", false, "list your conversations; PROMPT is a part of the title")
	f.StringVar(&o.system, "system", "", "add `TEXT` to the agent's system prompt")
	f.StringArrayVar(&o.images, "image", nil, "show the agent the image `FILE`; may be repeated")
	f.DurationVar(&o.timeout, "timeout", 0, "interrupt a run after this `TIME`, e.g. 10m")
	f.StringVar(&o.workspace, "workspace", "", "let the agent work in `DIR`; none: a new directory (default: the current directory)")
	f.BoolVar(&o.yes, "yes", false, "let the agent work in the current directory without a question")
	o.settings = kit.AddSettingsNamed(cmd, "url", "demo", "backend", "cloud", "browser", "headed", "theme", "mouse", "vim")
	o.sandbox = kit.AddSettings(cmd, config.SandboxSection)
	maps.Copy(o.settings, o.sandbox)
}

// check looks at the flags, and brings the conversation's id into its usual form.
func (o *options) check() (err error) {
	if given := o.conversation; given != "" {
		if o.conversation, err = uuid.Parse(strings.TrimPrefix(given, "conv_")); err != nil {
			o.wanted = given
		}
	}
	if o.last && o.conversation+o.wanted != "" {
		return fault.NewUsage("--continue cannot be used with --conversation", "use one of them")
	}
	if o.timeout < 0 {
		return fault.NewUsage("--timeout must not be negative", "use a duration such as 10m, or remove --timeout for no limit")
	}
	return nil
}

// isOnce reports whether one question is asked, instead of a chat opened.
func (o *options) isOnce() bool {
	return o.print || o.JSON || o.stream || !o.StdinTTY || !o.Stdout.TTY()
}

// run checks what was asked for and finds a gateway to ask.
func run(ctx context.Context, o *options) (err error) {
	shortlived.Stay(100)
	if err := o.check(); err != nil {
		return err
	}
	s, err := o.readSettings()
	if err != nil {
		return err
	}
	if _, err := kit.RunsHere(s); err != nil {
		return err
	}
	images, err := attach.Images(o.images)
	if err != nil {
		return err
	}
	once := o.isOnce()
	c := &session{opts: o, images: images}
	if once {
		// Before anything is started: a mistake here is the person's.
		if c.opts.prompt, err = readPrompt(ctx, o.App, o.prompt); err != nil {
			return err
		}
	}
	log, closeLog, err := openLog(o.App, once)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	end, err := c.open(ctx, s, log)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return err
	}
	if err := c.choose(ctx, s, once); err != nil {
		return err
	}
	if once {
		return c.once(ctx)
	}
	c.findLocal(ctx, s)
	return c.terminal(ctx, s.Chat)
}

// readSettings reads the settings. Settings of the config file and of variables that
// cannot be read are not mistakes of the command line; a question has another exit code
// for them.
func (o *options) readSettings() (*config.Settings, error) {
	s, err := o.Settings(o.settings)
	if err == nil || !o.isOnce() {
		return s, err
	}
	if _, without := o.Settings(nil); without != nil {
		f := &fault.Error{Msg: err.Error(), Code: fault.Configuration}
		if known, ok := errors.AsType[*fault.Error](err); ok {
			f.Msg, f.Hint, f.Err = known.Msg, known.Hint, known.Err
		}
		return nil, f
	}
	return nil, err
}

// choose finds the conversation and the directory.
func (c *session) choose(ctx context.Context, s *config.Settings, once bool) error {
	if err := c.findConversation(ctx, s, once); err != nil {
		return err
	}
	return c.chooseWorkspace(ctx, s)
}

// session is a chat with a gateway that was found.
type session struct {
	opts *options

	images []tui.Image
	client *gateway.Client
	// unresolved says that model is as the user typed it, because the gateway had no list.
	unresolved bool
	asker      *running.Daemon // nil for a gateway of our own
	own        *serving.Own
	demo       bool   // asked for on the command line: a daemon that runs has none
	here       string // the flag because of which a daemon that runs is not used

	directory string    // that new conversations work in; "" for the gateway's choice
	readOnly  bool      // they do not change it
	local     tui.Local // nil: the agent's files cannot be reached from here
	resumes   string    // the directory of the conversation that is continued; "" if not known
	elsewhere string    // why that is not the current directory, for people
	away      tui.Where // the same in a few words, where ohgw makes the directory
	declined  string    // the current directory, if the person said no to it
}

// connect finds the gateway: the one that was named, or that runs, or one of
// our own. end lets go of it.
func (c *session) connect(ctx context.Context, s *config.Settings, log *slog.Logger) (end func() error, err error) {
	end = func() error { return nil }
	if c.here, err = kit.RunsHere(s); err != nil {
		return end, err
	}
	c.demo = s.Origin("demo").Kind == config.FromFlag
	if c.here == "" {
		c.asker, err = running.Find(ctx, c.opts.Setup(), s)
		if err == nil {
			c.client = c.newClient(gateway.Config{URL: c.asker.Base, Key: c.asker.Key, HTTP: c.asker.HTTP})
		}
		if !errors.Is(err, instance.ErrNotRunning) {
			return end, err
		}
	}
	env := c.opts.Setup()
	if c.opts.isOnce() {
		env.Ask = nil // a single question is not a conversation with the user
	}
	if c.own, err = serving.OpenOwn(ctx, env, s, log); err != nil {
		return end, err
	}
	c.client = c.newClient(gateway.Config{URL: c.own.URL, Key: c.own.Key, HTTP: c.own.HTTP})
	if c.opts.model == "" && s.Demo {
		c.opts.model = demoModel
	}
	return c.own.Stop, nil
}

func (c *session) newClient(cfg gateway.Config) *gateway.Client {
	cfg.Now, cfg.NewKey, cfg.UserAgent = c.opts.Now, uuid.New, "ohgw/"+buildinfo.Get().Version
	return gateway.New(cfg)
}

// notice returns what a user at a terminal should know about the gateway; empty if
// nothing.
func (c *session) notice(ctx context.Context) string {
	lines := []string{c.about(ctx), c.elsewhere}
	if c.opts.alone {
		lines = append(lines, otherCommands)
	}
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
}

// about says which gateway it is, if that is not one that runs.
func (c *session) about(ctx context.Context) string {
	if c.own == nil {
		return ""
	}
	if c.demo {
		return "The demo runs in this process and ends with the chat. " + demoReach(c.own.Backend.Sandbox(ctx))
	}
	if c.here != "" {
		return fmt.Sprintf("This chat runs the agent in its own process, because of %s. Agents: %s.", c.here, c.own.Backend.Line())
	}
	return fmt.Sprintf("No ohgw is running, so this chat runs the agent in its own process. Agents: %s.", c.own.Backend.Line())
}

// demoReach says in which sandbox the demo runs.
func demoReach(st agentapi.SandboxStatus) string {
	switch sandbox.Level(st.Level) {
	case sandbox.Full, sandbox.Reduced:
		return "Its command runs in the sandbox, at level " + st.Level + "."
	case sandbox.External, sandbox.Off:
	}
	if sandboxes.DemoAlone(st) {
		return "There is no sandbox on this machine; the demo's command is ohgw's own, and runs without one."
	}
	return "The sandbox is " + st.Level + "."
}

// place is the gateway in a few words.
func (c *session) place() string {
	if c.own != nil {
		return "in this process"
	}
	if u, err := url.Parse(c.client.URL()); err == nil && u.Host != "" {
		return u.Host
	}
	return c.client.URL()
}
