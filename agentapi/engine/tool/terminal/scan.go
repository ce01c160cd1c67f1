//go:build unix

package terminal

import "sync"

// scan is a look at all processes of the machine, which takes longer the more there
// are. Those who ask while one goes on share the next one: forty shells that are
// closed together need a few scans. What is answered was always looked at after it
// was asked for.
type scan[T any] struct {
	look func() T
	turn chan struct{} // of one place, taken while it looks

	mu   sync.Mutex
	next *result[T] // of the look that has not begun; nil: no caller waits
}

// result is what was seen, once done is closed.
type result[T any] struct {
	done chan struct{}
	seen T
}

func newScan[T any](look func() T) *scan[T] {
	return &scan[T]{look: look, turn: make(chan struct{}, 1)}
}

// get looks, or waits for another caller's look that begins now or later.
func (s *scan[T]) get() T {
	s.mu.Lock()
	r, first := s.next, s.next == nil
	if first {
		r = &result[T]{done: make(chan struct{})}
		s.next = r
	}
	s.mu.Unlock()
	if !first {
		<-r.done
		return r.seen
	}
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	r.seen = s.look()
	close(r.done)
	return r.seen
}

var (
	processScan = newScan(scanProcesses)
	tagScan     = newScan(scanTags)
)

// processes are those that are not dead.
func processes() []process { return processScan.get() }

// tagged are the processes whose tag begins so. That finds those that left their
// parents and sessions.
func tagged(prefix string) (found []int) {
	for pid, tag := range tagScan.get() {
		if len(tag) >= len(prefix) && tag[:len(prefix)] == prefix {
			found = append(found, pid)
		}
	}
	return found
}
