package conversations

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup/cloud"
)

// waitOptions say what follows a message.
type waitOptions struct {
	Wait   bool
	Follow bool

	runs bool // a run goes on already
}

func (w *waitOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.Wait, "wait", false, "wait for the end of the run, and print its answer")
	cmd.Flags().BoolVarP(&w.Follow, "follow", "f", false, "print what the agent says until the end of the run")
}

// newOptions is what the command takes.
type newOptions struct {
	*place
	waitOptions

	Prompt   []string
	Repo     string
	Branch   string
	Provider string
	Model    string
	Profile  string
	Title    string
}

func newNew(p *place) *cobra.Command {
	opts := newOptions{place: p}
	cmd := &cobra.Command{
		Use:   "new [PROMPT]",
		Short: "Start a conversation on OpenHands Cloud",
		Long: kit.Long(`
Starts a conversation on a server, and waits until its sandbox runs, which takes
up to some minutes. PROMPT is the first message; without it, it is read from
stdin unless that is a terminal. Without a message the agent waits for one.

--repo . means the repository and branch of the current directory; on a
terminal, a directory with a repository is offered. The id of the conversation
is printed on stdout. With --wait, the answer of the agent is printed instead,
and with --follow everything that it says. A start is sent once: if its outcome
is unknown, the command fails and says so.

With --json the output is the conversation as in "ohgw conversations list", with
--wait also answer and status.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example: kit.Examples(`ohgw conversations new "Fix the build" --repo acme/teapot --wait`, "ohgw conversations new --repo . --follow <prompt.txt"),
		Args:    kit.NoKeys, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Prompt = args
			return runNew(cmd.Context(), &opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.Repo, "repo", "", "work in this `repository`: OWNER/NAME, or . for that of the current directory")
	f.StringVar(&opts.Branch, "branch", "", "start from this `branch`")
	f.StringVar(&opts.Provider, "git-provider", "", "where the repository is, such as `github`")
	f.StringVar(&opts.Model, "model", "", "use this `model` instead of the account's")
	f.StringVar(&opts.Profile, "profile", "", "use this LLM profile of the account: its `name`")
	f.StringVar(&opts.Title, "title", "", "`title` of the conversation")
	opts.addFlags(cmd)
	return cmd
}

// maxPrompt bounds a message from stdin.
const maxPrompt = 4 << 20

// message is a message of the command line, or of stdin if that is not a terminal.
func (p *place) message(args []string) (string, error) {
	if len(args) > 0 {
		return strings.Join(args, " "), nil
	}
	if p.StdinTTY {
		return "", nil
	}
	text, err := io.ReadAll(io.LimitReader(p.Stdin, maxPrompt+1))
	if err != nil {
		return "", fault.New("the message cannot be read from stdin", "pass it as an argument", err)
	}
	if len(text) > maxPrompt {
		return "", fault.NewUsage("the message is larger than 4 MiB", "put it into a file of the workspace")
	}
	return strings.TrimSpace(string(text)), nil
}

// runNew runs the command.
func runNew(ctx context.Context, o *newOptions) error {
	text, err := o.message(o.Prompt)
	if err != nil {
		return err
	}
	if text == "" && (o.Wait || o.Follow) {
		return fault.NewUsage("there is no message, and no run to wait for", "pass the message as an argument or on stdin")
	}
	acc, err := o.account(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	if err := o.checkout(ctx); err != nil {
		return err
	}
	conv, err := acc.Start(ctx, account.StartRequest{
		Text: text, Model: o.Model, Profile: o.Profile, Repo: o.Repo, Branch: o.Branch, Provider: o.Provider, Title: o.Title,
	}, o.progress)
	if err != nil {
		return cloud.Fault(err, acc.Server)
	}
	o.Note("%s is at %s", conv.ID, conv.WebURL)
	if o.Wait || o.Follow {
		return errors.Join(o.watch(ctx, acc, conv, o.waitOptions), o.retitle(ctx, acc, conv))
	}
	if o.JSON {
		return o.PrintJSON(remoteJSON{Conversation: conv, Server: acc.Server.Name})
	}
	return kit.WriteText(o.Stdout, conv.ID+"\n")
}

// retitle sets the title again: the server invents one while the first run goes on.
func (o *newOptions) retitle(ctx context.Context, acc cloud.Account, conv account.Conversation) error {
	if o.Title == "" {
		return nil
	}
	return cloud.Fault(acc.Rename(ctx, conv.ID, o.Title), acc.Server)
}

// progress tells a step of a start or a wake.
func (p *place) progress(step account.Progress) {
	text := strings.ToLower(strings.ReplaceAll(step.State, "_", " "))
	if step.Detail != "" {
		text += ": " + step.Detail
	}
	p.Note("… %s", text)
}
