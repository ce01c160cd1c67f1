package ledgertest

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// Turn implements ledger.Ledger.
func (r *Replica) Turn(ctx context.Context, t ledger.Ticket) (err error) {
	if err := r.enter(ctx, "turn"); err != nil {
		return err
	}
	waited := r.s.wait(ctx, func() bool {
		r.s.admit()
		var e *entry
		switch e, err = r.own(t); {
		case err != nil:
			return true
		case e.stop != "":
			err = ledger.ErrStopped
			return true
		}
		return e.slot
	})
	if waited != nil {
		return waited
	}
	return err
}

// Sending implements ledger.Ledger.
func (r *Replica) Sending(ctx context.Context, t ledger.Ticket, base turn.Baseline, request []byte, _ bool) error {
	if err := r.enter(ctx, "sending"); err != nil {
		return err
	}
	conversation, err := r.conversation(t)
	if err != nil {
		return err
	}
	unlock, err := r.s.lock(ctx, conversation) // of a late run that is being stopped
	if err != nil {
		return err
	}
	defer unlock()
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	e, err := r.own(t)
	switch {
	case err != nil:
		return err
	case e.stop != "":
		return ledger.ErrStopped
	case e.phase != ledger.Queued || !e.slot || r.s.isBehind(e) || r.s.isDead(r.id):
		return ledger.ErrFenced
	}
	e.phase, e.baseline = ledger.Sending, base
	if request != nil {
		e.request = request
	}
	r.s.wake()
	return nil
}

// conversation is that of a run of the caller's.
func (r *Replica) conversation(t ledger.Ticket) (string, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	e, err := r.own(t)
	if err != nil {
		return "", err
	}
	return e.claim.Conversation, nil
}

// Secure implements ledger.Ledger.
func (r *Replica) Secure(ctx context.Context) error { return r.enter(ctx, "secure") }

// Running implements ledger.Ledger.
func (r *Replica) Running(ctx context.Context, t ledger.Ticket) error {
	if err := r.enter(ctx, "running"); err != nil {
		return err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	e, err := r.own(t)
	if err != nil {
		return err
	}
	if e.phase == ledger.Queued || r.s.isDead(r.id) {
		return ledger.ErrFenced
	}
	e.phase = ledger.Running
	r.s.wake()
	return nil
}

// Started implements ledger.Ledger.
func (r *Replica) Started(ctx context.Context, t ledger.Ticket, interrupt func(context.Context) error) error {
	if err := r.enter(ctx, "started"); err != nil {
		return err
	}
	r.s.mu.Lock()
	e := r.s.run(t.Run)
	var conversation string
	own, stopped := false, false
	if e != nil {
		conversation, own, stopped = e.claim.Conversation, e.Epoch == t.Epoch && e.phase < ledger.Ended, e.stop != ""
	}
	r.s.mu.Unlock()
	switch {
	case e == nil: // it was lost with the last commits: no other gateway knows of it
		return nil
	case own && stopped:
		return ledger.ErrStopped
	case own:
		return nil
	}
	err := r.s.wait(ctx, func() bool {
		e := r.s.run(t.Run)
		return e == nil || e.phase == ledger.Ended
	})
	if err == nil {
		err = r.alone(ctx, conversation, t.Run, interrupt)
	}
	if err != nil {
		return errors.Join(ledger.ErrFenced, err)
	}
	return ledger.ErrFenced
}

// alone calls interrupt if no run of the conversation other than this one was sent, and
// keeps a next one from beginning meanwhile.
func (r *Replica) alone(ctx context.Context, conversation string, run int64, interrupt func(context.Context) error) error {
	unlock, err := r.s.lock(ctx, conversation)
	if err != nil {
		return err
	}
	defer unlock()
	r.s.mu.Lock()
	busy := false
	for _, e := range r.s.runs {
		busy = busy || e.claim.Conversation == conversation && e.Run != run && (e.phase == ledger.Sending || e.phase == ledger.Running)
	}
	r.s.mu.Unlock()
	if busy {
		return nil
	}
	return interrupt(ctx)
}

// Spends implements ledger.Ledger.
func (r *Replica) Spends(ctx context.Context, _ ledger.Ticket, _ turn.Usage) error {
	return r.enter(ctx, "spends")
}
