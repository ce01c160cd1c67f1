package turn

import (
	"github.com/ohgw/ohgw/agentapi/event"
)

// ends is what the events of a turn say of its end. A turn that is read from the
// log has other turns behind it, and the conversation's status is theirs.
type ends struct {
	ran     bool         // something of the run was seen
	running bool         // the log says that the run ran
	status  event.Status // that ended the run; empty while it goes on
	// said is the status that what was said and done amounts to, for a log that
	// holds no statuses. Empty while the run has something to do.
	said event.Status
	// asked says that the newest event is a message of the user that came while the
	// run went on, or after the run died.
	asked bool
	last  string // the newest event of the turn, where events tell their parents
}

// place notes the newest event.
func (n *ends) place(e event.Event) {
	if e.ParentID != "" {
		n.last = e.ID
	}
}

// announce takes in a status and reports whether it is behind the turn's end: only a
// hook lets a run go on that has ended, and only one that has finished.
func (n *ends) announce(s event.Status) (over bool) {
	switch s {
	case event.Idle:
		return n.running && n.status == event.Waiting // the actions were rejected
	case event.Running:
		if n.running && (n.asked || n.status != "" && n.status != event.Finished) {
			return true
		}
		n.running, n.status = true, ""
	default:
		n.status = s
	}
	n.ran, n.asked = n.ran || s == event.Running, false
	return false
}

// again takes in that a run follows the one that ended, for the same goal.
func (n *ends) again() { n.status, n.said, n.asked = "", "", false }

// see takes in another event of the turn, and reports whether it is behind the turn's
// end.
func (n *ends) see(e event.Event) (over bool) {
	switch b := e.Body.(type) {
	case *event.Message:
		n.said = ""
		if e.Source == event.SourceAgent {
			n.ran = true
			if !b.IsUnfinished() {
				n.said = event.Finished
			}
		}
	case *event.Action:
		n.ran, n.said = true, ""
		if _, finish := finishMessage(b); finish {
			n.said = event.Finished
		}
	case *event.UserReject:
		if n.running && n.status == event.Waiting {
			return true
		}
	case *event.ConversationError:
		n.ran, n.said = true, event.Failed
	case *event.Interrupt, *event.Pause:
		n.said = event.Paused
	case *event.StateUpdate, *event.Delta, *event.HookExecution, *event.SystemPrompt:
		return false
	}
	n.asked = false
	n.place(e)
	return false
}

// ask takes in a message of the user behind that of the turn, and reports whether the
// turn ended before it. A message that comes during a run is answered by that run.
// Past says that the turn was begun by another process, which may have died.
func (n *ends) ask(e event.Event, past bool) (over bool) {
	switch {
	case n.status != "" && n.ran, !n.running && n.said != "" && n.ran:
		return true
	case !n.running && past:
		return true
	}
	n.asked, n.said = true, ""
	n.place(e)
	return false
}

// outcome is how the run ended, by its own events. Without an end the run died.
func (n *ends) outcome() event.Status {
	switch {
	case n.status != "":
		return n.status
	case !n.running && n.said != "":
		return n.said
	}
	return event.Failed
}
