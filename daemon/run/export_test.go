package run

import "github.com/ohgw/ohgw/daemon/run/journal/journaltest"

// Use puts d below the journal of m, before its first write.
func (m *Manager) Use(d *journaltest.Disk) { m.oneShots.journal.Open = d.Open }

// Noted counts the one-shots that m has in memory.
func (m *Manager) Noted() int {
	m.oneShots.mu.Lock()
	defer m.oneShots.mu.Unlock()
	return len(m.oneShots.shots)
}
