package session

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
)

// View shows a session. The session calls its methods on its own goroutine,
// after its state has changed.
type View interface {
	// Say shows a short message for a moment. It begins in lower case.
	Say(text string) tea.Cmd
	// Noted follows a line of the chat itself that was added to the log.
	Noted(text string, bad bool)
	// Linked follows what was found out about the gateway, also if nothing changed.
	Linked()
	// Printed follows a piece of the output of the user's command, and Ran its end.
	Printed(text string)
	Ran(o Output)
	// Asking comes before a question is added to the log and asked.
	Asking(o Outgoing)
	// Came follows a piece of the answer: text and progress, a line of it at a
	// time, are harmless.
	Came(p gateway.Piece)
	// Ended follows the end of a turn.
	Ended(e End)
	// GiveBack returns the questions that waited for a turn that did not end well.
	GiveBack(waiting []Outgoing)
	// Offer is a text that the user may want to send next.
	Offer(text string)
	// Recalled follows what was said earlier, which is in the log.
	Recalled()
	// Resumable shows the conversations that can be gone on with, at least one.
	// query is what its titles are narrowed by.
	Resumable(list []Conversation, query string)
	// Sheet shows a list to read: a name and a text in each row, both harmless.
	Sheet(title string, rows [][2]string)
}

// Outgoing is a question that is written and not yet asked.
type Outgoing struct {
	Text, Shown string
	Sent        string // Text with the paths of the files it mentions; empty: Text
	Goal        string // what Text is to reach; empty: one run answers
	Images      []Image
	Outputs     []Output
	Decision    gateway.Decision

	id     int
	unread bool // the files it mentions are not yet looked for
}

// End is how a turn ended: with an answer, stopped by the user, or in a failure.
type End struct {
	Turn    *Turn
	Took    time.Duration
	Stopped bool
	Failure *gateway.Error // nil unless it failed
	Next    string         // what to do about the failure
	Done    gateway.Done   // of an answer
	Notice  string         // what the gateway adds to an answer; harmless
}
