package file

import (
	"context"
	"slices"
	"sync"
)

// editing are the files that calls change now, in all conversations of the process:
// sub-agents and conversations that share a workspace edit the same files, and each
// edit is of what was read. Programs take no part in it, so a file is compared
// with what was read before it is replaced, too.
var editing = locks{held: make(map[string]chan struct{})}

// locks are held by name.
type locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when it is released
}

// take waits until nobody holds one of the names. The caller must call release.
func (l *locks) take(ctx context.Context, names ...string) (release func(), err error) {
	slices.Sort(names) // so that no two wait for each other
	names = slices.Compact(names)
	var taken []string
	release = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, name := range taken {
			close(l.held[name])
			delete(l.held, name)
		}
	}
	for _, name := range names {
		if err := l.one(ctx, name); err != nil {
			release()
			return nil, err
		}
		taken = append(taken, name)
	}
	return release, nil
}

func (l *locks) one(ctx context.Context, name string) error {
	for {
		l.mu.Lock()
		released, isHeld := l.held[name]
		if !isHeld {
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
