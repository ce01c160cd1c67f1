package run

import (
	"context"

	"github.com/ohgw/ohgw/daemon/run/journal/journaltest"
)

// Use puts d below the journal of m, before its first write.
func (m *Manager) Use(d *journaltest.Disk) { m.oneShots.journal.Open = d.Open }

// Noted counts the one-shots that m has in memory.
func (m *Manager) Noted() int {
	m.oneShots.mu.Lock()
	defer m.oneShots.mu.Unlock()
	return len(m.oneShots.shots)
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
