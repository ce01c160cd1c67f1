package run

import (
	"context"
	"slices"

	"github.com/ohgw/ohgw/agentapi/turn"
)

// conversationQueue is the jobs of one conversation in the order of their requests; the
// first one has the conversation. The manager's mutex guards it.
type conversationQueue struct {
	jobs []*job
	// cleared: the conversation is being removed or summarized, and the jobs wait for that.
	cleared bool
}

// busy reports whether a job has not ended. One that has may still be in the
// queue for a moment, before its clients know the end.
func (l *conversationQueue) busy() bool {
	return slices.ContainsFunc(l.jobs, func(j *job) bool { return !j.life.hasEnded() })
}

// leave ends the jobs of a token that run on without a client, and returns
// those that end: these, and what was stopped before.
func (l *conversationQueue) leave(token string) []*job {
	var left []*job
	for _, j := range l.jobs {
		if j.req.Token != token {
			continue
		}
		j.supersede()
		if j.life.isEnding() {
			left = append(left, j)
		}
	}
	return left
}

// awaited reports whether a request of the same token waits for j, in its queue or
// in the place of it. The caller holds m.mu.
func (m *Manager) awaited(j *job) bool {
	for id, l := range m.queues {
		at := slices.Index(l.jobs, j)
		for _, other := range l.jobs[at+1:] {
			if other.req.Token == j.req.Token && (id == j.id && at >= 0 || other.req.Origin == j.id) && other.isWanted() {
				return true
			}
		}
	}
	return false
}

// enter puts j into its queue, and into the line for a slot if that queue is
// free. It reports whether j waits in the queue.
func (m *Manager) enter(j *job) (waits bool) {
	l := m.queues[j.id]
	if l == nil {
		l = &conversationQueue{}
		m.queues[j.id] = l
	}
	l.jobs = append(l.jobs, j)
	switch {
	case l.cleared:
		return true
	case m.peers != nil: // the ledger says who is first
		close(j.life.turn)
		return false
	case len(l.jobs) > 1:
		return true
	}
	m.head(j)
	return false
}

// head lets j, the first of its queue, go on.
func (m *Manager) head(j *job) {
	if j.follow == nil { // the run of a follower has a slot of another life
		j.life.slot = m.slots.Acquire(j.req.Token)
	}
	close(j.life.turn)
}

// leave takes j out of its queue and lets the next one go on.
func (m *Manager) leave(j *job) {
	l := m.queues[j.id]
	if l == nil { // a replay, which needs none
		return
	}
	for i, other := range l.jobs {
		if other != j {
			continue
		}
		l.jobs = append(l.jobs[:i], l.jobs[i+1:]...)
		if i == 0 && len(l.jobs) > 0 && !l.cleared && m.peers == nil {
			m.head(l.jobs[0])
		}
		break
	}
	if len(l.jobs) == 0 && !l.cleared {
		delete(m.queues, j.id)
	}
}

// clear takes the queue of a conversation that is to be removed or summarized, if
// no job has it. Jobs that come meanwhile wait for release.
func (m *Manager) clear(id string) (release func(), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.queues[id] != nil {
		return nil, false
	}
	l := &conversationQueue{cleared: true}
	m.queues[id] = l
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		l.cleared = false
		if len(l.jobs) == 0 {
			delete(m.queues, id)
			return
		}
		if m.peers == nil {
			m.head(l.jobs[0])
			return
		}
		for _, j := range l.jobs {
			close(j.life.turn)
		}
	}, true
}

// place is how many jobs must end before j may run: those before it in its
// queue, and those before its first job that wait for a slot, one more
// for the slot itself. The caller holds m.mu.
func (m *Manager) place(j *job) int {
	l := m.queues[j.id]
	if l == nil {
		return 0
	}
	n := slices.Index(l.jobs, j)
	if n < 0 {
		return 0 // it has ended
	}
	if head := l.jobs[0]; head.life.slot != nil {
		n += m.slots.Place(head.life.slot)
	}
	return n
}

// wait returns when j may run, with the function that gives its slot back.
func (m *Manager) wait(ctx context.Context, j *job) (func(), error) {
	if j.share != nil {
		return m.peers.wait(ctx, j)
	}
	if err := j.waitFor(ctx, j.life.turn, "Waiting for an earlier request to this conversation"); err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		select {
		case <-j.life.turn: // it came at the last moment
			m.giveBack(j)
		default: // and never comes: a slot that j gets from now on would never be given back
			m.leave(j)
		}
		return nil, err
	}
	if j.life.slot != nil {
		if err := j.waitFor(ctx, j.life.slot, "Waiting for a running agent to finish"); err != nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.giveBack(j)
			return nil, err
		}
	}
	release := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.giveBack(j)
	}
	// The run that made room may have ended because everything does.
	if err := context.Cause(m.life); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// isFull reports whether there is no place for another job of the token. Where
// all places are taken, a token that has less than an equal share of them gets
// one all the same: one token cannot take the places of others. With n tokens
// there are so at most 1 + 1/2 + … + 1/n times as many jobs as places. The
// caller holds m.mu.
func (m *Manager) isFull(token string) bool {
	places := m.cfg.most() + m.cfg.MaxQueue
	if m.active < places || m.cfg.MaxQueue == 0 {
		return m.active >= places
	}
	tokens := len(m.held)
	if m.held[token] == 0 {
		tokens++
	}
	return m.held[token] >= max(1, places/tokens)
}

// giveBack releases the slot of j, or its place in the line for one.
func (m *Manager) giveBack(j *job) {
	switch {
	case j.follow != nil:
	case j.life.slot != nil:
		m.slots.Abandon(j.req.Token, j.life.slot)
	default:
		m.slots.Release(j.req.Token)
	}
}

// waitFor waits for ch and tells the clients what for, if it takes a while.
func (j *job) waitFor(ctx context.Context, ch <-chan struct{}, what string) error {
	select {
	case <-ch:
		return nil
	default:
	}
	j.publish(turn.Update{Kind: turn.Queue, Text: what})
	defer j.publish(turn.Update{Kind: turn.Queue})
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
