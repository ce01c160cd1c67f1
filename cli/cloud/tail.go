package cloud

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/accounts"
	"github.com/ohgw/ohgw/setup/library"
)

// tailOptions is what the command takes.
type tailOptions struct {
	oneOptions

	Last   int
	Follow bool
}

func newTail(o *options) *cobra.Command {
	opts := tailOptions{oneOptions: oneOptions{options: o}}
	cmd := &cobra.Command{
		Use:   "tail ID",
		Short: "Print what the agent said last",
		Long: kit.Long(`
Prints what the agent of a conversation on a server said last: messages,
thoughts and answers. With --follow it prints what comes, and ends with the run
(exit code 1 if the run failed) or with Ctrl-C (130). The conversation may
sleep, or be archived; the server learns of events up to 30 seconds late.

With --json each line is an object with id, time, source, text and final.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example: kit.Examples("ohgw cloud tail 7f1c --last 3", "ohgw cloud tail 7f1c --follow"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: kit.CompleteOn(o.Account),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runTail(cmd.Context(), &opts)
		},
	}
	cmd.Flags().IntVarP(&opts.Last, "last", "n", 1, "the last `N` things that the agent said; 0 is all")
	cmd.Flags().BoolVarP(&opts.Follow, "follow", "f", false, "print what comes, until the end of the run")
	return cmd
}

// runTail runs the command.
func runTail(ctx context.Context, o *tailOptions) error {
	if o.Last < 0 {
		return fault.NewUsage("--last cannot be negative", "use a number such as 3")
	}
	acc, conv, err := o.Find(ctx, o.ID)
	if err != nil {
		return err
	}
	defer acc.Close()
	var f follower
	if running := conv.State == account.StateRunning && !settled(conv.Exec); o.Follow && running {
		if f, err = o.follow(ctx, acc, conv); err != nil {
			return accounts.Fault(library.Fault(err), acc.Server)
		}
	}
	log := acc.Log(conv.ID)
	events, err := log.Newest(ctx, o.Last, func(e account.Event) bool { return e.Source == event.SourceAgent && e.Text != "" })
	if err != nil {
		return accounts.Fault(err, acc.Server)
	}
	for _, e := range events {
		if err := o.say(saidBy(e)); err != nil {
			return err
		}
	}
	switch {
	case !o.Follow || f != nil:
	case conv.State == account.StateRunning:
		o.Note("The server reports no run in the conversation: its status is %s. It learns of a run up to 30 seconds late.", conv.Exec)
	default:
		o.Note("Nothing runs in the conversation: it is %s.", conv.State)
	}
	if f == nil {
		return nil
	}
	return o.watchFrom(ctx, acc, conv, waitOptions{Follow: true, runs: true, lines: true}, f)
}

// settled reports whether a run is over that has this status.
func settled(s event.Status) bool {
	return s == event.Finished || s == event.Failed || s == event.Stuck || s == event.Idle || s == event.Paused
}
