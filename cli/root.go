package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
)

// App is one run of the program: its world and the flags that every command
// has.
type App struct {
	*Env

	json    bool
	quiet   bool
	verbose bool
	debug   bool
	noInput bool
	color   string
	Config  string
}

// The groups of commands in the help.
const (
	groupRun   = "run"
	groupSetup = "setup"
	groupMore  = "more"
)

// Root is the tree of all commands in env, for what is generated from it.
// Nothing of it has run.
func Root(env *Env) *cobra.Command { return newRoot(&App{Env: env}) }

// newRoot makes the tree of all commands.
func newRoot(a *App) *cobra.Command {
	root := &cobra.Command{
		Use:   "ohgw COMMAND",
		Short: "Serve OpenHands agents to OpenAI clients",
		Long: `ohgw turns OpenHands agents into a model that any OpenAI client can call.

Start it with "ohgw serve", and give a client the base URL, the key and a model
id that it prints.`,
		Example: examples(
			"ohgw serve",
			"ohgw chat",
		),
		Version:           buildinfo.Get().Version,
		SilenceErrors:     true, // Run reports them.
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              unknownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.first(cmd) },
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.checkGlobals() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(printUsage)
	a.globalFlags(root)

	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run and look:"},
		&cobra.Group{ID: groupSetup, Title: "Set up:"},
		&cobra.Group{ID: groupMore, Title: "More:"},
	)
	root.SetHelpCommand(newHelp())
	root.SetHelpCommandGroupID(groupMore)
	add(root, groupRun, newServe(a), newChat(a), newStatus(a), newDoctor(a), newModels(a))
	add(root, groupSetup, newProfiles(a), newKeys(a), newTokens(a), newConnect(a), newService(a), newConfig(a))
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

func (a *App) globalFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "print JSON, errors too")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print errors only, apart from data")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "say more about what is done")
	flags.BoolVar(&a.debug, "debug", false, "show whole causes of errors and debug logs")
	flags.BoolVar(&a.noInput, "no-input", false, "never ask; fail where an answer is needed")
	flags.StringVar(&a.color, "color", string(iostream.ColorAuto), "colour: `auto|always|never`")
	flags.StringVar(&a.Config, "config", "", "read this config `file`")
	complete(root, "color", "auto", "always", "never")
	_ = root.MarkPersistentFlagFilename("config", "toml") // The flag is there.
}

// checkGlobals looks at what the flags of every command say.
func (a *App) checkGlobals() error {
	if _, err := iostream.ParseColorMode(a.color); err != nil {
		return fault.NewUsage("--color: "+err.Error(), "leave it out, or use auto, always or never")
	}
	if a.quiet && (a.verbose || a.debug) {
		return fault.NewUsage("--quiet contradicts --verbose and --debug", "use one of them")
	}
	a.setColor()
	return nil
}

// setColor applies the mode of colour. One that is not known is like auto.
func (a *App) setColor() {
	mode, err := iostream.ParseColorMode(a.color)
	if err != nil {
		mode = iostream.ColorAuto
	}
	for _, w := range []*iostream.Writer{a.Stdout, a.Stderr} {
		w.SetColor(iostream.UseColor(mode, w.TTY(), a.Getenv))
	}
}

// CanAsk tells whether somebody is there to answer a question.
func (a *App) CanAsk() bool { return a.StdinTTY && a.Stderr.TTY() && !a.noInput && !a.json }

// showHelp is what a command does that only holds others.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// examples are the lines of an Example text.
func examples(lines ...string) string { return "  " + strings.Join(lines, "\n  ") }

// complete offers fixed values for a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic("cli: " + err.Error()) // The flag is not there: a mistake in this package.
	}
}
