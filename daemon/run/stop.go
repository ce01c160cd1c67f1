package run

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// ErrStopped ends a request that was stopped before its run began.
var ErrStopped = errors.New("stopped before the run began")

// Stop ends what a token runs in a conversation, and what of it waits there.
// The stop was requested, so there is no grace. A run that is at work is
// interrupted; what was done until then is its answer. With an idempotency key
// only the request with that key is meant; an empty token means those of every
// token. Stop returns how many it stopped.
func (m *Manager) Stop(token, conversation, key string) int {
	m.mu.Lock()
	n := m.queues[conversation].stop(token, key)
	m.mu.Unlock()
	return max(n, m.peers.stop(token, conversation, key))
}

// stop stops the jobs of a queue as [Manager.Stop] does. A nil queue has none. The caller
// holds the manager's mutex.
func (l *conversationQueue) stop(token, key string) (n int) {
	if l == nil {
		return 0
	}
	for _, j := range l.jobs {
		if j.share != nil && !j.isShared() { // it ends with the run
			continue
		}
		if (token == "" || j.req.Token == token) && (key == "" || j.req.IdempotencyKey == key) && j.life.halt(ErrStopped) {
			n++
		}
	}
	return n
}

// StopAnswer ends the run that gives an answer, whoever asked for it, as
// [Manager.Stop] does, and reports whether it was going on or waiting.
func (m *Manager) StopAnswer(conversation, answer string) bool {
	m.mu.Lock()
	here := m.queues[conversation].stopAnswer(answer)
	m.mu.Unlock()
	return m.peers.stopAnswer(conversation, answer) || here
}

// stopAnswer stops the job of a queue that gives an answer. The caller holds the manager's
// mutex.
func (l *conversationQueue) stopAnswer(answer string) bool {
	if l == nil {
		return false
	}
	for _, j := range l.jobs {
		if j.answerID == answer && (j.share == nil || j.isShared()) {
			return j.life.halt(ErrStopped)
		}
	}
	return false
}

// unattendedTime bounds how long the backend is asked to stop a run that no job
// follows.
const unattendedTime = 30 * time.Second

// StopUnattended interrupts the run that a token, or with an empty one any token,
// has in a conversation and that no job follows: the process that started it was killed, or had lost the
// backend. It reports whether there was one.
func (m *Manager) StopUnattended(ctx context.Context, token, conversation string) (bool, error) {
	mark, known := m.unattendedOf(conversation, token)
	if !known {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, unattendedTime)
	defer cancel()
	conv, err := m.cfg.Backend.Open(ctx, agentapi.OpenRequest{ID: conversation, Existing: true})
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		m.unattended.end(conversation)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer conv.Close()
	if goes, err := turn.Goes(ctx, conv, mark.Turn); err != nil || !goes {
		return false, err
	}
	return true, conv.Interrupt(ctx)
}

// unattendedOf is the run that a token has left in a conversation in which no job of
// this process is.
func (m *Manager) unattendedOf(conversation, token string) (mark runMark, known bool) {
	m.mu.Lock()
	_, busy := m.queues[conversation]
	m.mu.Unlock()
	mark, known = m.unattended.of(conversation, token)
	return mark, known && !busy
}
