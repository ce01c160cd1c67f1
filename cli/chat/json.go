package chat

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/chat/answer"
	"github.com/ohgw/ohgw/cli/kit"
)

// answerEvents runs the command for programs.
func (o *options) answerEvents(ctx context.Context) error {
	e := answer.NewEvents(o.Stdout, o.Verbose, answer.Turn{Model: cmp.Or(o.model, activeModel), Conversation: o.conversation})
	o.events = e
	o.Leaving = func(err error) { _ = e.Last(ctx, err) } // It is left already.
	err := run(ctx, o)
	if errors.Is(err, kit.ErrReaderGone) {
		return err
	}
	if end := e.Last(ctx, err); err == nil {
		err = end
	}
	return err
}

// End prints the last line of a question whose command line could not be read. It
// does nothing for other commands, and where the line was printed.
func End(ctx context.Context, a *kit.App, cmd *cobra.Command, args []string, err error) {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	if cmd.Name() != "chat" || cmd.HasSubCommands() || !slices.Contains(args, "--json") || slices.Contains(args, "--list") || a.Leaving != nil {
		return
	}
	// Stdout may be closed, and the error is on stderr as well.
	_ = answer.NewEvents(a.Stdout, false, answer.Turn{Model: activeModel}).Last(ctx, err)
}
