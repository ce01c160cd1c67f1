package agentapi

import (
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

// MaxEvents is the most events of a page.
const MaxEvents = 100

// About is what a backend knows of a conversation without opening it.
type About struct {
	ID      string
	Created time.Time // zero if unknown
	Title   string    // empty: none was found yet
	Profile string    // its LLM profile; empty if the backend does not know it
}

// EventQuery selects a page of a conversation's log.
type EventQuery struct {
	// From is the id of the event that the page begins with, which is a part of
	// it. Empty: the first event, or with Newest the last one.
	From string
	// Newest turns the order around: the page goes from From towards the
	// beginning of the log.
	Newest bool
	// Limit is the most events of the page, at most MaxEvents; 0 is MaxEvents.
	Limit int
}

// Size is the limit of the page.
func (q EventQuery) Size() int {
	if q.Limit <= 0 {
		return MaxEvents
	}
	return min(q.Limit, MaxEvents)
}

// EventPage is a part of a conversation's log, in the order that was asked for.
type EventPage struct {
	Events []event.Event
	// Next is the id of the event that the next page begins with; empty where
	// the log ends.
	Next string
}

// errUnknownEvent is the cause of UnknownEvent.
var errUnknownEvent = errors.New("no such event")

// UnknownEvent returns the error of a page that begins with an event which is not in
// the log.
func UnknownEvent(id string) error {
	return &Error{
		Kind: ErrRefused, Err: fmt.Errorf("%w: %s", errUnknownEvent, id),
		Msg: "The conversation has no such event; read the list again from its beginning.",
	}
}

// IsUnknownEvent reports whether err is an UnknownEvent.
func IsUnknownEvent(err error) bool { return errors.Is(err, errUnknownEvent) }
