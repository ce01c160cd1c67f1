package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/rescue"
)

// frame is how often pieces of an answer reach the screen: together, so that
// a fast model costs no more than a slow one.
const frame = 33 * time.Millisecond

// stream takes the pieces of an answer from the endpoint and hands them over
// in batches. Nothing is dropped.
type stream struct {
	mu   sync.Mutex
	got  []gateway.Piece
	err  error
	over bool
	wake chan struct{} // has a value when something came since the last batch
	end  chan struct{} // closed when everything came
}

// errNoEnd is the error of an answer that stopped coming.
var errNoEnd = errors.New("the answer ended in the middle")

func newStream() *stream {
	return &stream{wake: make(chan struct{}, 1), end: make(chan struct{})}
}

// ask runs the question. It is a command that takes as long as the answer.
func (s *stream) ask(ctx context.Context, endpoint gateway.Endpoint, q gateway.Question) {
	s.finish(s.read(ctx, endpoint, q))
}

// finish reports that nothing more comes.
func (s *stream) finish(err error) {
	s.mu.Lock()
	s.err, s.over = err, true
	s.mu.Unlock()
	close(s.end)
}

// read reads the answer. A mistake of ours in it ends the answer and not the
// chat, which Bubble Tea would kill while it still reads from the terminal.
func (s *stream) read(ctx context.Context, endpoint gateway.Endpoint, q gateway.Question) error {
	err := rescue.Do(func() error {
		for p, err := range endpoint.Ask(ctx, q) {
			if err != nil {
				return err
			}
			s.put(p)
			if _, ok := p.(gateway.Done); ok {
				return nil
			}
		}
		return errNoEnd
	})
	if broken := rescue.Of(err); broken != nil {
		return &gateway.Error{Kind: gateway.Failed, Message: "Internal error in ohgw: " + broken.Error(), Err: err}
	}
	return err
}

func (s *stream) put(p gateway.Piece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.got) - 1
	text, isText := p.(gateway.Text)
	if last >= 0 && isText {
		// A batch that grows while an editor has the terminal stays small.
		if before, ok := s.got[last].(gateway.Text); ok && len(before) < 4096 {
			s.got[last] = before + text
			return
		}
	}
	s.got = append(s.got, p)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// batch waits for the next pieces.
func (s *stream) batch() BatchMsg {
	select {
	case <-s.wake:
		t := time.NewTimer(frame)
		defer t.Stop()
		select {
		case <-t.C:
		case <-s.end:
		}
	case <-s.end:
	}
	return s.take()
}

// take returns what came since it was called last.
func (s *stream) take() BatchMsg {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := BatchMsg{Pieces: s.got, Err: s.err, Over: s.over}
	s.got = nil
	select {
	case <-s.wake:
	default:
	}
	return m
}

// Tracker knows the questions on their way, so that none outlives the chat. A
// command that was handed to Bubble Tea may never run; so it is counted when it
// does.
type Tracker struct {
	mu     sync.Mutex
	closed bool
	group  sync.WaitGroup
}

// begin counts a question; false when the chat is over.
func (t *Tracker) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.group.Add(1)
	}
	return !t.closed
}

func (t *Tracker) done() { t.group.Done() }

// wait lets nothing begin any more and waits for the rest.
func (t *Tracker) wait() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.group.Wait()
}
