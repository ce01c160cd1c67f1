package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/setup/running"
	"github.com/ohgw/ohgw/internal/setup/serving"
	"github.com/ohgw/ohgw/internal/uuid"
)

// The models that a chat asks when nobody names one.
const (
	activeModel = "openhands" // the active profile
	demoModel   = "openhands_demo"
)

// chatInput is the command line of chat.
type chatInput struct {
	prompt       string
	print        bool
	stream       bool
	plain        bool
	model        string
	conversation string
	system       string
	images       []string
	timeout      time.Duration
	settings     settingFlags
}

func newChat(a *App) *cobra.Command {
	var in chatInput
	cmd := &cobra.Command{
		Use:   "chat [PROMPT]",
		Short: "Chat with an agent in the terminal",
		Long: long(`
Opens a chat with the agents of the running daemon, over /v1 like any other
client. Where no daemon runs, it starts one in this process, for as long as the
chat lasts, and says so; it takes the settings of "ohgw serve" from variables
and the config file. --demo does so too and needs no key and no network.

With --print, or where stdin or stdout is no terminal, it asks once: the prompt
is the argument, or stdin, or the argument followed by stdin in <stdin> tags.
The answer goes to stdout, whole and without what the agent said on its way;
on a terminal, or with --stream, as it is written. What the agent does goes to
stderr (--quiet leaves it out). --json prints one document with the answer, the
conversation and what it took; with --stream, a line for each piece, the
document last.

A question without --conversation runs in a conversation of its own that is
removed after a while (see one_shot_ttl). --conversation takes a UUID: a known
one is continued, an unknown one is made and kept.

Ctrl-C stops the run. An answer that is cut off by the network is fetched again;
nothing runs twice.`,
			0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example: examples(
			"ohgw chat",
			`ohgw chat -p "Why does the build fail?" < build.log`,
			`ohgw chat -p --json "What is 6 x 7?" | jq -r .answer`,
			"ohgw chat --demo",
		),
		Args:              atMost("the prompt"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				in.prompt = args[0]
			}
			return a.chat(cmd.Context(), in)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&in.print, "print", "p", false, "ask once and print the answer")
	f.BoolVar(&in.stream, "stream", false, "print the answer as it is written, even into a pipe")
	f.BoolVar(&in.plain, "plain", false, "chat line by line, for screen readers")
	f.StringVarP(&in.model, "model", "m", "", "ask this `MODEL` (default openhands, the active profile)")
	f.StringVarP(&in.conversation, "conversation", "c", "", "go on with, or begin, the conversation `ID`")
	f.StringVar(&in.system, "system", "", "add `TEXT` to what the agent knows from the start")
	f.StringArrayVar(&in.images, "image", nil, "show the agent the image `FILE`; may be repeated")
	f.DurationVar(&in.timeout, "timeout", 0, "interrupt a run after this `TIME`, e.g. 10m")
	in.settings = addSettingsNamed(cmd, "url", "demo")
	a.completeChat(cmd)
	return cmd
}

// chat checks what was asked for and finds a gateway to ask.
func (a *App) chat(ctx context.Context, in chatInput) (err error) {
	if in.conversation != "" {
		if in.conversation, err = uuid.Parse(in.conversation); err != nil {
			return fault.NewUsage("--conversation is no UUID", "take one that an answer named, or any new UUID")
		}
	}
	if in.timeout < 0 {
		return fault.NewUsage("--timeout is less than nothing", "use e.g. --timeout 10m, or leave it out for no limit")
	}
	s, err := a.settings(in.settings)
	if err != nil {
		return err
	}
	if s.Origin("demo").Kind == config.FromFlag && s.Origin("client.url").Kind == config.FromFlag {
		return fault.NewUsage("--demo runs here, and --url is elsewhere", "use one of them")
	}
	images, err := readImages(in.images)
	if err != nil {
		return err
	}
	once := in.print || a.json || in.stream || !a.StdinTTY || !a.Stdout.TTY()
	c := &chat{App: a, in: in, images: images}
	if once {
		// Before anything is started: a mistake here is the person's.
		if c.in.prompt, err = a.readPrompt(ctx, in.prompt); err != nil {
			return err
		}
	}
	log, closeLog, err := a.chatLog(once)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	end, err := c.connect(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if once {
		return c.once(ctx)
	}
	return c.terminal(ctx)
}

// chat is a chat with a gateway that was found.
type chat struct {
	*App

	in     chatInput
	images []chatImage
	client *gateway.Client
	asker  *running.Daemon // nil for a gateway of our own
	own    *serving.Own
	demo   bool // asked for on the command line: a daemon that runs has none
}

// connect finds the gateway: the one that was named, or that runs, or one of
// our own. end lets go of it.
func (c *chat) connect(ctx context.Context, s *config.Settings, log *slog.Logger) (end func() error, err error) {
	end = func() error { return nil }
	c.demo = s.Origin("demo").Kind == config.FromFlag
	if !c.demo {
		c.asker, err = running.Find(ctx, c.Setup(), s)
		if err == nil {
			c.client = c.newClient(gateway.Config{URL: c.asker.Base, Key: c.asker.Key, HTTP: c.asker.HTTP})
		}
		if !errors.Is(err, instance.ErrNotRunning) {
			return end, err
		}
	}
	if c.own, err = serving.OpenOwn(ctx, c.Setup(), s, log); err != nil {
		return end, err
	}
	c.client = c.newClient(gateway.Config{URL: c.own.URL, Key: c.own.Key, HTTP: c.own.HTTP})
	if c.in.model == "" && s.Demo {
		c.in.model = demoModel
	}
	return c.own.Stop, nil
}

func (c *chat) newClient(cfg gateway.Config) *gateway.Client {
	cfg.Now, cfg.NewKey, cfg.UserAgent = c.Now, uuid.New, "ohgw/"+buildinfo.Get().Version
	return gateway.New(cfg)
}

// notice says what somebody at a terminal should know about the gateway; empty
// if nothing.
func (c *chat) notice() string {
	if c.own == nil {
		return ""
	}
	if c.demo {
		return "The demo has a gateway of its own in this process; it ends with the chat."
	}
	return fmt.Sprintf("No daemon runs, so one was started in this process; it ends with the chat. Agents: %s.", c.own.Backend.Line())
}

// place is the gateway in a few words.
func (c *chat) place() string {
	if c.own != nil {
		return "in this process"
	}
	if u, err := url.Parse(c.client.URL()); err == nil && u.Host != "" {
		return u.Host
	}
	return c.client.URL()
}

// faultOf is an error of the gateway as a person should read it here.
func (c *chat) faultOf(err error) error {
	e, ok := errors.AsType[*gateway.Error](err)
	if !ok {
		return err
	}
	f := &fault.Error{Msg: sentence(e.Message), Code: fault.Failed, Err: e.Err}
	if e.Err != nil {
		f.Err = setup.NetCause(e.Err)
	}
	goOn := "ask again"
	if e.Conversation != "" && c.in.conversation != "" {
		goOn = "its conversation keeps what was done: ask again with --conversation " + e.Conversation
	}
	switch e.Kind {
	case gateway.Failed:
		f.Hint = goOn
		if e.Code == "llm_error" {
			f.Hint = "see what ohgw profiles check and ohgw keys status say, then " + goOn
		}
	case gateway.Unreachable:
		f.Code, f.Hint = fault.Unreachable, "start it with ohgw serve, or leave out --url to run one here; see ohgw status"
		if e.Code != "" {
			f.Hint = "see what ohgw status says"
		}
	case gateway.Stranger:
		f.Code, f.Hint = fault.Unreachable, "name the right address with --url or OHGW_URL"
	case gateway.Locked:
		f.Code, f.Hint = fault.Credential, "put one of its tokens into OHGW_API_KEY; ohgw tokens create NAME makes one"
	case gateway.Busy:
		f.Hint = "try again"
		if e.RetryAfter > 0 {
			f.Hint = fmt.Sprintf("try again in %s", e.RetryAfter)
		}
	case gateway.Refused:
		f.Hint = "change what it says"
		if e.Code == "model_not_found" {
			f.Hint = "choose one with --model; ohgw models lists them"
		}
	}
	return f
}

// noModels is the error for a gateway that has no model at all.
func noModels() error {
	return fault.New("there is no model to ask: OpenHands has no LLM profile",
		"make one with: ohgw profiles add NAME; or look around without a key: ohgw chat --demo", nil)
}
