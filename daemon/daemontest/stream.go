package daemontest

import (
	"context"
	"sync"

	"github.com/ohgw/ohgw/agentapi/event"
)

// stream is an [agentapi.Stream].
type stream struct {
	c    *conversation
	wake chan struct{}

	mu    sync.Mutex
	queue []event.Event
	err   error
}

func (s *stream) push(e event.Event) {
	s.mu.Lock()
	s.queue = append(s.queue, e)
	s.mu.Unlock()
	s.signal()
}

func (s *stream) fail(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.signal()
}

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Next implements [agentapi.Stream].
func (s *stream) Next(ctx context.Context) (event.Event, error) {
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

// Close implements [agentapi.Stream].
func (s *stream) Close() error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	delete(s.c.streams, s)
	return nil
}
