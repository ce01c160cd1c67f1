package cloud

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/accounts"
)

// sendOptions is what the command takes.
type sendOptions struct {
	oneOptions
	waitOptions

	Text []string
	Wake bool
}

func newSend(o *options) *cobra.Command {
	opts := sendOptions{oneOptions: oneOptions{options: o}}
	cmd := &cobra.Command{
		Use:   "send ID [MESSAGE]",
		Short: "Send a message to a conversation",
		Long: kit.Long(`
Sends a message to a conversation on a server, which starts a run. Without
MESSAGE it is read from stdin. A conversation that sleeps does not take
messages: --wake wakes it first. With --wait, the answer of the agent is
printed, and with --follow everything that it says.

A message is sent once. If its outcome is unknown, the command fails and says
so. With --json the output has id, server, state and web_url, and with --wait
also status and answer.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example: kit.Examples(`ohgw cloud send 7f1c "And now the tests" --wait`, "ohgw cloud send 7f1c --wake <message.txt"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fault.NewUsage("the id is missing", "see "+cmd.CommandPath()+" --help")
			}
			return kit.NoKeys(cmd, args[1:])
		},
		ValidArgsFunction: kit.CompleteOn(o.Account),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID, opts.Text = args[0], args[1:]
			return runSend(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Wake, "wake", false, "wake the conversation first")
	opts.addFlags(cmd)
	return cmd
}

// runSend runs the command.
func runSend(ctx context.Context, o *sendOptions) error {
	text, err := o.message(o.Text)
	if err != nil {
		return err
	}
	if text == "" {
		return fault.NewUsage("the message is empty", "pass it as an argument or on stdin")
	}
	acc, conv, err := o.Find(ctx, o.ID)
	if err != nil {
		return err
	}
	defer acc.Close()
	if o.Wake && conv.State != account.StateRunning {
		if _, err := acc.Wake(ctx, conv.ID, o.progress); err != nil {
			return accounts.Fault(err, acc.Server)
		}
		conv.State = account.StateRunning
	}
	before := o.mark(ctx, acc, conv, o.waitOptions)
	if err := acc.Send(ctx, conv.ID, text, nil); err != nil {
		return accounts.Fault(err, acc.Server)
	}
	if o.Wait || o.Follow {
		return o.watchFrom(ctx, acc, conv, o.waitOptions, before)
	}
	if o.JSON {
		return o.PrintJSON(describe(acc, conv, nil))
	}
	o.Note("The message was sent. Follow the run with: ohgw cloud tail %s --follow", conv.Short())
	return nil
}
