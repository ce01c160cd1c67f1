package agentserver

import (
	"context"
	"errors"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Pursues refuses goals on servers without the routes for them. It refuses them, too, where
// actions wait for a person: the loop of the server runs the agent again in spite of that,
// and with it what waits.
func (c *conversation) Pursues(ctx context.Context) error {
	if c.version < sinceGoals {
		return noGoals("Goals need an agent-server of version 1.43 or newer. Update it (" + installNewest + "), leave the goal out, or use the embedded agent.")
	}
	state, err := c.State(ctx)
	if err != nil {
		return err
	}
	if agentapi.ConfirmationOf(state.ConfirmationPolicy) != agentapi.ConfirmNever {
		return noGoals("An agent-server cannot wait for confirmations while it pursues a goal. Leave the goal out, switch the confirmations of the conversation off, or use the embedded agent.")
	}
	return nil
}

func noGoals(msg string) error {
	return &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: msg, Err: agentapi.ErrNoGoals}
}

// Pursue has the server pursue the goal. The server sends the objective as a message of its
// own, so m is sent only if it says something else.
func (c *conversation) Pursue(ctx context.Context, m agentapi.Message, g agentapi.Goal) error {
	if err := c.Pursues(ctx); err != nil {
		return err
	}
	fork := c.uncounted.Swap(false)
	known, err := c.describe(ctx)
	if err != nil {
		return c.fault(ctx, "describe the conversation", err)
	}
	// A hook has to see the message before there is a goal.
	said := fork || known.hasHooks() || m.Text != g.Objective || len(m.Images) > 0
	if !said {
		return c.strive(ctx, g, false)
	}
	if err := c.say(ctx, m, false); err != nil {
		return err
	}
	if fork {
		c.count(ctx)
	}
	return c.striveAfter(ctx, g, known.hasHooks())
}

// striveAfter starts the goal of a message that is in the log. One that a hook refused has
// no goal: its run says so.
func (c *conversation) striveAfter(ctx context.Context, g agentapi.Goal, hooks bool) error {
	if hooks {
		known, err := c.describe(ctx)
		if err != nil {
			return c.fault(ctx, "describe the conversation", err)
		}
		if _, refused := known.Blocked[known.LastUserMessageID]; refused {
			return c.run(ctx)
		}
	}
	return c.strive(ctx, g, true)
}

// strive starts the goal. Stored says that the message is in the log.
func (c *conversation) strive(ctx context.Context, g agentapi.Goal, stored bool) error {
	in := struct {
		Objective string `json:"objective"`
		Rounds    int    `json:"max_iterations"`
	}{g.Objective, g.Rounds}
	arrived := func(e event.Event) verdict {
		told, ok := e.Goal()
		return yes(ok && told.Active && told.Objective == g.Objective)
	}
	call := call{"pursue the goal", request{method: http.MethodPost, path: c.path() + "/goal", in: in}, arrived}
	anchor, err := c.anchor(ctx)
	if err != nil {
		return c.fault(ctx, call.what, err)
	}
	try := func(ctx context.Context) error {
		return c.take(func() error { return c.once(ctx, anchor, call) })
	}
	c.pursuing.Store(true)
	err = try(ctx)
	switch {
	case isFull(err):
		return c.full(stored, err, try)
	case err != nil:
		return err
	}
	return nil
}

// leave ends the goal of the conversation, and before it the run, if there is one: the
// server writes the end of a goal only between two steps. An interrupt alone does not end a
// goal that is being judged. A run that begins meanwhile is seen to run, and stopped then.
func (c *conversation) leave(ctx context.Context) error {
	if c.running.Load() {
		if err := c.backend.interrupt(ctx, c.info.ID); err != nil {
			return err
		}
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := c.backend.client.do(limited, request{method: http.MethodPost, path: c.path() + "/goal/stop"})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil // the goal is over, and the server waits for a tool before it logs that
	}
	return c.fault(ctx, "stop the goal", err)
}

// heardGoal takes in what the log says of a goal.
func (s *stream) heardGoal(g event.Goal) {
	s.conv.pursuing.Store(g.Active)
	s.stale = s.stale || !g.Active
}

// errStale ends the socket of a goal that is over. The server publishes no state behind it,
// and that which it stores lacks what the judge took: a new socket begins with the state.
var errStale = errors.New("the state is not known after a goal")

// fresh asks for a new socket where only that brings the state.
func (s *stream) fresh() error {
	if !s.stale || s.sock == nil {
		return nil
	}
	return errStale
}
