package run

import (
	"context"

	"github.com/ohgw/ohgw/daemon/run/journal/journaltest"
	"github.com/ohgw/ohgw/daemon/run/repeat"
)

// Use puts d below the journal of m, before its first write.
func (m *Manager) Use(d *journaltest.Disk) { m.oneShots.(*oneShots).journal.Open = d.Open }

// Noted counts the one-shots that m has in memory.
func (m *Manager) Noted() int {
	o := m.oneShots.(*oneShots)
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.shots)
}

// Submit admits req and waits for its conversation, as the handlers of the APIs do. The
// caller must Close the attachment.
func (m *Manager) Submit(ctx context.Context, req Request) (*Attachment, error) {
	a, err := m.Admit(req)
	if err != nil {
		return nil, err
	}
	if err := a.Opened(ctx); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Repeats returns the ids of the answers of the jobs that a request repeats: as m finds it,
// and by a pass over those of made that m has not forgotten. Empty: it repeats none.
func (m *Manager) Repeats(made []*Attachment, who Asker) (found, passed string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if j, _ := m.repeated(who, func(*job) string { return "1" }); j != nil {
		found = j.answerID
	}
	var all repeat.Index[*job] // none of it settled: it looks at all jobs as they are
	for _, a := range made {
		if a.job.entry != nil && a.job.req.Fingerprint == who.Fingerprint {
			all.Add(a.job)
		}
	}
	now := m.cfg.Now()
	q := repeat.Question{Retry: who.Retry, Refused: who.Retry && m.refused.Expects(who.Fingerprint, now)}
	if j, ok := all.Find(q, func(_ *job, revision string) bool { return revision != "1" }, now); ok {
		passed = j.answerID
	}
	return found, passed
}
