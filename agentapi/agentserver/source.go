package agentserver

import (
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/event"
)

// source is one kind of socket, and how a stream goes on after a socket was lost.
// Each belongs to one stream.
type source interface {
	// dial opens a socket.
	dial(ctx context.Context) (*socket, error)
	// resume is called when a new socket has replaced a lost one, in a stream that has
	// begun. restarted reports that the server is not the one that it was.
	resume(ctx context.Context, restarted bool) error
	// after is the source that goes on where a socket of this one ended with err.
	after(err error) source
	// began is called when the stream delivers its first snapshot. whole reports that
	// no delta before it is missing.
	began(whole bool)
	// admits reports whether an event is to be delivered that came from the socket, or
	// with live false from the log.
	admits(e event.Event, live bool) bool
	// frame delivers what a frame brings.
	frame(ctx context.Context, f frame) error
}

// frame is one frame of a socket.
type frame struct {
	event event.Event   // zero if it has none
	note  *sessionFrame // what the session socket says beside the event; nil on the events socket
}

// readEvent reads a frame of the events socket.
func readEvent(data []byte) (f frame, err error) {
	err = json.Unmarshal(data, &f.event)
	return f, err
}

// source chooses the socket that the server has.
func (c *conversation) source(s *stream) source {
	if c.version >= sinceSession && !c.unnumbered.Load() {
		return &numbered{s: s}
	}
	return &reconciled{s: s}
}

// dial opens a socket of the source, or of the one that takes its place.
func (s *stream) dial(ctx context.Context) (*socket, error) {
	sock, err := s.source.dial(ctx)
	if next := s.source.after(err); next != s.source {
		s.source = next
		return s.source.dial(ctx)
	}
	return sock, err
}
