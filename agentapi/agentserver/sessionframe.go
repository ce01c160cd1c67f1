package agentserver

import (
	"encoding/json"
	"errors"

	"github.com/ohgw/ohgw/agentapi/agentserver/sequence"
	"github.com/ohgw/ohgw/agentapi/event"
)

// The types of frames of the session socket. Others are ignored: there may be new
// ones. What it says of an item that starts, the item's deltas say too.
const (
	frameSync      = "sync"      // the first one: the range of the log that follows at once
	frameDurable   = "durable"   // an event of the log, with its number
	frameTransient = "transient" // an event that is only published
	frameDelta     = "delta"     // a piece of the text of an item
)

// sessionFrame is what a frame of the session socket says beside its event.
type sessionFrame struct {
	Type string `json:"type"`
	// Through is the last number of the log, absent if the log is empty.
	Through *int `json:"through_seq"`
	Seq     int  `json:"seq"`

	sequence.Delta
}

// delta is the frame as the events socket would have it.
func (f *sessionFrame) delta() *event.Delta {
	if f.Kind == sequence.Reasoning {
		return &event.Delta{ReasoningContent: &f.Content}
	}
	return &event.Delta{Content: &f.Content}
}

var errNoEvent = errors.New("a frame has no event")

// readSession reads a frame of the session socket.
func readSession(data []byte) (frame, error) {
	var in struct {
		sessionFrame
		Event event.Event `json:"event"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return frame{}, err
	}
	if in.Event.Body == nil && (in.Type == frameDurable || in.Type == frameTransient) {
		return frame{}, errNoEvent
	}
	return frame{event: in.Event, note: &in.sessionFrame}, nil
}
