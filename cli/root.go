package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/acp"
	"github.com/ohgw/ohgw/cli/agents"
	"github.com/ohgw/ohgw/cli/chat"
	"github.com/ohgw/ohgw/cli/cloud"
	"github.com/ohgw/ohgw/cli/config"
	"github.com/ohgw/ohgw/cli/connect"
	"github.com/ohgw/ohgw/cli/conversations"
	"github.com/ohgw/ohgw/cli/doctor"
	"github.com/ohgw/ohgw/cli/keys"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/cli/logs"
	"github.com/ohgw/ohgw/cli/modellist"
	"github.com/ohgw/ohgw/cli/overview"
	"github.com/ohgw/ohgw/cli/pool"
	"github.com/ohgw/ohgw/cli/profiles"
	"github.com/ohgw/ohgw/cli/ps"
	"github.com/ohgw/ohgw/cli/sandbox"
	"github.com/ohgw/ohgw/cli/serve"
	"github.com/ohgw/ohgw/cli/server"
	"github.com/ohgw/ohgw/cli/service"
	"github.com/ohgw/ohgw/cli/state"
	"github.com/ohgw/ohgw/cli/status"
	"github.com/ohgw/ohgw/cli/stop"
	"github.com/ohgw/ohgw/cli/tokens"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
)

// The groups of commands in the help.
const (
	groupRun   = "run"
	groupSetup = "setup"
	groupMore  = "more"
)

// Root is the tree of all commands in env, for what is generated from it.
// Nothing of it has run.
func Root(env *kit.Env) *cobra.Command { return newRoot(&kit.App{Env: env}) }

// newRoot makes the tree of all commands.
func newRoot(a *kit.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "ohgw COMMAND",
		Short: "Serve OpenHands agents to OpenAI clients",
		Long: `ohgw turns OpenHands agents into a model that any OpenAI client can call.

On a terminal, "ohgw" alone opens a chat, and sets up an LLM before it where
there is none. In a pipe, and where something is missing, it says what is there
and what to do next. "ohgw serve" is for other clients: set the base URL, the key
and a model ID that it prints in your client.`,
		Example: kit.Examples(
			"ohgw",
			"ohgw chat",
			"ohgw serve",
		),
		Version:           buildinfo.Get().Version,
		SilenceErrors:     true, // Run reports them.
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              kit.UnknownCommand,
		RunE:              overview.New(a, func(ctx context.Context, guided bool) error { return chat.Alone(ctx, a, guided) }),
		PersistentPreRunE: func(*cobra.Command, []string) error { return checkGlobals(a) },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(a, cmd) })
	globalFlags(a, root)

	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run and inspect:"},
		&cobra.Group{ID: groupSetup, Title: "Set up:"},
		&cobra.Group{ID: groupMore, Title: "More:"},
	)
	root.SetHelpCommand(newHelp())
	root.SetHelpCommandGroupID(groupMore)
	add(root, groupRun, serve.New(a), stop.New(a), logs.New(a), chat.New(a), acp.New(a), status.New(a), ps.New(a), conversations.New(a), pool.New(a), cloud.New(a), doctor.New(a), modellist.New(a))
	add(root, groupSetup, profiles.New(a), agents.New(a), keys.New(a), tokens.New(a), server.New(a), server.NewLogin(a), server.NewLogout(a), connect.New(a), service.New(a), config.New(a), sandbox.New(a), state.New(a))
	add(root, groupMore, newVersion(a), newCompletion(a))
	root.AddCommand(newEnvironmentTopic(), newExitCodesTopic())
	return root
}

func add(parent *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		parent.AddCommand(c)
	}
}

func globalFlags(a *kit.App, root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.BoolVar(&a.JSON, "json", false, "print JSON, also for errors")
	flags.BoolVarP(&a.Quiet, "quiet", "q", false, "print only data and errors")
	flags.BoolVarP(&a.Verbose, "verbose", "v", false, "print more details")
	flags.BoolVar(&a.Debug, "debug", false, "print complete causes of errors and debug logs")
	flags.BoolVar(&a.NoInput, "no-input", false, "never ask; fail if an answer is needed")
	flags.StringVar(&a.Color, "color", string(iostream.ColorAuto), "colour: `auto|always|never`")
	flags.StringVar(&a.Config, "config", "", "read this config `file`")
	kit.Complete(root, "color", "auto", "always", "never")
	_ = root.MarkPersistentFlagFilename("config", "toml") // The flag is there.
}

// checkGlobals looks at what the flags of every command say.
func checkGlobals(a *kit.App) error {
	if _, err := iostream.ParseColorMode(a.Color); err != nil {
		return fault.NewUsage("--color: "+err.Error(), "remove it, or use auto, always or never")
	}
	if a.Quiet && (a.Verbose || a.Debug) {
		return fault.NewUsage("--quiet cannot be used with --verbose or --debug", "use one of them")
	}
	setColor(a)
	return nil
}

// setColor applies the mode of colour. One that is not known is like auto.
func setColor(a *kit.App) {
	mode, err := iostream.ParseColorMode(a.Color)
	if err != nil {
		mode = iostream.ColorAuto
	}
	for _, w := range []*iostream.Writer{a.Stdout, a.Stderr} {
		w.SetColor(iostream.UseColor(mode, w.TTY(), a.Getenv))
	}
}
