package run

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/rescue"
)

// slowTurn is how long a run may wait for its turn until its clients are told so.
const slowTurn = 100 * time.Millisecond

// waitShared returns when the ledger says that j may run.
func (m *Manager) waitShared(ctx context.Context, j *job) (func(), error) {
	if err := j.waitFor(ctx, j.life.turn, "Waiting for an earlier request to this conversation"); err != nil {
		return nil, err
	}
	if !j.share.own.Load() {
		return func() {}, nil
	}
	if j.follow == nil && !j.share.slot {
		if err := j.awaitTurn(ctx); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slots.occupy(j.req.Token)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.slots.release(j.req.Token)
	}, nil
}

// awaitTurn waits for the conversation and a slot.
func (j *job) awaitTurn(ctx context.Context) error {
	ready := make(chan struct{})
	var err error
	go func() {
		defer close(ready)
		err = rescue.Do(func() error { return j.m.cfg.Ledger.Turn(ctx, j.share.ticket) })
	}()
	timer := time.NewTimer(slowTurn)
	defer timer.Stop()
	select {
	case <-ready:
	case <-timer.C:
		what := "Waiting for a running agent to finish"
		if j.isBehind() {
			what = "Waiting for an earlier request to this conversation"
		}
		select {
		case <-j.life.queued:
		default:
			close(j.life.queued)
		}
		_ = j.waitFor(ctx, ready, what)
		<-ready // it ends with ctx
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return explained(err)
}

// isBehind reports whether another job of this gateway comes first in the conversation.
func (j *job) isBehind() bool {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	return j.m.place(j) > 0
}

// resume goes on with a run whose gateway is gone, from wherever that left it.
func (j *job) resume(conv agentapi.Conversation, res *turn.Result) error {
	s := j.share
	fenced, ok := conv.(loose)
	if s.about.Decided || !ok { // a decision is not sent again
		return j.rejoin(conv, res)
	}
	ctx, cancel := j.limited()
	defer cancel()
	in := turn.Input{Details: j.delivery.isDetailed, Spent: j.life.spend, Over: j.over(), Emit: j.emitNew}
	if conv = fenced; s.about.Message != nil {
		in.Message = s.about.Message.message()
	} else {
		conv = mute{fenced}
	}
	j.fence(&in)
	s.echo.again()
	if s.about.OneShot {
		if _, err := j.m.oneShots.add(j.id); err != nil {
			j.m.cfg.Logger.Warn("cannot note a conversation that is to be removed", "conversation_id", j.id, "err", err)
		}
	}
	var err error
	*res, err = turn.Resume(ctx, conv, j.follow.baseline, in)
	if errors.Is(err, turn.ErrNoTurn) {
		j.m.unattended.end(j.id)
		return ErrInterrupted
	}
	j.m.unattended.settle(j.id, err)
	cause := context.Cause(ctx)
	switch err = stoppedBy(cause, true, res.Outcome, err); {
	case err != nil && nothingStarted(err):
		return &earlyError{err}
	case err != nil:
		return err
	case res.Cause != nil && res.Cause.Kind == turn.CauseLost:
		return ErrInterrupted
	}
	return j.form(ctx, res)
}

// emitNew shows what was not shown before.
func (j *job) emitNew(u turn.Update) {
	if u, ok := j.share.echo.pass(u); ok {
		j.publish(u)
	}
}
