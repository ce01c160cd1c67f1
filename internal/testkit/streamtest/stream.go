// Package streamtest has the stream of events that fakes of conversations share. It keeps
// events until they are read, and knows no conversation.
package streamtest

import (
	"context"
	"sync"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Stream is an agentapi.Stream in memory.
type Stream struct {
	leave func(*Stream)
	wake  chan struct{}

	mu    sync.Mutex
	queue []event.Event
	err   error
}

// New returns a stream without events. leave is called when it is closed.
func New(leave func(*Stream)) *Stream {
	return &Stream{leave: leave, wake: make(chan struct{}, 1)}
}

// Push adds an event.
func (s *Stream) Push(e event.Event) {
	s.mu.Lock()
	s.queue = append(s.queue, e)
	s.mu.Unlock()
	s.signal()
}

// Fail ends the stream with an error, behind its events.
func (s *Stream) Fail(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.signal()
}

func (s *Stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Next waits for the next event.
func (s *Stream) Next(ctx context.Context) (event.Event, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			e := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return e, nil
		}
		err := s.err
		s.mu.Unlock()
		if err != nil {
			return event.Event{}, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return event.Event{}, ctx.Err()
		}
	}
}

// Close takes the stream out of its conversation.
func (s *Stream) Close() error {
	s.leave(s)
	return nil
}
