package run

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
	"github.com/ohgw/ohgw/daemon/run/sharing"
	"github.com/ohgw/ohgw/internal/rescue"
)

// slowTurn is how long a run may wait for its turn until its clients are told.
const slowTurn = 100 * time.Millisecond

// wait returns when the ledger says that j may run, with the function that gives its slot
// back.
func (p *peers) wait(ctx context.Context, j *job) (func(), error) {
	if err := j.waitFor(ctx, j.life.turn, "Waiting for an earlier request to this conversation"); err != nil {
		return nil, err
	}
	if !j.share.own.Load() {
		return func() {}, nil
	}
	if j.follow == nil && !j.share.slot {
		if err := j.share.awaitTurn(ctx, j); err != nil {
			return nil, err
		}
	}
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	p.running++
	return func() {
		p.m.mu.Lock()
		defer p.m.mu.Unlock()
		p.running--
	}, nil
}

// awaitTurn waits for the conversation and a slot.
func (s *share) awaitTurn(ctx context.Context, j *job) error {
	ready := make(chan struct{})
	var err error
	go func() {
		defer close(ready)
		err = rescue.Do(func() error { return s.p.ledger.Turn(ctx, s.ticket) })
	}()
	timer := time.NewTimer(slowTurn)
	defer timer.Stop()
	select {
	case <-ready:
	case <-timer.C:
		what := "Waiting for a running agent to finish"
		if s.p.isBehind(j) {
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
func (p *peers) isBehind(j *job) bool {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	return p.m.place(j) > 0
}

// sending notes in the ledger that the message is about to be sent.
func (s *share) sending(j *job, base turn.Baseline, msg agentapi.Message) error {
	if !s.about.Decided {
		s.about.Message = &sharing.Message{Text: msg.Text, Images: msg.Images}
	}
	data, err := s.about.Bytes()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(j.life.ctx, sharing.CallTime)
	defer cancel()
	if err := s.p.ledger.Sending(ctx, s.ticket, base, data, s.keyed); err != nil || s.keyed {
		return explained(err)
	}
	s.secure(j)
	return nil
}

// secure brings to the disk what a request without a key has noted, while its message is
// sent. Else a crash of the database would let the request that comes again begin a second
// run beside the first.
func (s *share) secure(j *job) {
	secured := make(chan struct{})
	s.secured = secured
	go func() {
		defer close(secured)
		s.insecure = rescue.Do(func() error {
			ctx, cancel := context.WithTimeout(j.life.ctx, sharing.CallTime)
			defer cancel()
			return s.p.ledger.Secure(ctx)
		})
	}()
}

// isSecure waits for the end of secure. A fence asks it before each attempt to start a run.
func (s *share) isSecure() error {
	if s.secured == nil {
		return nil
	}
	<-s.secured // it ends with the job
	return s.insecure
}

// fence lets a turn begin only where the run is still the job's.
func (s *share) fence(j *job, in *turn.Input) {
	in.Fence = func(ctx context.Context) error {
		err := s.p.ledger.Running(ctx, s.ticket)
		if err == nil {
			err = s.isSecure()
		}
		err = explained(err)
		s.release = s.release || err != nil // its message may be in the log
		return err
	}
	in.Started = func(ctx context.Context, interrupt func(context.Context) error) error {
		switch err := s.p.ledger.Started(ctx, s.ticket, interrupt); {
		case errors.Is(err, ledger.ErrFenced):
			return explained(err)
		case errors.Is(err, ledger.ErrStopped):
			j.life.halt(ErrStopped)
		} // where the ledger does not answer, the run goes on
		return nil
	}
}

// in returns the conversation as a job uses it whose run other gateways know.
func (s *share) in(j *job, conv agentapi.Conversation) agentapi.Conversation {
	if fenced, ok := conv.(agentapi.Fenced); ok {
		return loose{fenced, j}
	}
	return conv
}

// loose is a conversation whose run other gateways know. A run that is given to them is not
// interrupted.
type loose struct {
	agentapi.Fenced

	j *job
}

// Interrupt leaves the run alone that another gateway continues.
func (c loose) Interrupt(ctx context.Context) error {
	if errors.Is(context.Cause(c.j.life.ctx), ErrReleased) || !c.j.share.own.Load() {
		return ErrReleased
	}
	return c.Fenced.Interrupt(ctx)
}

// mute is one whose message no gateway knows any more.
type mute struct{ loose }

// Append refuses a message that is not the one of the run.
func (mute) Append(context.Context, agentapi.Message) error { return ErrInterrupted }

// resume continues a run whose gateway is gone, from wherever that left it.
func (s *share) resume(j *job, conv agentapi.Conversation, res *turn.Result) error {
	fenced, ok := conv.(loose)
	if s.about.Decided || !ok { // a decision is not sent again
		return j.rejoin(conv, res)
	}
	ctx, cancel := j.limited()
	defer cancel()
	in := turn.Input{Details: j.delivery.isDetailed, Spent: j.life.spend, Emit: func(u turn.Update) { s.emitNew(j, u) }}
	if conv = fenced; s.about.Message != nil {
		in.Message = s.about.Message.Whole()
	} else {
		conv = mute{fenced}
	}
	s.fence(j, &in)
	s.echo.Again()
	if s.about.OneShot {
		if _, err := j.m.oneShots.Add(j.id); err != nil {
			j.m.cfg.Logger.Warn("cannot note a conversation that is to be removed", "conversation_id", j.id, "err", err)
		}
	}
	if b := j.req.Budget; b != nil {
		b.Resume(j.id)
	}
	var err error
	*res, err = turn.Resume(ctx, conv, j.follow.baseline, in)
	return j.resumed(ctx, res, err)
}

// resumed returns the error of a turn that was resumed and is over.
func (j *job) resumed(ctx context.Context, res *turn.Result, err error) error {
	if errors.Is(err, turn.ErrNoTurn) {
		j.m.unattended.end(j.id)
		return ErrInterrupted
	}
	j.m.unattended.settle(j.id, err)
	switch err = stoppedBy(context.Cause(ctx), true, res.Outcome, err); {
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
func (s *share) emitNew(j *job, u turn.Update) {
	if u, ok := s.echo.Pass(u); ok {
		j.publish(u)
	}
}
