// Package namelock has locks that are held by name, in this process. It keeps
// nothing of a name whose lock is free. A caller that waits for one name does not
// hold up the callers of another one.
package namelock

import (
	"context"
	"slices"
	"sync"
)

// Locks are the locks of some kind of names. The zero value has none that is held.
type Locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when it is released
}

// Take waits until all of the names are free. Without an error the caller holds
// them all, each once, and must call release, once.
func (l *Locks) Take(ctx context.Context, names ...string) (release func(), err error) {
	names = slices.Clone(names)
	slices.Sort(names) // so that no two wait for each other
	names = slices.Compact(names)
	for i, name := range names {
		if err := l.one(ctx, name); err != nil {
			l.release(names[:i])
			return nil, err
		}
	}
	return func() { l.release(names) }, nil
}

func (l *Locks) release(names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		close(l.held[name])
		delete(l.held, name)
	}
}

func (l *Locks) one(ctx context.Context, name string) error {
	for {
		l.mu.Lock()
		released, isHeld := l.held[name]
		if !isHeld {
			if l.held == nil {
				l.held = make(map[string]chan struct{})
			}
			l.held[name] = make(chan struct{})
		}
		l.mu.Unlock()
		if !isHeld {
			return nil
		}
		select {
		case <-released:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
