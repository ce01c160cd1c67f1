package cloud

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/accounts"
)

// newOptions is what the command takes.
type newOptions struct {
	*options
	waitOptions

	Prompt   []string
	Repo     string
	Branch   string
	Provider string
	Model    string
	Profile  string
	Title    string
}

func newNew(o *options) *cobra.Command {
	opts := newOptions{options: o}
	cmd := &cobra.Command{
		Use:   "new [PROMPT]",
		Short: "Start a conversation",
		Long: kit.Long(`
Starts a conversation on a server, and waits until its sandbox runs, which takes
up to some minutes. PROMPT is the first message; without it, it is read from
stdin unless that is a terminal. Without a message the agent waits for one.

--repo . means the repository and branch of the current directory; on a
terminal, a directory with a repository is offered. The id of the conversation
is printed on stdout. With --wait, the answer of the agent is printed instead,
and with --follow everything that it says. A start is sent once: if its outcome
is unknown, the command fails and says so.

With --json the output has id, server, state and web_url, and with --wait also
status and answer.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example: kit.Examples(`ohgw cloud new "Fix the build" --repo acme/teapot --wait`, "ohgw cloud new --repo . --follow <prompt.txt"),
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

// runNew runs the command.
func runNew(ctx context.Context, o *newOptions) error {
	text, err := o.message(o.Prompt)
	if err != nil {
		return err
	}
	if text == "" && (o.Wait || o.Follow) {
		return fault.NewUsage("there is no message, and no run to wait for", "pass the message as an argument or on stdin")
	}
	acc, err := o.Account(ctx)
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
		return accounts.Fault(err, acc.Server)
	}
	o.Note("%s is at %s", conv.ID, conv.WebURL)
	if o.Wait || o.Follow {
		return errors.Join(o.watch(ctx, acc, conv, o.waitOptions), o.retitle(ctx, acc, conv))
	}
	if o.JSON {
		return o.PrintJSON(describe(acc, conv, nil))
	}
	return kit.WriteText(o.Stdout, conv.ID+"\n")
}

// retitle sets the title again: the server invents one while the first run goes on.
func (o *newOptions) retitle(ctx context.Context, acc accounts.Account, conv account.Conversation) error {
	if o.Title == "" {
		return nil
	}
	return accounts.Fault(acc.Rename(ctx, conv.ID, o.Title), acc.Server)
}
