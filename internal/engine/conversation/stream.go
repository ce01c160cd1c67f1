package conversation

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Stream is one watch. It keeps what its reader has not taken yet: a slow
// reader slows nobody and loses nothing.
type Stream struct {
	from *watchers

	mu     sync.Mutex
	chunks [][]event.Event // to be read, in order; shared, never changed
	queue  []event.Event   // what came since
	wake   chan struct{}   // of one place: there is something to read
	err    error           // the end
}

// Next waits for the next event.
func (s *Stream) Next(ctx context.Context) (event.Event, error) {
	for {
		if err := ctx.Err(); err != nil {
			return event.Event{}, err
		}
		e, ok, err := s.take()
		if ok || err != nil {
			return e, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
		}
	}
}

func (s *Stream) take() (e event.Event, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.chunks) > 0 && len(s.chunks[0]) == 0 {
		s.chunks = s.chunks[1:]
	}
	if len(s.chunks) > 0 {
		e, s.chunks[0] = s.chunks[0][0], s.chunks[0][1:]
		return e, true, nil
	}
	if len(s.queue) > 0 {
		s.chunks, s.queue = append(s.chunks[:0], s.queue), nil
		e, s.chunks[0] = s.chunks[0][0], s.chunks[0][1:]
		return e, true, nil
	}
	if s.err != nil {
		s.signal() // for whoever else waits
	}
	return event.Event{}, false, s.err
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
		s.chunks, s.queue = nil, nil
	}
	s.signal()
}

func (s *Stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// watchers are the streams of a conversation.
type watchers struct {
	mu   sync.Mutex
	list []*Stream
}

func (w *watchers) add(s *Stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, s)
}

func (w *watchers) remove(s *Stream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.list, s); i >= 0 {
		w.list = slices.Delete(w.list, i, i+1)
	}
}

func (w *watchers) publish(e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.list {
		s.add(e)
	}
}

func (w *watchers) none() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.list) == 0
}

func (w *watchers) end(err error) {
	w.mu.Lock()
	list := w.list
	w.list = nil
	w.mu.Unlock()
	for _, s := range list {
		s.finish(err, false)
	}
}

// watch opens a stream: the state, what was asked for of the log, the state
// again, and then what comes.
func (c *Conversation) watch(after string) (*Stream, error) {
	snapshot := []event.Event{c.snapshot()}
	chunks := [][]event.Event{snapshot}
	log := c.dir.Events()
	switch after {
	case "":
	case agentapi.FromStart:
		chunks = append(chunks, slices.Clip(log), snapshot)
	default:
		i := slices.IndexFunc(log, func(e event.Event) bool { return e.ID == after })
		if i < 0 {
			return nil, &agentapi.Error{
				Kind: agentapi.ErrRefused,
				Msg:  fmt.Sprintf("The conversation has no event %q; watch it from the start.", after),
			}
		}
		chunks = append(chunks, slices.Clip(log[i+1:]), snapshot)
	}
	s := &Stream{from: &c.watchers, chunks: chunks, wake: make(chan struct{}, 1)}
	c.watchers.add(s)
	return s, nil
}
