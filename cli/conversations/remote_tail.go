package conversations

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup/cloud"
)

// tailOptions is what the command takes.
type tailOptions struct {
	oneOptions

	Last   int
	Follow bool
}

func newTail(p *place) *cobra.Command {
	opts := tailOptions{oneOptions: oneOptions{place: p}}
	cmd := &cobra.Command{
		Use:   "tail ID",
		Short: "Print what the agent said last on OpenHands Cloud",
		Long: kit.Long(`
Prints what the agent of a conversation on a server said last: messages,
thoughts and answers. With --follow it prints what comes at once, and ends with
the run (exit code 1 if the run failed) or with Ctrl-C (130). The conversation
may sleep, or be archived; then the last 30 seconds can be missing.

With --json each line is an object with id, time, source, text and final.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example: kit.Examples("ohgw conversations tail 7f1c --last 3", "ohgw conversations tail 7f1c --follow"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: completeRemote(p),
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
	acc, conv, err := o.find(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	f := o.source(ctx, acc, conv)
	defer f.close()
	list, err := f.newest(ctx, o.Last, func(s said) bool { return s.Source == event.SourceAgent && s.Text != "" })
	if err != nil {
		return followFault(err, acc)
	}
	for _, s := range list {
		if err := o.print(s); err != nil {
			return err
		}
	}
	if !o.Follow || conv.State != account.StateRunning || settled(conv.Exec) {
		if o.Follow {
			o.Note("Nothing runs in the conversation: it is %s.", conv.State)
		}
		return nil
	}
	if live, ok := f.(*liveFollower); ok {
		if err := live.open(ctx); err != nil {
			return followFault(err, acc)
		}
	}
	return o.watchFrom(ctx, acc, conv, waitOptions{Follow: true, each: o.print}, f)
}

// source is where a conversation is read: its agent-server while it runs, which has
// everything, else what the server has stored.
func (o *tailOptions) source(ctx context.Context, acc cloud.Account, conv account.Conversation) teller {
	if conv.Version == account.V1 && conv.State == account.StateRunning {
		f, err := o.goLive(ctx, acc, conv.ID)
		if err == nil {
			if _, err = f.lib.Record(ctx, f.id); err == nil {
				return f
			}
			f.close()
		}
		o.Detail("the agent-server of the conversation is not asked: %v", err)
	}
	return &storedFollower{log: &stored{acc: acc, id: conv.ID}, conv: conv}
}

// teller is a follower that also knows what was said before.
type teller interface {
	follower
	newest(ctx context.Context, last int, wanted func(said) bool) ([]said, error)
}

// settled reports whether a run is over that has this status.
func settled(s event.Status) bool {
	return s == event.Finished || s == event.Failed || s == event.Stuck || s == event.Idle || s == event.Paused
}

func (o *tailOptions) print(s said) error {
	if !o.JSON {
		return kit.WriteText(o.Stdout, s.Text+"\n")
	}
	kit.WriteJSONLine(o.Stdout, map[string]any{"id": s.ID, "time": kit.TimeOrNull(s.At), "source": s.Source, "text": s.Text, "final": s.Final})
	return nil
}
