package ledgertest

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// change calls f with a run of the caller's that is not over.
func (r *Replica) change(ctx context.Context, call string, t ledger.Ticket, f func(*entry)) error {
	if err := r.enter(ctx, call); err != nil {
		return err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	e, err := r.own(t)
	if err != nil {
		return err
	}
	f(e)
	r.s.wake()
	return r.lost(call)
}

// End implements ledger.Ledger.
func (r *Replica) End(ctx context.Context, t ledger.Ticket, end ledger.Ending) error {
	return r.change(ctx, "end", t, func(e *entry) {
		if end.Stop == "" {
			end.Stop = e.stop
		}
		e.phase, e.slot, e.request, e.ending, e.stop = ledger.Ended, false, nil, end, end.Stop
		e.past.EndedAt = r.s.now()
	})
}

// Drop implements ledger.Ledger.
func (r *Replica) Drop(ctx context.Context, t ledger.Ticket) error {
	return r.change(ctx, "drop", t, func(e *entry) {
		r.s.forget(func(other *entry) bool { return other == e })
	})
}

// Release implements ledger.Ledger.
func (r *Replica) Release(ctx context.Context, t ledger.Ticket) error {
	return r.change(ctx, "release", t, func(e *entry) { e.owner = 0 })
}

// edit calls f with a run, if there is one.
func (r *Replica) edit(ctx context.Context, call string, run int64, f func(*entry)) error {
	if err := r.enter(ctx, call); err != nil {
		return err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if e := r.s.run(run); e != nil {
		f(e)
	}
	r.s.wake()
	return nil
}

// Left implements ledger.Ledger.
func (r *Replica) Left(ctx context.Context, run int64, back bool) error {
	return r.edit(ctx, "left", run, func(e *entry) {
		if e.past.Owed++; back {
			e.past.Owed -= 2
		}
	})
}

// Delivered implements ledger.Ledger.
func (r *Replica) Delivered(ctx context.Context, run int64) error {
	return r.edit(ctx, "delivered", run, func(e *entry) {
		e.past.DeliveredAt = r.s.now()
		if e.past.Deliveries++; e.past.Deliveries == 1 {
			e.past.FirstAt = e.past.DeliveredAt
		}
	})
}

// Watch implements ledger.Ledger.
func (r *Replica) Watch(ctx context.Context, run int64, n int) error {
	return r.edit(ctx, "watch", run, func(e *entry) { e.watchers[r.id] += n })
}

// Watched implements ledger.Ledger.
func (r *Replica) Watched(ctx context.Context, run int64) (watched bool, err error) {
	err = r.edit(ctx, "watched", run, func(e *entry) {
		for id, n := range e.watchers {
			watched = watched || id != r.id && n > 0 && !r.s.isDead(id)
		}
	})
	return watched, err
}

// Stop implements ledger.Ledger.
func (r *Replica) Stop(ctx context.Context, token, conversation string, key []byte, interrupt func(context.Context) error) (n int, err error) {
	if err := r.enter(ctx, "stop"); err != nil {
		return 0, err
	}
	sent := r.mark(func(e *entry) bool {
		is := e.claim.Conversation == conversation && (token == "" || e.claim.Token == token) && (len(key) == 0 || string(e.claim.Key) == string(key))
		if is {
			n++
		}
		return is
	})
	for _, run := range sent {
		err = errors.Join(err, r.interrupt(ctx, conversation, run, interrupt))
	}
	return n, err
}

// StopRun implements ledger.Ledger.
func (r *Replica) StopRun(ctx context.Context, run int64, interrupt func(context.Context) error) (stopped bool, err error) {
	if err := r.enter(ctx, "stop"); err != nil {
		return false, err
	}
	conversation := ""
	sent := r.mark(func(e *entry) bool {
		if e.Run != run {
			return false
		}
		stopped, conversation = true, e.claim.Conversation
		return true
	})
	if len(sent) > 0 {
		err = r.interrupt(ctx, conversation, run, interrupt)
	}
	return stopped, err
}

// mark stops runs, and returns those of them that were sent.
func (r *Replica) mark(is func(*entry) bool) (sent []int64) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for _, e := range r.s.runs {
		if e.phase == ledger.Ended || e.stop != "" || !is(e) {
			continue
		}
		if e.stop = "user"; e.phase != ledger.Queued {
			sent = append(sent, e.Run)
		}
	}
	r.s.wake()
	return sent
}

// interrupt calls interrupt if a run goes on, and keeps the next one of the conversation
// from beginning meanwhile.
func (r *Replica) interrupt(ctx context.Context, conversation string, run int64, interrupt func(context.Context) error) error {
	unlock, err := r.s.lock(ctx, conversation)
	if err != nil {
		return err
	}
	defer unlock()
	r.s.mu.Lock()
	e := r.s.run(run)
	goes := e != nil && (e.phase == ledger.Sending || e.phase == ledger.Running)
	r.s.mu.Unlock()
	if !goes {
		return nil
	}
	return interrupt(ctx)
}
