package cloud

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/accounts"
)

// wakeOptions is what the command takes.
type wakeOptions struct {
	oneOptions

	Wait bool
}

func newWake(o *options) *cobra.Command {
	opts := wakeOptions{oneOptions: oneOptions{options: o}}
	cmd := &cobra.Command{
		Use:   "wake ID",
		Short: "Wake a conversation that sleeps",
		Long: kit.Long(`
Wakes a conversation that sleeps: its sandbox starts again, with its files. With
--wait, the command ends when the agent answers, which takes up to some minutes.
A conversation that is awake stays as it is. Its page is printed on stdout.

With --json the output has id, server, state (running or starting) and web_url.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example: kit.Examples("ohgw cloud wake 7f1c", "ohgw cloud wake 7f1c --wait --json"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: kit.CompleteOn(o.Account),
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
	acc, conv, err := o.Find(ctx, o.ID)
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
	conv.State = account.StateRunning
	switch {
	case begun && ctx.Err() == nil && err != nil:
		conv.State = account.StateStarting
	case err != nil:
		return accounts.Fault(err, acc.Server)
	}
	if o.JSON {
		return o.PrintJSON(describe(acc, conv, nil))
	}
	o.Note("The conversation is %s.", conv.State)
	return kit.WriteText(o.Stdout, conv.WebURL+"\n")
}
