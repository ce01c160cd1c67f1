package run

// StopAnswer ends the run that gives an answer, whoever asked for it, as
// [Manager.Stop] does, and reports whether it was going on or waiting.
func (m *Manager) StopAnswer(conversation, answer string) bool {
	stopped := m.stopAnswerHere(conversation, answer)
	if !stopped && m.cfg.Ledger != nil {
		stopped = m.stopAnswerElsewhere(conversation, answer)
	}
	return stopped
}

func (m *Manager) stopAnswerHere(conversation, answer string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[conversation]
	if q == nil {
		return false
	}
	for _, j := range q.jobs {
		if j.answerID == answer && (j.share == nil || j.share.own.Load()) {
			return j.life.halt(ErrStopped)
		}
	}
	return false
}
