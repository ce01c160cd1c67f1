package conversation

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// shortening is a condensation that a person asks for.
type shortening struct {
	ctx  context.Context
	done chan shortened // of one place
}

type shortened struct {
	condensed agentapi.Condensed
	err       error
}

func (s *shortening) answer(done agentapi.Condensed, err error) { s.done <- shortened{done, err} }

// Condense summarizes what was before the user's newest message and before the
// answer to it. With the end of ctx it is given up.
func (c *Conversation) Condense(ctx context.Context) (agentapi.Condensed, error) {
	s := &shortening{ctx: ctx, done: make(chan shortened, 1)}
	err := c.door.try(ctx, func() error {
		if c.branch.dir.State.Status == event.Running || c.door.wanted || len(c.door.inbox) > 0 {
			return &agentapi.Error{Kind: agentapi.ErrBusy, Msg: "The conversation is running; it can be summarized when that is done."}
		}
		c.door.queueShortening(s)
		return nil
	})
	if err != nil {
		return agentapi.Condensed{}, err
	}
	select {
	case d := <-s.done:
		return d.condensed, d.err
	case <-ctx.Done():
		return agentapi.Condensed{}, ctx.Err()
	}
}

// takeShortening starts the next condensation that the user asked for. It is not a run:
// the status stays as it is.
func (c *Conversation) takeShortening() {
	s := c.door.nextShortening()
	var condensed agentapi.Condensed
	err := s.ctx.Err()
	if err == nil {
		condensed, err = c.run.shorten(s.ctx)
	}
	s.answer(condensed, err)
}

// shorten summarizes what was before the newest message.
func (r *run) shorten(ctx context.Context) (agentapi.Condensed, error) {
	r.beginWork()
	none := agentapi.Condensed{}
	if len(r.branch.open) > 0 {
		return none, &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "Actions of this conversation wait for a decision; accept or reject them first."}
	}
	cut, ok := condenser.Earlier(r.branch.view)
	if !ok {
		return none, nil
	}
	was, before, weight := r.branch.stats.Calls(), r.agent.promptTokens(), r.agent.weight()
	space := room{}
	if r.branch.model != nil {
		space = r.measure()
	}
	_, err := r.summarize(ctx, cut, condenser.Preview, space)
	if isTooLong(err) && r.phase != stopping {
		err = r.reset(ctx, cut, space)
	}
	if r.door.lost != nil {
		return none, r.door.closed()
	}
	err = errors.Join(err, r.branch.updateStats(was), r.branch.save(lazily))
	r.branch.publishState()
	switch {
	case ctx.Err() != nil:
		return none, ctx.Err()
	case r.phase == stopping:
		return none, r.door.closed()
	case err != nil:
		return none, shorteningError(err)
	}
	done := agentapi.Condensed{Done: true, Before: before}
	if weight > 0 {
		done.After = int64(float64(before) * float64(r.agent.weight()) / float64(weight))
	}
	return done, nil
}

// shorteningError says why there is no summary.
func shorteningError(err error) error {
	if _, ok := errors.AsType[*agentapi.Error](err); ok {
		return err
	}
	why := "the answer of the LLM cannot be used"
	if errors.Is(err, errUnusable) {
		why = err.Error()
	}
	if errors.Is(err, errStorage) {
		why = "the summary cannot be written to the disk of ohgw serve"
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		why = e.Detail
	}
	return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The conversation was not summarized: " + why, Err: err, InProcess: true}
}
