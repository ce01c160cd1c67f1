package run

// StopAnswer ends the run that gives an answer, whoever asked for it, as
// [Manager.Stop] does, and reports whether it was going on or waiting.
func (m *Manager) StopAnswer(conversation, answer string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[conversation]
	if q == nil {
		return false
	}
	for _, j := range q.jobs {
		if j.answerID == answer {
			return j.life.halt(ErrStopped)
		}
	}
	return false
}
