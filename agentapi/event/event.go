// Package event is OpenHands' events as they are on the wire and on disk: the
// common language of every backend.
//
// An [Event] that was decoded keeps the bytes it came from, so unknown kinds
// and unknown fields survive a round trip unchanged. A new one is made with
// [New] and encodes in the field order OpenHands itself uses.
//
// The package only describes events. What they mean for an answer is decided
// in agentapi/turn, nowhere else. It imports nothing but the standard library.
package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// The sources an event can have.
const (
	SourceAgent       = "agent"
	SourceUser        = "user"
	SourceEnvironment = "environment"
	SourceHook        = "hook"
)

// Event is one entry of a conversation's log, or one frame that is only
// published (deltas, full_state).
type Event struct {
	// ID is opaque; usually a UUID.
	ID string
	// Timestamp is the writer's local time without a zone, ISO 8601 with
	// microseconds: "2026-08-22T16:34:00.123456". It orders nothing; the log does.
	Timestamp string
	// Source is one of the Source constants.
	Source string
	// ParentID is the event this one was appended to, empty for the first.
	ParentID string
	// Body is the part that depends on the kind. It is never nil: a kind this
	// package does not know has an [Unknown] body.
	Body Body

	raw json.RawMessage
}

// Body is the kind-specific part of an event: one of the struct types of this
// package, by pointer.
type Body interface {
	// Kind is the discriminator as on the wire, e.g. "MessageEvent".
	Kind() string
}

// New makes an event that was not read from anywhere.
func New(id, timestamp, source, parentID string, body Body) Event {
	return Event{ID: id, Timestamp: timestamp, Source: source, ParentID: parentID, Body: body}
}

// Kind is the kind of the event's body; empty for the zero Event.
func (e Event) Kind() string {
	if e.Body == nil {
		return ""
	}
	return e.Body.Kind()
}

// Persisted reports whether the event has a place in the conversation's log.
// Deltas, full_state snapshots and errors of the socket are only published.
func (e Event) Persisted() bool {
	switch b := e.Body.(type) {
	case *Delta, *ServerError:
		return false
	case *StateUpdate:
		return b.Key != KeyFullState && b.Key != KeyRetry && b.Key != KeyBlock && b.Key != KeyProgress && b.Key != KeyPhase
	default:
		return true
	}
}

// header is what every event has. The order of its fields is that of the wire.
type header struct {
	ID        string `json:"id"`
	Timestamp string `json:"timestamp"`
	Source    string `json:"source"`
	ParentID  string `json:"parent_id,omitempty"`
}

var errNoKind = errors.New("event has no kind")

// UnmarshalJSON decodes an event and keeps a copy of data.
func (e *Event) UnmarshalJSON(data []byte) error {
	h, kind, err := readHeader(data)
	if err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	if kind == "" {
		return errNoKind
	}
	body := newBody(kind)
	if _, unknown := body.(*Unknown); !unknown {
		if err := json.Unmarshal(data, body); err != nil {
			return fmt.Errorf("decode %s %s: %w", kind, h.ID, err)
		}
	}
	*e = Event{
		ID: h.ID, Timestamp: h.Timestamp, Source: h.Source, ParentID: h.ParentID,
		Body: body, raw: bytes.Clone(data),
	}
	return nil
}

// readHeader decodes the header and the kind. Where they are found without
// reading everything, the rest is left to whoever decodes the body.
func readHeader(data []byte) (header, string, error) {
	if h, kind, ok := scan(data); ok {
		if _, unknown := newBody(kind).(*Unknown); !unknown || json.Valid(data) {
			return h, kind, nil
		}
	}
	var h struct {
		header
		Kind string `json:"kind"`
	}
	err := json.Unmarshal(data, &h)
	return h.header, h.Kind, err
}

// MarshalJSON returns the bytes that the event was decoded from, or encodes a new event.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.raw != nil {
		return e.raw, nil
	}
	if e.Body == nil {
		return nil, errNoKind
	}
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	if err := e.encode(b); err != nil {
		return nil, err
	}
	return bytes.Clone(b.Bytes()), nil
}

// buffers are those in which events are encoded, so that each is copied once.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// encoder is a body that writes its own JSON, because encoding/json would read each part
// of it several times. It writes what encoding/json writes.
type encoder interface {
	encode(b *bytes.Buffer) error
}

// encode writes a new event: the members of its header, those of its body, and its kind.
func (e Event) encode(b *bytes.Buffer) error {
	if err := plainjson.Append(b, header{e.ID, e.Timestamp, e.Source, e.ParentID}); err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	b.Truncate(b.Len() - len("}"))
	at := b.Len()
	if err := encodeBody(b, e.Body); err != nil {
		return fmt.Errorf("encode %s: %w", e.Kind(), err)
	}
	b.Truncate(b.Len() - len("}"))
	if b.Len() == at+len("{") { // a body without members
		b.Truncate(at)
	} else {
		b.Bytes()[at] = ','
	}
	b.WriteString(`,"kind":`)
	if err := plainjson.Append(b, e.Kind()); err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	b.WriteByte('}')
	return nil
}

func encodeBody(b *bytes.Buffer, body Body) error {
	if own, ok := body.(encoder); ok {
		return own.encode(b)
	}
	return plainjson.Append(b, body)
}
