package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/toll"
	"github.com/ohgw/ohgw/internal/rescue"
)

// drive runs the turn.
func (j *job) drive(conv agentapi.Conversation, res *turn.Result) error {
	ctx, cancel := j.limited()
	defer cancel()
	ctx, bill := toll.Begin(ctx, j.req.Budget, j.m.cfg.InProcess, func(line string) { j.publish(turn.Update{Kind: turn.Progress, Text: line}) })
	defer bill.Close()
	started := false
	in := j.input(ctx, conv, bill, &started)
	err := turn.RunInto(ctx, conv, in, res)
	return j.driven(ctx, res, started, err)
}

// limited returns the job's context with the time that its run may take.
func (j *job) limited() (context.Context, context.CancelFunc) {
	limit := j.req.Timeout
	if limit == 0 {
		limit = j.m.cfg.RunTimeout
	}
	if limit <= 0 {
		return j.life.ctx, func() {}
	}
	return context.WithTimeoutCause(j.life.ctx, limit, &TimeoutError{After: limit})
}

// input returns what the turn begins with, and what it reports to. It sets started when the
// message is about to be sent.
func (j *job) input(ctx context.Context, conv agentapi.Conversation, bill *toll.Toll, started *bool) *turn.Input {
	msg, decision := j.words(conv.Info(), bill.Meter())
	in := &turn.Input{
		Message:  msg,
		Goal:     j.req.Goal,
		Decision: decision,
		Emit:     j.publish,
		Details:  j.delivery.isDetailed,
		Spent: func(u turn.Usage) {
			j.life.spend(u.Plus(j.req.Chosen)) // whoever chose has paid for that
			bill.Saw(u)
		},
		Busy: func() bool { return j.busy(ctx, conv) },
		Ready: func(b turn.Baseline) error {
			if err := j.ready(b, msg); err != nil {
				return err
			}
			*started, j.began = true, true
			return nil
		},
	}
	if j.share != nil {
		j.share.fence(j, in)
	}
	return in
}

// driven returns the error of a turn that is over, and adds to its result what the turn does
// not know.
func (j *job) driven(ctx context.Context, res *turn.Result, started bool, err error) error {
	if started {
		res.Usage = res.Usage.Plus(j.req.Chosen)
		j.m.unattended.settle(j.id, err)
		started = !isUnsent(err)
	}
	if cause := context.Cause(ctx); err != nil && !started && cause != nil {
		err = cause // it ended while it waited for another run
	}
	if err == nil {
		toll.Settle(context.Cause(ctx), res)
	}
	err = stoppedBy(context.Cause(ctx), started, res.Outcome, err)
	if err != nil && (!started || nothingStarted(err)) {
		j.began = false
		return &earlyError{err}
	}
	if err != nil {
		return err
	}
	return j.form(ctx, res)
}

// words returns what the turn begins with, for a run that a meter limits; nil: none does.
func (j *job) words(info agentapi.Info, meter agentapi.Meter) (agentapi.Message, *agentapi.Decision) {
	msg, decision := j.req.Message, j.req.Decision
	msg.Meter = meter
	if decision != nil {
		decision = &agentapi.Decision{Accept: decision.Accept, Reason: decision.Reason, Meter: meter}
	}
	switch {
	case j.composer() != nil:
		msg.Text = j.prefix + msg.Text
	case info.Created && !j.forked:
		msg.Text = j.req.Quoted + msg.Text
	}
	msg.Text = j.said + msg.Text
	return msg, decision
}

// ready notes everywhere that the message is about to be sent.
func (j *job) ready(b turn.Baseline, msg agentapi.Message) error {
	if err := j.life.send(); err != nil {
		return err
	}
	if err := j.req.Budget.Begin(j.id, b.Usage); err != nil {
		return err
	}
	if err := j.noteBegin(b, msg); err != nil {
		return err
	}
	if j.req.Observer != nil {
		if err := j.req.Observer.Begin(b); err != nil {
			return fmt.Errorf("%w: %w", ErrRecord, err)
		}
	}
	if j.earlier != nil {
		if err := j.earlier.Begin(); err != nil {
			return fmt.Errorf("%w: %w", ErrRecord, err)
		}
	}
	if j.req.Chat != nil {
		j.req.Chat.Begin(b)
	}
	j.m.unattended.begin(j, b)
	return nil
}

// noteBegin notes the run where it is looked for when its key comes again.
func (j *job) noteBegin(b turn.Baseline, msg agentapi.Message) error {
	if j.share != nil {
		return j.share.sending(j, b, msg)
	}
	return j.m.records.begin(j, b)
}

// isUnsent reports whether err is that of a turn which was stopped after it was
// noted, and before it sent anything.
func isUnsent(err error) bool {
	return errors.Is(err, context.Canceled) && !errors.Is(err, agentapi.ErrLost)
}

// nothingStarted reports whether err says that the agent did not begin.
func nothingStarted(err error) bool {
	for _, kind := range []error{
		agentapi.ErrUnavailable, agentapi.ErrRefused, agentapi.ErrBusy, agentapi.ErrUnauthorized,
		agentapi.ErrUnsupported, agentapi.ErrProfileNotFound, agentapi.ErrConversationNotFound, agentapi.ErrSandbox, agentapi.ErrTooLong,
		ErrLedger, ErrTakenOver,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// form gives the answer of a turn the form that its request asks for. The agent's
// own answer stays in its conversation. What ends a run ends this, too; its
// result then has no answer in the form.
func (j *job) form(ctx context.Context, res *turn.Result) error {
	if j.req.Form == nil || res.Outcome != turn.Finished {
		return nil
	}
	err := rescue.Do(func() error { return j.req.Form(ctx, res, j.publish) })
	if cause := context.Cause(ctx); err != nil && cause != nil {
		res.Outcome = turn.Interrupted
		toll.Settle(cause, res)
		return stoppedBy(cause, true, res.Outcome, nil)
	}
	return err
}
