package filelock

import (
	"context"
	"fmt"
)

// Kept is a lock that is taken often: between two times only the lock is let
// go, not the file, where the system can do that. It is not safe for
// concurrent use.
type Kept struct {
	path   string
	opts   Options
	handle handle
}

// Keep makes a Kept and touches nothing yet.
func Keep(path string, opts Options) *Kept { return &Kept{path: path, opts: opts} }

// Lock waits for the lock like [Acquire].
func (k *Kept) Lock(ctx context.Context) error {
	w := newWaiter(k.path, k.opts)
	defer w.stop()
	for {
		got, err := k.handle.try(k.path, k.opts.Mode, !k.opts.Shared)
		if err != nil {
			return fmt.Errorf("lock %s: %w", k.path, err)
		}
		if got {
			return nil
		}
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
}

// Unlock lets the lock go.
func (k *Kept) Unlock() error {
	if err := k.handle.unlock(); err != nil {
		return fmt.Errorf("unlock %s: %w", k.path, err)
	}
	return nil
}

// Close lets the file go, too. A closed Kept can be locked again.
func (k *Kept) Close() error { return k.handle.close() }
