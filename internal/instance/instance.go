// Package instance sees to it that a user runs one daemon, and lets the other
// commands find it.
//
// The runtime directory has three files, for the user only. daemon.lock is
// locked for as long as the daemon lives; the system lets go of it however the
// daemon ends. daemon.json says where the daemon listens. start.lock is locked
// while a daemon takes the other lock. The state directory has a daemon.lock as
// well: two daemons with the same records would run an agent twice. A daemon whose
// records are in a database that others share does not take it.
// Invariant: while daemon.lock is held, the address is that of its holder, or
// not there; without the lock the address does not count. So after a crash no
// client sends a token to the process that has that port by then.
package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/paths"
)

const (
	lockFile    = "daemon.lock"
	startFile   = "start.lock"
	addressFile = "daemon.json"
)

// patience is how long a start waits for the lock: commands that look for the
// daemon hold it for a moment, and so does a daemon that is just ending.
const patience = time.Second

// ErrNotRunning says that this user has no daemon.
var ErrNotRunning = errors.New("no daemon is running")

// Info is where a daemon is.
type Info struct {
	URL     string    `json:"url"` // without a slash at the end: "http://127.0.0.1:6449"
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Log     string    `json:"log,omitempty"` // where it keeps its log: a file, LogJournal, or "" for its terminal
}

// LogJournal is the Log of a daemon whose log is in systemd's journal.
const LogJournal = "journal"

// RunningError says that a daemon runs already.
type RunningError struct {
	Dir    string // the directory that it holds
	Info   Info   // empty while that daemon starts or ends, and for a state directory
	Holder filelock.Holder
}

func (e *RunningError) Error() string {
	if e.Info.URL == "" {
		return fmt.Sprintf("%s is in use by %s", e.Dir, e.Holder)
	}
	return fmt.Sprintf("a daemon of yours runs at %s (process %d)", e.Info.URL, e.Info.PID)
}

// Claim is the right to be the daemon.
type Claim struct {
	dir   string
	locks []*filelock.Lock
}

// Acquire takes that right, or returns a *RunningError. The directories are
// made if needed. An empty stateDir is not locked.
func Acquire(ctx context.Context, runtimeDir, stateDir string) (*Claim, error) {
	c := &Claim{dir: runtimeDir}
	if err := c.begin(ctx); err != nil {
		return nil, errors.Join(err, c.unlock())
	}
	if stateDir == "" {
		return c, nil
	}
	if err := c.take(ctx, stateDir); err != nil {
		return nil, errors.Join(err, c.unlock())
	}
	return c, nil
}

// begin takes the runtime directory. What a daemon left that could not clean up
// is removed before: Find would take it for this one's. Meanwhile start.lock
// keeps others from taking the lock, and from leaving an address.
func (c *Claim) begin(ctx context.Context) (err error) {
	start, err := acquire(ctx, c.dir, startFile, filelock.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, start.Release()) }()
	free, err := acquire(ctx, c.dir, lockFile, filelock.Options{Shared: true})
	if err != nil {
		return err
	}
	if err := errors.Join(c.withdraw(), free.Release()); err != nil {
		return err
	}
	return c.take(ctx, c.dir)
}

func (c *Claim) take(ctx context.Context, dir string) error {
	lock, err := acquire(ctx, dir, lockFile, filelock.Options{})
	if err != nil {
		return err
	}
	c.locks = append(c.locks, lock)
	return nil
}

func acquire(ctx context.Context, dir, name string, opts filelock.Options) (*filelock.Lock, error) {
	if err := paths.MakePrivate(dir); err != nil {
		return nil, err
	}
	opts.Timeout, opts.Mode = patience, 0o600
	lock, err := filelock.Acquire(ctx, filepath.Join(dir, name), opts)
	if busy, ok := errors.AsType[*filelock.BusyError](err); ok {
		info, findErr := Find(dir)
		if findErr != nil {
			info = Info{}
		}
		return nil, &RunningError{Dir: dir, Info: info, Holder: busy.Holder}
	}
	return lock, err
}

// Publish lets others find the daemon.
func (c *Claim) Publish(info Info) error {
	text, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("publish address: %w", err)
	}
	return atomicfile.Write(filepath.Join(c.dir, addressFile), append(text, '\n'), atomicfile.Options{MaxMode: 0o600})
}

// Release gives up the claim. From then on Find does not find the daemon.
func (c *Claim) Release() error {
	return errors.Join(c.withdraw(), c.unlock())
}

func (c *Claim) unlock() error {
	var errs []error
	for _, lock := range c.locks {
		errs = append(errs, lock.Release())
	}
	return errors.Join(errs...)
}

func (c *Claim) withdraw() error {
	if err := atomicfile.Remove(filepath.Join(c.dir, addressFile)); err != nil {
		return fmt.Errorf("withdraw address: %w", err)
	}
	return nil
}

// Find reports where the daemon with that runtime directory is. ErrNotRunning,
// also when a daemon has left its address behind.
func Find(dir string) (Info, error) {
	alive, err := filelock.Held(filepath.Join(dir, lockFile))
	if err != nil {
		return Info{}, fmt.Errorf("look for the daemon: %w", err)
	}
	if !alive {
		return Info{}, ErrNotRunning
	}
	info, err := read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Info{}, ErrNotRunning // it is just starting or ending
	}
	return info, err
}

func read(dir string) (Info, error) {
	path := filepath.Join(dir, addressFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return Info{}, fmt.Errorf("read address: %w", err)
	}
	var info Info
	if err := json.Unmarshal(text, &info); err != nil {
		return Info{}, fmt.Errorf("read address from %s: %w", path, err)
	}
	return info, nil
}
