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

// notifier shows a user what happens who looks at another window.
type notifier struct {
	cfg   *Config
	chat  *session.Session
	away  bool   // the user looks at another window
	alert string // what the terminal is still to show
}

// held raises an alert for a program that waits for the user's permission.
func (n *notifier) held() {
	if n.cfg.Notify && n.away {
		n.alert = "A program waits for your permission: " + safe.Line(n.chat.Convo.Title)
	}
}

// ended raises an alert at the end of a long turn that the user does not watch.
func (n *notifier) ended(e session.End) {
	n.alert = ""
	if !n.cfg.Notify || !n.away || e.Stopped || e.Took < notifyAfter {
		return
	}
	how := "The agent has answered"
	switch {
	case e.Failure != nil:
		how = "The run failed"
	case n.chat.Pending != nil:
		how = "The agent waits for your confirmation"
	}
	n.alert = how + " after " + human.Duration(e.Took) + ": " + safe.Line(n.chat.Convo.Title)
}

// show rings the bell and shows a notification of the desktop, as far as the
// terminal can: there are two ways to ask for it, and one that knows both would
// show two.
func (n *notifier) show() tea.Cmd {
	if n.alert == "" {
		return nil
	}
	text := strings.ReplaceAll(n.alert, ";", ",")
	n.alert = ""
	ask := "\x1b]9;ohgw: " + text + "\x07"
	if term := n.variable("TERM"); strings.HasPrefix(term, "foot") || strings.HasPrefix(term, "rxvt") || n.variable("VTE_VERSION") != "" {
		ask = "\x1b]777;notify;ohgw;" + text + "\x07"
	}
	if n.variable("TMUX") != "" {
		ask = "\x1bPtmux;" + strings.ReplaceAll(ask, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	return tea.Raw("\a" + ask)
}

// variable is a variable of the environment.
func (n *notifier) variable(name string) string {
	for _, v := range slices.Backward(n.cfg.Environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
