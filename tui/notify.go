package tui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/session"
)

// notifyAfter is how long a turn takes at least of whose end a user is told who
// looks elsewhere.
const notifyAfter = 10 * time.Second

// news is what the user is told about the end of a turn; "" if nothing.
func (m *model) news(e session.End) string {
	if !m.cfg.Notify || !m.away || e.Stopped || e.Took < notifyAfter {
		return ""
	}
	how := "The agent has answered"
	switch {
	case e.Failure != nil:
		how = "The run failed"
	case m.chat.Pending != nil:
		how = "The agent waits for your confirmation"
	}
	return how + " after " + human.Duration(e.Took) + ": " + safe.Line(m.chat.Convo.Title)
}

// notify rings the bell and shows a notification of the desktop, as far as the
// terminal can: there are two ways to ask for it, and one that knows both would
// show two.
func (m *model) notify(text string) tea.Cmd {
	if text == "" {
		return nil
	}
	text = strings.ReplaceAll(text, ";", ",")
	ask := "\x1b]9;ohgw: " + text + "\x07"
	if term := m.variable("TERM"); strings.HasPrefix(term, "foot") || strings.HasPrefix(term, "rxvt") || m.variable("VTE_VERSION") != "" {
		ask = "\x1b]777;notify;ohgw;" + text + "\x07"
	}
	if m.variable("TMUX") != "" {
		ask = "\x1bPtmux;" + strings.ReplaceAll(ask, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	return tea.Raw("\a" + ask)
}

// variable is a variable of the environment.
func (m *model) variable(name string) string {
	for _, v := range slices.Backward(m.cfg.Environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
