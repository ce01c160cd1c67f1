package agentserver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// condenseTimeout is what a model may take to write a summary, with retries.
const condenseTimeout = 5 * time.Minute

// Condense has the server request a condensation and take a step for it. How much
// that leaves is the server's choice, and the size of the next request not known.
func (c *conversation) Condense(ctx context.Context) (agentapi.Condensed, error) {
	none := agentapi.Condensed{}
	if nothing, err := c.restful(ctx); nothing || err != nil {
		return none, err
	}
	limited, cancel := context.WithTimeout(ctx, condenseTimeout)
	defer cancel()
	_, err := c.backend.client.do(limited, request{method: http.MethodPost, path: c.path() + "/condense"})
	if e, ok := errors.AsType[*answerError](err); ok && e.native && strings.Contains(e.text, "Cannot condense") {
		return none, &agentapi.Error{
			Kind: agentapi.ErrUnsupported, Err: err,
			Msg: "The agent of this conversation has no condenser. Enable the condenser in the settings of the agent-server, then start a new conversation.",
		}
	}
	if gone(err) {
		return none, conversationNotFound(c.info.ID, err)
	}
	if timedOut(err) && ctx.Err() == nil {
		return none, &agentapi.Error{
			Kind: agentapi.ErrUncertain, Err: err,
			Msg: "The agent-server did not summarize the conversation in time; it may still be doing that.",
		}
	}
	if err != nil {
		return none, c.backend.fault(ctx, "summarize the conversation", err)
	}
	return agentapi.Condensed{Done: true}, nil
}

// stateTimeout is how long the state of a conversation without a run may take.
const stateTimeout = 5 * time.Second

// restful refuses a conversation that is not at rest, and reports whether nothing
// was said in it. Old servers tell the state when the step in flight has ended.
func (c *conversation) restful(ctx context.Context) (empty bool, err error) {
	busy := &agentapi.Error{Kind: agentapi.ErrBusy, Msg: "The conversation is running; it can be summarized when that is done."}
	limited, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	state, err := c.now(limited)
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		busy.Err = err
		return false, busy
	case err != nil:
		return false, err
	case state.Status == event.Running:
		return false, busy
	case state.Status == event.Waiting:
		return false, &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "Actions of this conversation wait for a decision; accept or reject them first."}
	}
	return state.LastUserMessageID == "", nil
}

// now is the state with which a stream begins. Unlike that of State it is not a
// step old.
func (c *conversation) now(ctx context.Context) (event.State, error) {
	stream, err := c.Watch(ctx, "")
	if err != nil {
		return event.State{}, err
	}
	defer stream.Close()
	e, err := stream.Next(ctx)
	if err != nil {
		return event.State{}, err
	}
	state, _, err := e.FullState()
	return state, err
}
