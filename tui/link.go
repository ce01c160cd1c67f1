package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/safe"
)

// linked notes what is known of the gateway now.
func (m *model) linked(s linkState, err error) {
	if m.link.state != s {
		m.link.since = m.cfg.Now()
	}
	m.link.state, m.link.err = s, err
	if s == ready {
		m.link.attempts = 0
	}
}

// listed takes in the models, or why there are none.
func (m *model) listed(msg modelsMsg) tea.Cmd {
	m.link.asking = false
	if msg.err != nil {
		return m.unlisted(msg.err)
	}
	back := m.link.state == unreachable
	m.models = msg.models
	if len(m.models) == 0 {
		m.linked(noModels, nil)
		return m.lookAgain()
	}
	m.linked(ready, nil)
	if m.chosen == "" {
		m.chosen = gateway.Preferred(m.models)
	}
	if m.dialog != nil && m.dialog.kind == pickModels {
		m.dialog.setItems(m.modelItems())
	}
	if back && m.turn == nil && m.lastErr != nil && m.lastErr.Kind == gateway.Unreachable {
		return tea.Batch(m.say(m.place()+" answers again"), m.retry())
	}
	if !slices.ContainsFunc(m.models, func(x gateway.Model) bool { return x.ID == m.chosen }) && m.log.LastAnswer() == nil {
		m.note("There is no model " + safe.Line(m.chosen) + " here at the moment. Ctrl+P shows those there are.")
	}
	return m.next()
}

func (m *model) unlisted(err error) tea.Cmd {
	e := asGateway(err)
	switch e.Kind {
	case gateway.Unreachable:
		return m.unreachable(e)
	case gateway.Locked:
		m.linked(locked, e)
		m.link.attempts++
		return nil
	case gateway.Failed, gateway.Busy, gateway.Refused, gateway.Stranger:
	}
	m.linked(broken, e)
	return m.lookAgain()
}

func (m *model) unreachable(e *gateway.Error) tea.Cmd {
	m.linked(unreachable, e)
	return m.lookAgain()
}

// lookAgain asks for the models after a while that grows.
func (m *model) lookAgain() tea.Cmd {
	if m.link.planned {
		return nil
	}
	m.link.planned = true
	wait := min(time.Second<<min(m.link.attempts, 4), 10*time.Second)
	m.link.attempts++
	return after(wait, againMsg{})
}

// again is the time to look for the gateway, if it is still away.
func (m *model) again() tea.Cmd {
	m.link.planned = false
	if m.link.state == ready || m.link.state == locked || m.turn != nil {
		return nil
	}
	return tea.Batch(m.connect(), m.startTicking())
}
