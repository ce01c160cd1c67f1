package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/filelock"
)

const (
	// leaseTTL is how long a lease lives without being renewed; OpenHands' own
	// number.
	leaseTTL = 45 * time.Second
	// LeaseRenewal is how often an open conversation's lease is renewed.
	LeaseRenewal = 15 * time.Second

	leaseFile = "owner_lease.json"
	leaseLock = ".owner_lease.lock"
)

// Holder is who opens conversations: this process.
type Holder struct {
	Instance string // 32 hex digits, new for each process
	Host     string
	PID      int
	// Alive reports whether a process of this host lives. Nil: all do.
	Alive func(pid int) bool
}

// HeldError says that another process has the conversation.
type HeldError struct {
	Host  string
	PID   int
	Until time.Time
}

// Error names the process.
func (e *HeldError) Error() string {
	return fmt.Sprintf("the conversation is open in process %d on %s until %s", e.PID, e.Host, e.Until.Format(time.TimeOnly))
}

// leaseJSON is the lease on disk, as OpenHands writes it.
type leaseJSON struct {
	Instance   string  `json:"owner_instance_id"`
	Generation int     `json:"generation"`
	ExpiresAt  float64 `json:"expires_at"` // seconds since 1970
	Host       string  `json:"owner_host,omitempty"`
	PID        int     `json:"owner_pid,omitempty"`
}

// lease is our claim on a conversation's directory.
type lease struct {
	dir  string
	opts Options
	ours leaseJSON
	size int // of the file when it was read last
}

// claim takes the lease of a directory, unless its holder is alive.
func claim(dir string, opts Options) (*lease, error) {
	l := &lease{dir: dir, opts: opts}
	err := l.locked(func() error {
		found, err := l.read()
		if err != nil {
			return err
		}
		if held := l.heldBy(found); held != nil {
			return held
		}
		l.ours = leaseJSON{
			Instance: opts.Holder.Instance, Generation: found.Generation + 1,
			Host: opts.Holder.Host, PID: opts.Holder.PID,
		}
		return l.write()
	})
	return l, err
}

// heldBy returns the holder of the lease that was found, nil if it is free.
func (l *lease) heldBy(found leaseJSON) error {
	expires := time.UnixMicro(int64(found.ExpiresAt * 1e6))
	if found.Instance == "" || found.Instance == l.opts.Holder.Instance || !l.opts.Now().Before(expires) {
		return nil
	}
	if o := l.opts.Holder; found.Host == o.Host && found.PID != 0 && o.Alive != nil && !o.Alive(found.PID) {
		return nil
	}
	return &HeldError{Host: found.Host, PID: found.PID, Until: expires}
}

func (l *lease) renew() error {
	return l.locked(func() error {
		found, err := l.read()
		if err != nil {
			return err
		}
		if found.Instance != l.ours.Instance || found.Generation != l.ours.Generation {
			return &HeldError{Host: found.Host, PID: found.PID, Until: time.UnixMicro(int64(found.ExpiresAt * 1e6))}
		}
		return l.write()
	})
}

// release gives the lease back by letting it expire now; the file stays, so
// that generations go on counting.
func (l *lease) release() error {
	err := l.locked(func() error {
		found, err := l.read()
		if err != nil || found.Instance != l.ours.Instance || found.Generation != l.ours.Generation {
			return err
		}
		found.ExpiresAt = 0
		return l.store(found)
	})
	if errors.Is(err, fs.ErrNotExist) { // the conversation was removed
		return nil
	}
	return err
}

func (l *lease) locked(f func() error) error {
	lock, err := filelock.Acquire(context.Background(), filepath.Join(l.dir, leaseLock), filelock.Options{Timeout: lockTimeout})
	if err != nil {
		return fmt.Errorf("lease of the conversation: %w", err)
	}
	err = f()
	return errors.Join(err, lock.Release())
}

func (l *lease) read() (leaseJSON, error) {
	var found leaseJSON
	data, err := os.ReadFile(filepath.Join(l.dir, leaseFile))
	l.size = len(data)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("read the lease: %w", err)
	}
	// A lease that cannot be read protects no process: its writer died while writing it.
	if err := json.Unmarshal(data, &found); err != nil {
		found = leaseJSON{}
	}
	return found, nil
}

func (l *lease) write() error {
	l.ours.ExpiresAt = float64(l.opts.Now().Add(leaseTTL).UnixMicro()) / 1e6
	return l.store(l.ours)
}

// leaseSize is the least size of a lease: one that is shorter ends in spaces. So the next one
// has the same size, and takes the place of the one before it without another file.
const leaseSize = 256

// store writes the lease over the one that was read. The lock is held, under which OpenHands
// reads it, too.
func (l *lease) store(j leaseJSON) error {
	data, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("write the lease: %w", err)
	}
	if size := max(leaseSize, l.size); len(data) < size {
		data = append(data, bytes.Repeat([]byte{' '}, size-len(data))...)
	}
	path := filepath.Join(l.dir, leaseFile)
	err = l.opts.Files.Overwrite(path, data)
	if err != nil && l.size == 0 { // A full disk takes the name of a file and not its data.
		_ = os.Remove(path) // It protects no process, and would keep a directory that is not a conversation.
	}
	return err
}

// StatusNow judges the status of a conversation that is not open here, from what its
// base state says. A run is over that was left by a process which died: with the next
// message it is marked as failed. Programs without a lease are believed.
func StatusNow(root, id string, stored event.Status, opts Options) event.Status {
	if stored != event.Running {
		return stored
	}
	opts = opts.withDefaults()
	l := &lease{dir: Path(root, id), opts: opts}
	found, err := l.read()
	if err != nil || found.Instance == "" || found.Instance == opts.Holder.Instance || l.heldBy(found) != nil {
		return stored
	}
	// Whoever wrote later than the holder could has no lease.
	wrote := modified(filepath.Join(Path(root, id), stateFile))
	if wrote.After(modified(filepath.Join(Path(root, id), leaseFile)).Add(leaseTTL)) {
		return stored
	}
	return event.Failed
}
