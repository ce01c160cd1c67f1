package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/pause"
)

// Process is the daemon of this user as a process that can be ended. Close lets
// go of it.
type Process struct {
	Info Info

	dir     string
	process *os.Process
}

// ErrStranger says that the process of the published address is not the one
// that holds the lock.
var ErrStranger = errors.New("the published process is not the one that holds the lock")

// Open finds the daemon with that runtime directory. A process ID alone proves
// nothing: a killed daemon leaves its ID behind, and the system gives it to
// another process. So the process is held first, where the system can do that,
// and then looked at again: the lock is held, by that process where the system
// tells, and the published ID is the same. The errors are those of Find, and
// ErrStranger.
func Open(dir string) (*Process, error) {
	info, err := Find(dir)
	if err != nil {
		return nil, err
	}
	process, err := os.FindProcess(info.PID)
	if err != nil {
		return nil, fmt.Errorf("find process %d: %w", info.PID, err)
	}
	p := &Process{Info: info, dir: dir, process: process}
	now, err := Find(dir)
	if err == nil && now.PID != info.PID {
		err = ErrStranger
	}
	if holder := filelock.HolderOf(filepath.Join(dir, lockFile)); err == nil && holder.PID != 0 && holder.PID != info.PID {
		err = fmt.Errorf("%w: %s", ErrStranger, holder)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close lets go of the process, which goes on.
func (p *Process) Close() { _ = p.process.Release() } // It only frees memory here.

// End asks the daemon to end, as Ctrl-C does; a second time it ends at once. If
// the process has ended already, End returns nil. On Windows, where a process
// cannot be asked, the error is errors.ErrUnsupported.
func (p *Process) End() error { return gone(Terminate(p.process)) }

// Kill ends the daemon without its doing.
func (p *Process) Kill() error { return gone(p.process.Kill()) }

func gone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// The time between two looks at the lock.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = 100 * time.Millisecond
)

// Wait returns when the daemon has ended: the lock is free, or another process
// holds it. It reports false if ctx ends before.
func (p *Process) Wait(ctx context.Context) bool {
	for look := firstLook; ; look = min(2*look, lastLook) {
		held, err := filelock.Held(filepath.Join(p.dir, lockFile))
		if err == nil && !held {
			return true
		}
		if now, err := Find(p.dir); err == nil && now.PID != p.Info.PID {
			return true
		}
		if pause.For(ctx, look) != nil {
			return false
		}
	}
}
