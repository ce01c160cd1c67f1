package run

import (
	"container/heap"
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
)

const (
	// removeTimeout bounds one removal. An agent-server answers after the step
	// that is running.
	removeTimeout = 30 * time.Second
	// maxRemovals is how many removals go on at the same time: they share the
	// disk, or the agent-server, with the requests of clients.
	maxRemovals = 4
	// A removal that failed is tried again after removeAgain, then after twice
	// that and so on, up to removeMost. While the backend cannot be reached at
	// all, nothing is removed for as long, up to restMost.
	removeAgain = time.Minute
	removeMost  = 24 * time.Hour
	restMost    = time.Hour
	// maxTries is after how many failures a one-shot of all gateways is kept: with the pauses
	// between them after about giveUp.
	maxTries = 40
	// busyAgain is when a one-shot is looked at again that is in use.
	busyAgain = 10 * time.Second
	// lookAgain is the longest time between two looks at the clock: a timer that
	// was set while the clock was wrong does not count for longer.
	lookAgain = time.Minute
)

// expiries are one-shots by the time they are due, the next one first.
type expiries []*oneShot

func (q expiries) Len() int           { return len(q) }
func (q expiries) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q expiries) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i+1, j+1
}

// Push implements heap.Interface.
func (q *expiries) Push(x any) {
	s := x.(*oneShot)
	s.place = len(*q) + 1
	*q = append(*q, s)
}

// Pop implements heap.Interface.
func (q *expiries) Pop() any {
	last := len(*q) - 1
	s := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	s.place = 0
	return s
}

func (q *expiries) remove(s *oneShot) {
	if s.place > 0 {
		heap.Remove(q, s.place-1)
	}
}

// push lets s be removed when its time has come. The caller holds o.mu.
func (o *oneShots) push(s *oneShot, due time.Time) {
	o.queue.remove(s)
	s.due = due
	heap.Push(&o.queue, s)
	if o.queue[0] == s {
		o.wake()
	}
}

// wake starts a worker for each one-shot that is due, as far as there may be
// more, and comes back for the next. The caller holds o.mu.
func (o *oneShots) wake() {
	for o.workers < maxRemovals {
		s := o.next()
		if s == nil {
			o.arm()
			return
		}
		o.workers++
		o.wg.Go(func() { o.work(s) })
	} // the workers look for more
}

// next takes a one-shot that is due. The caller holds o.mu.
func (o *oneShots) next() *oneShot {
	now := o.cfg.Now()
	if o.closed || len(o.queue) == 0 || now.Before(o.paused) || now.Before(o.queue[0].due) {
		return nil
	}
	return heap.Pop(&o.queue).(*oneShot)
}

// arm sets the timer for what is due next, and for lookAgain at most. The
// caller holds o.mu.
func (o *oneShots) arm() {
	if o.closed || len(o.queue) == 0 {
		return
	}
	at := o.queue[0].due
	if at.Before(o.paused) {
		at = o.paused
	}
	wait := min(max(0, at.Sub(o.cfg.Now())), lookAgain)
	if o.timer != nil {
		o.timer.Reset(wait)
		return
	}
	o.timer = time.AfterFunc(wait, func() {
		o.cfg.guard("", func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.wake()
		})
	})
}

// work removes s and what else is due.
func (o *oneShots) work(s *oneShot) {
	for s != nil {
		o.cfg.guard(s.id, func() { o.expire(s) })
		o.mu.Lock()
		if s = o.next(); s == nil {
			o.workers--
			o.arm()
		}
		o.mu.Unlock()
	}
}

// expire removes the conversation of s, unless it is in use.
func (o *oneShots) expire(s *oneShot) {
	release, ok := o.clear(s.id)
	if !ok {
		o.again(s, busyAgain)
		return
	}
	defer release() // after it was struck out: who comes next makes it again, and keeps it
	o.mu.Lock()
	known := o.shots[s.id] == s && s.place == 0
	o.mu.Unlock()
	if !known {
		return // kept at the last moment, or its time began again
	}
	ctx, cancel := context.WithTimeout(o.life, removeTimeout)
	defer cancel()
	err := o.remove(ctx, s.id)
	switch {
	case err == nil:
		o.resume()
		if o.drop(s) {
			o.gone(s.id)
		}
	case o.life.Err() != nil: // for the next gateway
	case errors.Is(err, agentapi.ErrUnavailable) || errors.Is(err, agentapi.ErrUnauthorized):
		if wait := o.rest(); wait > 0 {
			o.cfg.Logger.Warn("one-shot conversations are not removed; the backend does not answer", "err", err, "again_in", wait.String())
		}
		o.again(s, 0)
	case o.cfg.Now().Sub(s.ends) > giveUp:
		o.cfg.Logger.Warn("one-shot conversation is kept; it cannot be removed", "conversation_id", s.id, "err", err)
		if o.drop(s) {
			o.gone(s.id)
		}
	default:
		wait := backoff(s.tries)
		s.tries++
		o.cfg.Logger.Warn("cannot remove one-shot conversation; trying again later", "conversation_id", s.id, "err", err, "again_in", wait.String())
		o.again(s, wait)
	}
}

// expire removes a one-shot of all gateways. Where that fails it returns when it is tried
// again; away reports that the backend does not answer.
func (v vacancy) expire(ctx context.Context, id string, tries int) (again time.Duration, away bool) {
	release, ok := v.m.clear(id)
	if !ok {
		return busyAgain, false
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	err := v.m.removeConversation(ctx, id)
	switch {
	case err == nil:
		return 0, false
	case errors.Is(err, agentapi.ErrUnavailable) || errors.Is(err, agentapi.ErrUnauthorized):
		v.m.cfg.Logger.Warn("one-shot conversations are not removed; the backend does not answer", "err", err)
		return removeAgain, true
	case tries >= maxTries:
		v.m.cfg.Logger.Warn("one-shot conversation is kept; it cannot be removed", "conversation_id", id, "err", err)
		return 0, false
	}
	again = backoff(tries)
	v.m.cfg.Logger.Warn("cannot remove one-shot conversation; trying again later", "conversation_id", id, "err", err, "again_in", again.String())
	return again, false
}

// again lets s be tried after a while.
func (o *oneShots) again(s *oneShot, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shots[s.id] == s {
		o.push(s, o.cfg.Now().Add(wait))
	}
}

// rest stops all removals for a while, longer each time, and reports for how
// long; 0 if they rest already.
func (o *oneShots) rest() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.cfg.Now()
	if now.Before(o.paused) {
		return 0
	}
	o.pause = min(max(removeAgain, 2*o.pause), restMost)
	o.paused = now.Add(o.pause)
	return o.pause
}

// resume says that the backend can be asked.
func (o *oneShots) resume() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pause = 0
}

func backoff(tries int) time.Duration {
	return min(removeAgain<<min(tries, 16), removeMost)
}
