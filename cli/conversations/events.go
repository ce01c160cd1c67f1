package conversations

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/library"
	"github.com/ohgw/ohgw/tui/wrap"
)

// eventsOptions is what the command takes.
type eventsOptions struct {
	oneOptions

	Follow bool
	Kind   string
	Source string
	Last   int
}

// lookAgain is how often a log is read again for new events.
const lookAgain = 300 * time.Millisecond

func newEvents(p *place) *cobra.Command {
	opts := eventsOptions{oneOptions: oneOptions{place: p}}
	cmd := &cobra.Command{
		Use:   "events ID",
		Short: "Print the events of a conversation",
		Long: kit.Long(`
Prints the log of a conversation, one line for each event: time, source, kind
and the beginning of what it says. With --follow the command continues with new
events until Ctrl-C (exit code 130).

With --json, each line is an event as OpenHands stores it. Where an event is
missing on the disk, a line on stderr says how many are left out behind it.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Interrupted),
		Example:           kit.Examples("ohgw conversations events 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11 --last 20 --follow", "ohgw conversations events 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11 --json --kind MessageEvent"),
		Args:              kit.Exactly("the id"),
		ValidArgsFunction: completeIDs(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runEvents(cmd.Context(), &opts)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&opts.Follow, "follow", "f", false, "continue with new events")
	f.StringVar(&opts.Kind, "kind", "", "only events of a `kind`, such as MessageEvent")
	f.StringVar(&opts.Source, "source", "", "only events of `agent|user|environment|hook`")
	f.IntVarP(&opts.Last, "last", "n", 0, "only the last `N` events; 0 is all")
	kit.Complete(cmd, "kind", "MessageEvent", "ActionEvent", "ObservationEvent", "ConversationErrorEvent", "AgentErrorEvent")
	kit.Complete(cmd, "source", event.SourceAgent, event.SourceUser, event.SourceEnvironment, event.SourceHook)
	return cmd
}

// runEvents runs the command.
func runEvents(ctx context.Context, o *eventsOptions) error {
	if o.Last < 0 {
		return fault.NewUsage("--last cannot be negative", "use a number of events such as 20")
	}
	remote, err := o.remote()
	if err != nil {
		return err
	}
	if remote {
		return runServerEvents(ctx, o)
	}
	lib, id, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lib.Close() }() // Nothing was changed.
	if _, err := o.tellGap(ctx, lib, id); err != nil {
		return err
	}
	r := lib.Reader(id)
	if err := r.Skip(ctx, o.Last); err != nil {
		return library.Fault(err)
	}
	for {
		if err := r.Read(ctx, o.show); err != nil {
			return library.Fault(err)
		}
		if !o.Follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

// show prints an event, if it is wanted. The filter is here, and not the backend's: a
// log is followed from its last event on, whatever its kind is.
func (o *eventsOptions) show(raw json.RawMessage) error {
	var e event.Event
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil //nolint:nilerr // it cannot be read by anybody
	}
	return o.line(raw, clock(e.Timestamp), e.Source, e.Kind(), summary(e))
}

// line prints an event, if it is wanted.
func (o *eventsOptions) line(raw json.RawMessage, at, source, kind, says string) error {
	if o.Kind != "" && !strings.EqualFold(kind, o.Kind) || o.Source != "" && source != o.Source {
		return nil
	}
	if o.JSON {
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return nil //nolint:nilerr // it cannot be read by anybody
		}
		return kit.WriteText(o.Stdout, line.String()+"\n")
	}
	text := fmt.Sprintf("%s  %-11s  %s", at, source, kind)
	if said := setup.Clean(says); said != "" {
		text += "  " + said
	}
	if o.Stdout.TTY() {
		text = wrap.Cut(text, o.Stdout.Width())
	}
	return kit.WriteText(o.Stdout, text+"\n")
}

// clock is a timestamp to the second.
func clock(timestamp string) string {
	text, _, _ := strings.Cut(timestamp, ".")
	return strings.Replace(text, "T", " ", 1)
}

// summary returns what an event says, in short.
func summary(e event.Event) string {
	switch b := e.Body.(type) {
	case *event.Message:
		return event.PlainText(b.LLMMessage.Content)
	case *event.Action:
		return b.ToolName + " " + b.ToolCall.Arguments
	case *event.Observation:
		var o struct {
			Content []event.Content `json:"content"`
		}
		_ = json.Unmarshal(b.Observation, &o) // then it says nothing
		return b.ToolName + ": " + event.PlainText(o.Content)
	case *event.AgentError:
		return b.ToolName + ": " + b.Error
	case *event.ConversationError:
		return b.Code + ": " + b.Detail
	case *event.StateUpdate:
		if len(b.Value) < 100 {
			return b.Key + " = " + string(b.Value)
		}
		return b.Key
	}
	return ""
}
