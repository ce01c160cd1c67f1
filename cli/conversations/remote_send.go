package conversations

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup/cloud"
)

// sendOptions is what the command takes.
type sendOptions struct {
	oneOptions
	waitOptions

	Text []string
	Wake bool
}

func newSend(p *place) *cobra.Command {
	opts := sendOptions{oneOptions: oneOptions{place: p}}
	cmd := &cobra.Command{
		Use:   "send ID [MESSAGE]",
		Short: "Send a message to a conversation on OpenHands Cloud",
		Long: kit.Long(`
Sends a message to a conversation on a server, which starts a run. Without
MESSAGE it is read from stdin. A conversation that sleeps does not take
messages: --wake wakes it first. With --wait, the answer of the agent is
printed, and with --follow everything that it says.

A message is sent once. If its outcome is unknown, the command fails and says
so. With --json the output has sent, the id; with --wait also answer and status.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example: kit.Examples(`ohgw conversations send 7f1c "And now the tests" --wait`, "ohgw conversations send 7f1c --wake <message.txt"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fault.NewUsage("the id is missing", "see "+cmd.CommandPath()+" --help")
			}
			return kit.NoKeys(cmd, args[1:])
		},
		ValidArgsFunction: kit.CompleteOn(p.account),
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
	acc, conv, err := o.find(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	if o.Wake && conv.State != account.StateRunning {
		if _, err := acc.Wake(ctx, conv.ID, o.progress); err != nil {
			return cloud.Fault(err, acc.Server)
		}
	}
	before := o.mark(ctx, acc, conv, o.waitOptions)
	if err := acc.Send(ctx, conv.ID, text, nil); err != nil {
		return cloud.Fault(err, acc.Server)
	}
	if o.Wait || o.Follow {
		return o.watchFrom(ctx, acc, conv, o.waitOptions, before)
	}
	if o.JSON {
		return o.PrintJSON(map[string]string{"sent": conv.ID})
	}
	o.Note("The message was sent. Follow the run with: ohgw conversations tail %s --follow", conv.ID[:shortID])
	return nil
}

// wakeOptions is what the command takes.
type wakeOptions struct {
	oneOptions

	Wait bool
}

func newWake(p *place) *cobra.Command {
	opts := wakeOptions{oneOptions: oneOptions{place: p}}
	cmd := &cobra.Command{
		Use:   "wake ID",
		Short: "Wake a conversation on OpenHands Cloud",
		Long: kit.Long(`
Wakes a conversation that sleeps: its sandbox starts again, with its files. With
--wait, the command ends when the agent answers, which takes up to some minutes.
A conversation that is awake stays as it is. Its page is printed on stdout.

With --json the output has id, state (running or starting) and web_url.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example: kit.Examples("ohgw conversations wake 7f1c", "ohgw conversations wake 7f1c --wait --json"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: kit.CompleteOn(p.account),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runWake(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Wait, "wait", false, "wait until it is awake")
	return cmd
}

// runWake runs the command.
func runWake(ctx context.Context, o *wakeOptions) error {
	acc, conv, err := o.find(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	waking, enough := context.WithCancel(ctx)
	defer enough()
	begun := false
	_, err = acc.Wake(waking, conv.ID, func(step account.Progress) {
		o.progress(step)
		asleep := slices.Contains([]string{"PAUSED", "STOPPED", string(account.StateAsleep)}, step.State)
		if !o.Wait && !asleep && step.State != "READY" {
			begun = true
			enough() // The server goes on alone.
		}
	})
	state := account.StateRunning
	switch {
	case begun && ctx.Err() == nil && err != nil:
		state = account.StateStarting
	case err != nil:
		return cloud.Fault(err, acc.Server)
	}
	if o.JSON {
		return o.PrintJSON(map[string]string{"id": conv.ID, "state": string(state), "web_url": conv.WebURL})
	}
	o.Note("The conversation is %s.", state)
	return kit.WriteText(o.Stdout, conv.WebURL+"\n")
}
