// Package filelock takes the locks that OpenHands takes, so that ohgw and a
// running agent-server never write the same store at the same time.
//
// OpenHands locks with flock(2) on a file beside the store (LockFileEx on
// Windows). POSIX record locks do not exclude it. Some releases of its Python
// library remove the lock file when they let go, so a lock counts only while
// the locked file is still the one at the path. This package never removes,
// renames or writes a lock file.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"
)

// DefaultTimeout is how long Acquire waits when Options say nothing. OpenHands
// waits 30 s for a profile lock; a person at a prompt does not.
const DefaultTimeout = 10 * time.Second

// tellAfter is when the one who waits is told who holds the lock.
const tellAfter = time.Second

// The time between two tries. OpenHands polls every 50 ms; starting faster
// finds the gaps of a store that is written all the time.
const (
	firstPause = time.Millisecond
	lastPause  = 50 * time.Millisecond
)

// Options are the ways in which the stores of OpenHands differ. The zero value
// is that of its profile store.
type Options struct {
	// Timeout bounds the wait. Zero means DefaultTimeout; a negative one
	// means that a lock that is held is not waited for.
	Timeout time.Duration

	// Mode is what a lock file gets that is not there yet. Zero means 0644.
	Mode fs.FileMode

	// Shared takes the shared lock: others may share it, no process has the
	// exclusive lock meanwhile, and Held does not report it.
	Shared bool

	// OnWait, if set, is called once when the lock could not be had for a
	// second. It is called on the goroutine of Acquire.
	OnWait func(Holder)
}

// Holder is who holds a lock, as far as the system tells.
type Holder struct {
	Path    string // the lock file
	PID     int    // 0 when unknown
	Command string // its command name; "" when unknown
}

// String names the holder for people: "python3 (process 4711)".
func (h Holder) String() string {
	switch {
	case h.PID == 0:
		return "another process"
	case h.Command == "":
		return fmt.Sprintf("process %d", h.PID)
	}
	return fmt.Sprintf("%s (process %d)", h.Command, h.PID)
}

// BusyError says that the lock could not be had in time.
type BusyError struct {
	Holder Holder
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s is locked by %s", e.Holder.Path, e.Holder)
}

// ErrSymlink is returned for a lock file that is a symbolic link: following it
// would create or lock a file that another user chose.
var ErrSymlink = errors.New("lock file is a symbolic link")

// Lock is a lock that is held.
type Lock struct {
	mu   sync.Mutex
	kept *Kept
}

// Acquire waits for the lock on the file at path, which it makes if it is
// missing; the directory must be there. It returns a *BusyError when the time is
// over, and the error of ctx when ctx ends first.
func Acquire(ctx context.Context, path string, opts Options) (*Lock, error) {
	k := Keep(path, opts)
	if err := k.Lock(ctx); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return &Lock{kept: k}, nil
}

// Release lets the lock go. The lock file stays. Any goroutine may call it, and
// a second call does nothing.
func (l *Lock) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.kept.Unlock(), l.kept.Close())
}

// waiter is the time that passes between the tries of one Acquire.
type waiter struct {
	path   string
	onWait func(Holder)
	pause  time.Duration
	tell   *time.Timer
	over   *time.Timer
}

func newWaiter(path string, opts Options) *waiter {
	if opts.Timeout == 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.OnWait == nil {
		opts.OnWait = func(Holder) {}
	}
	return &waiter{
		path:   path,
		onWait: opts.OnWait,
		pause:  firstPause,
		tell:   time.NewTimer(tellAfter),
		over:   time.NewTimer(opts.Timeout),
	}
}

func (w *waiter) stop() {
	w.tell.Stop()
	w.over.Stop()
}

// wait pauses, or says why there is no point in trying again.
func (w *waiter) wait(ctx context.Context) error {
	pause := time.NewTimer(w.pause)
	defer pause.Stop()
	w.pause = min(2*w.pause, lastPause)
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the lock %s: %w", w.path, ctx.Err())
		case <-w.over.C:
			return &BusyError{Holder: holderOf(w.path)}
		case <-w.tell.C:
			w.onWait(holderOf(w.path))
		case <-pause.C:
			return nil
		}
	}
}
