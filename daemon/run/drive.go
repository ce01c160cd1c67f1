package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// drive runs the turn.
func (j *job) drive(conv agentapi.Conversation, res *turn.Result) error {
	ctx, cancel := j.limited()
	defer cancel()
	started := false
	msg := j.message(conv)
	in := turn.Input{
		Message:  msg,
		Decision: j.req.Decision,
		Emit:     j.publish,
		Details:  j.delivery.isDetailed,
		Spent:    j.life.spend,
		Over:     j.over(),
		Busy:     j.busy,
		Ready: func(b turn.Baseline) error {
			if err := j.ready(b, msg); err != nil {
				return err
			}
			started, j.began = true, true
			return nil
		},
	}
	j.fence(&in)
	var err error
	*res, err = turn.Run(ctx, conv, in)
	if started {
		j.m.unattended.settle(j.id, err)
		started = !isUnsent(err)
	}
	if cause := context.Cause(ctx); err != nil && !started && cause != nil {
		err = cause // it ended while it waited for another run
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

// limited is the job's context with the time that its run may take.
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

// message is what is sent.
func (j *job) message(conv agentapi.Conversation) agentapi.Message {
	msg := j.req.Message
	switch {
	case j.composer() != nil:
		msg.Text = j.prefix + msg.Text
	case (conv.Info().Created || j.oneShot()) && !j.forked:
		msg.Text = j.req.Quoted + msg.Text
	}
	msg.Text = j.said + msg.Text
	if j.req.Limit != nil {
		msg.Limit = j.req.Limit()
	}
	return msg
}

// ready notes everywhere that the message is about to be sent.
func (j *job) ready(b turn.Baseline, msg agentapi.Message) error {
	if j.req.Admit != nil {
		if err := j.req.Admit(); err != nil {
			return err
		}
	}
	if err := j.life.send(); err != nil {
		return err
	}
	if err := j.noteBegin(b, msg); err != nil {
		return err
	}
	if o := j.observer(); o != nil {
		if err := o.Begin(b); err != nil {
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
	j.m.unattended.begin(j)
	return nil
}

// noteBegin notes the run where it is looked for when its key comes again.
func (j *job) noteBegin(b turn.Baseline, msg agentapi.Message) error {
	if j.share != nil {
		return j.sending(b, msg)
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
		agentapi.ErrUnsupported, agentapi.ErrProfileNotFound, agentapi.ErrConversationNotFound, agentapi.ErrSandbox,
		ErrLedger, ErrTakenOver,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
