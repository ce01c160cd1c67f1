package run

import "github.com/ohgw/ohgw/daemon/run/repeat"

// repeated finds the job that a request without an idempotency key repeats, where
// revision is that of the job's profile now. refused says that the request may be one
// that was refused. The caller holds m.mu.
func (m *Manager) repeated(who Asker, revision func(*job) string) (j *job, refused bool) {
	now := m.cfg.Now()
	q := repeat.Question{Retry: who.Retry, Refused: who.Retry && m.refused.Expects(who.Fingerprint, now)}
	if jobs := m.prints[who.Fingerprint]; jobs != nil {
		j, _ = jobs.Find(q, func(j *job, was string) bool { return was != revision(j) }, now)
	}
	return j, q.Refused
}

// remember lets later requests find a job that begins. The caller holds m.mu.
func (m *Manager) remember(j *job) {
	jobs := m.prints[j.req.Fingerprint]
	if jobs == nil {
		jobs = &repeat.Index[*job]{}
		m.prints[j.req.Fingerprint] = jobs
	}
	j.entry = jobs.Add(j)
	if j.req.IdempotencyKey != "" {
		m.keys[recordKey(j.req.Token, j.req.IdempotencyKey)] = j
	}
}

// settle notes that nothing more happens to a job: it has ended, and has no client.
// The caller holds m.mu.
func (m *Manager) settle(j *job) {
	if j.entry == nil {
		return
	}
	if h, idle := j.settled(); idle {
		m.prints[j.req.Fingerprint].Settle(j.entry, h)
	}
}

// forget lets no request find j any more. The caller holds m.mu.
func (m *Manager) forget(j *job) {
	if j.entry == nil {
		return
	}
	jobs := m.prints[j.req.Fingerprint]
	if jobs.Remove(j.entry); jobs.Len() == 0 {
		delete(m.prints, j.req.Fingerprint)
	}
	j.entry = nil
	m.peers.forget(j)
	if key := recordKey(j.req.Token, j.req.IdempotencyKey); m.keys[key] == j {
		delete(m.keys, key)
		m.epoch.Add(1)
	}
}

// Repeated is the run that answers a request without a new one.
type Repeated struct {
	Profile      string // empty: an earlier process knew it
	Conversation string
}

// RunOf finds the run that a request repeats, and starts nothing. revision returns the
// revision that a profile has now.
//
// It knows the runs of this gateway only. Its caller uses it to find the model of the run,
// which a request does not ask for by name. Where another gateway has the run, Admit finds
// it whatever model the caller has found.
func (m *Manager) RunOf(who Asker, revision func(profile string) string) (Repeated, bool) {
	m.mu.Lock()
	var j *job
	switch {
	case who.IdempotencyKey != "":
		if j = m.keys[recordKey(who.Token, who.IdempotencyKey)]; j != nil && j.life.gaveUp() {
			j = nil
		}
	case !who.Fresh:
		j, _ = m.repeated(who, func(j *job) string { return revision(j.req.Profile) })
	}
	m.mu.Unlock()
	if j != nil {
		return Repeated{Profile: j.req.Profile, Conversation: j.id}, true
	}
	if who.IdempotencyKey == "" {
		return Repeated{}, false
	}
	rec, err := m.records.find(recordKey(who.Token, who.IdempotencyKey))
	if err != nil || rec == nil || !rec.readable {
		return Repeated{}, false // whoever asks for the run gets the error
	}
	return Repeated{Conversation: rec.conversation}, true
}
