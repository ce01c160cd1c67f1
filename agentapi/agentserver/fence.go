package agentserver

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

var _ agentapi.Fenced = (*conversation)(nil)

// wrapUpFor is longer than a server takes from the last word of a run to its end, 30 s.
const wrapUpFor = 40 * time.Second

// Append appends the message and starts nothing.
func (c *conversation) Append(ctx context.Context, m agentapi.Message) error {
	if err := c.say(ctx, m, false); err != nil {
		return err
	}
	if c.uncounted.Swap(false) {
		c.count(ctx)
	}
	return nil
}

// Start starts the run. The server refuses a second one, and does nothing for a
// conversation that has finished.
func (c *conversation) Start(ctx context.Context) error {
	err := c.startOnce(ctx)
	if isFull(err) {
		return c.full(true, err, c.startOnce)
	}
	return err
}

// startOnce asks for the run unless one goes on. It does not ask where that would do
// something else: the server asks the model also if there is no message, and takes a run
// for the consent to what waits for confirmation.
func (c *conversation) startOnce(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, wrapUpFor)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		state, err := c.State(ctx)
		if err != nil || state.LastUserMessageID == "" || state.Status == event.Waiting {
			return err
		}
		refused := c.tryRun(ctx)
		if !errors.Is(refused, agentapi.ErrBusy) {
			return refused
		}
		// A run that has said its last word is one for the server until it has ended. It does
		// not answer this message.
		begun, err := c.has(ctx, state.LastUserMessageID, func(e event.Event) verdict { return yes(runs(e)) })
		if begun || err != nil {
			return c.fault(ctx, "show the run", err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-limited.Done():
			timer.Stop()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return refused
		}
	}
}
