package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/rescue"
)

// stopWait is how long a run of an earlier process may take to end once it was
// interrupted.
const stopWait = 10 * time.Second

var errNotStopped = &agentapi.Error{Kind: agentapi.ErrLost, Msg: "The agent did not stop when it was interrupted; it may still be running."}

// rejoin follows the turn that an earlier process started. What stops a run of
// ours stops it, too: its clients know no difference.
func (j *job) rejoin(conv agentapi.Conversation, res *turn.Result) error {
	if b := j.req.Budget; b != nil {
		b.Resume(j.id)
	}
	// The run outlives j.life.ctx by the time it takes to interrupt it.
	life, end := context.WithCancelCause(context.WithoutCancel(j.life.ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-life.Done():
		case <-j.life.ctx.Done():
			if errors.Is(context.Cause(j.life.ctx), ErrReleased) { // another gateway has it
				end(ErrReleased)
				return
			}
			interrupt(life, end, conv)
		}
	})
	var err error
	*res, err = turn.Follow(life, conv, j.follow.baseline, j.publish, j.delivery.isDetailed)
	if cause := context.Cause(life); err != nil && cause != nil {
		err = cause
	}
	end(nil)
	wg.Wait()
	if errors.Is(err, turn.ErrNoTurn) {
		j.m.unattended.end(j.id)
	} else {
		j.m.unattended.settle(j.id, err)
	}
	lost := res.Cause != nil && res.Cause.Kind == turn.CauseLost
	if errors.Is(err, turn.ErrNoTurn) || (err == nil && lost) {
		return ErrInterrupted
	}
	if err = stoppedBy(context.Cause(j.life.ctx), true, res.Outcome, err); err != nil {
		return err
	}
	return j.form(j.life.ctx, res)
}

// interrupt stops the run and waits until life has ended, which it ends itself
// if the agent does not obey.
func interrupt(life context.Context, end context.CancelCauseFunc, conv agentapi.Conversation) {
	timer := time.AfterFunc(stopWait, func() { end(errNotStopped) })
	defer timer.Stop()
	if err := rescue.Do(func() error { return conv.Interrupt(life) }); err != nil && life.Err() == nil {
		end(&agentapi.Error{Kind: agentapi.ErrLost, Msg: errNotStopped.Msg, Err: err})
		return
	}
	<-life.Done()
}

// stoppedBy returns err as it is for a run whose context ended for a cause, nil
// without one. An interrupt that the agent obeyed ends in a result; who asked for it
// says what the result means.
func stoppedBy(cause error, started bool, outcome turn.Outcome, err error) error {
	if cause == nil || err == nil && outcome != turn.Interrupted {
		return err
	}
	switch stopped := errors.Is(cause, ErrStopped); {
	case errors.Is(cause, ErrReleased): // the run was left alone
		return cause
	case stopped && err == nil: // as was asked for: an answer
	case started != stopped && !errors.Is(err, agentapi.ErrLost):
		return cause
	}
	return err
}

// Past is a turn that an earlier process started and did not see the end of.
type Past struct {
	Conversation string
	Answer       string    // as of [Attachment.AnswerID]
	Created      time.Time // of the answer
	Base         turn.Baseline
}

// Rejoin follows a turn of an earlier process to its end, for a request that has
// no more than a token, a profile and an observer. The caller must Close the
// attachment. A turn whose run is gone ends with ErrInterrupted.
func (m *Manager) Rejoin(req Request, p Past) (*Attachment, error) {
	if m.peers != nil {
		if a, err := m.peers.rejoin(req, p); !errors.Is(err, errInLog) {
			return a, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.draining {
		return nil, ErrDraining
	}
	req.ConversationID, req.Detach = p.Conversation, true
	j := m.newJob(req, &record{readable: true, conversation: p.Conversation, answer: p.Answer, created: p.Created, baseline: p.Base, started: p.Created}, nil)
	a := j.attach(nil)
	m.start(j)
	return a, nil
}

// IsBusy reports whether a job of this conversation is queued or runs, at any gateway. Where
// that cannot be known, it may.
func (m *Manager) IsBusy(conversation string) bool {
	m.mu.Lock()
	q := m.queues[conversation]
	busy := q != nil && len(q.jobs) > 0
	m.mu.Unlock()
	return busy || m.peers.isBusy(conversation)
}
