package nativetest

import (
	"context"
	"slices"
	"sync"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Stream is a watch of a Conversation.
type Stream struct {
	of   *Conversation
	wake chan struct{}

	mu    sync.Mutex
	queue []event.Event
	err   error
}

func (s *Stream) add(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, e)
	s.signal()
}

func (s *Stream) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
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

// Close ends the watch.
func (s *Stream) Close() error {
	s.of.engine.mu.Lock()
	defer s.of.engine.mu.Unlock()
	s.of.streams = slices.DeleteFunc(s.of.streams, func(one *Stream) bool { return one == s })
	return nil
}
