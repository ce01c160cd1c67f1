package run

import "errors"

// ErrStopped ends a request that was stopped before its run began.
var ErrStopped = errors.New("stopped before the run began")

// Stop ends what a token runs in a conversation, and what of it waits there:
// somebody said so, and waits for no grace. A run that goes on is interrupted;
// what was done until then is its answer. With an idempotency key only the
// request with that key is meant. It tells how many it stopped.
func (m *Manager) Stop(token, conversation, key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lanes[conversation]
	if l == nil {
		return 0
	}
	n := 0
	for _, j := range l.jobs {
		if j.req.Token == token && (key == "" || j.req.IdempotencyKey == key) && j.stop() {
			n++
		}
	}
	return n
}

// stop reports whether there was something left to stop.
func (j *job) stop() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return false
	}
	j.halt(ErrStopped)
	return true
}
