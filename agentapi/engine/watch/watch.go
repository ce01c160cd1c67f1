// Package watch hands the events of a conversation to those who watch it, each at its own
// pace: what the log had, and then what comes. It makes no event and knows no conversation.
package watch

import (
	"context"
	"slices"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Stream is one watch. It keeps what its reader has not taken yet: a slow reader slows no
// other reader and loses nothing.
type Stream struct {
	from *Watchers

	reading sync.Mutex // held by whoever reads; guards chunks
	chunks  []Chunk    // to be read, in order

	mu     sync.Mutex
	queue  []event.Event // what came since
	wake   chan struct{} // of one place: there is something to read
	err    error         // the end
	closed bool          // by the reader: nothing more is read
}

// Next waits for the next event.
func (s *Stream) Next(ctx context.Context) (event.Event, error) {
	for {
		if err := ctx.Err(); err != nil {
			return event.Event{}, err
		}
		e, ok, err := s.nextEvent()
		if ok || err != nil {
			return e, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
		}
	}
}

// Chunk is a part of a stream: events in memory, or else those of the log,
// which are read from the disk one by one.
type Chunk struct {
	events []event.Event // shared, never changed
	log    store.Log
}

// Events are a chunk of events.
func Events(events ...event.Event) Chunk { return Chunk{events: events} }

// Log is a chunk of what a log has.
func Log(log store.Log) Chunk { return Chunk{log: log} }

// next takes the first event out of a chunk. It is false at its end.
func (c *Chunk) next() (e event.Event, ok bool, err error) {
	if len(c.events) > 0 {
		e, c.events = c.events[0], c.events[1:]
		return e, true, nil
	}
	e, c.log, ok, err = c.log.Next()
	return e, ok, err
}

func (s *Stream) nextEvent() (event.Event, bool, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	for {
		if err := s.refill(); err != nil || len(s.chunks) == 0 {
			return event.Event{}, false, err
		}
		e, ok, err := s.chunks[0].next()
		if err != nil {
			return e, false, &agentapi.Error{
				Kind: agentapi.ErrUnavailable, InProcess: true, Err: err,
				Msg: "The log of the conversation can no longer be read; check that its directory still exists.",
			}
		}
		if ok {
			return e, true, nil
		}
		s.chunks = s.chunks[1:]
	}
}

// refill takes what came since, where everything before it is read. Its error
// is the end of the stream.
func (s *Stream) refill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		s.chunks = nil
	case len(s.chunks) > 0:
		return nil
	case len(s.queue) > 0:
		s.chunks, s.queue = append(s.chunks, Chunk{events: s.queue}), nil
		return nil
	}
	if s.err != nil {
		s.signal() // for whoever else waits
	}
	return s.err
}

// Close ends the watch.
func (s *Stream) Close() error {
	s.from.remove(s)
	s.finish(errStreamClosed, true)
	return nil
}

var errStreamClosed = &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The watch was closed.", InProcess: true}

func (s *Stream) add(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, e)
	s.signal()
}

// finish ends the stream after what it still holds, or at once.
func (s *Stream) finish(err error, now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	if now {
		s.closed, s.queue = true, nil
	}
	s.signal()
}

func (s *Stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Watchers are the streams of a conversation.
type Watchers struct {
	mu   sync.Mutex
	list []*Stream
}

// Open makes a stream of chunks and what comes after them.
func (w *Watchers) Open(chunks ...Chunk) *Stream {
	s := &Stream{from: w, chunks: chunks, wake: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, s)
	return s
}

func (w *Watchers) remove(s *Stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.list, s); i >= 0 {
		w.list = slices.Delete(w.list, i, i+1)
	}
}

// Publish adds an event to each stream.
func (w *Watchers) Publish(e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.list {
		s.add(e)
	}
}

// None reports whether there is no stream.
func (w *Watchers) None() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.list) == 0
}

// End ends the streams after what they hold, with an error.
func (w *Watchers) End(err error) {
	w.mu.Lock()
	list := w.list
	w.list = nil
	w.mu.Unlock()
	for _, s := range list {
		s.finish(err, false)
	}
}
