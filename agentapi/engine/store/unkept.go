package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// unkeptFile says that a conversation was written without waiting for the disk.
const unkeptFile = ".ohgw-unkept"

// Unkept is the disk of one conversation that does not have to outlive a loss of power, until
// [Unkept.Keep]. What a process has written is there after its death: the system has it. But
// it decides itself when the disk gets it, and in which order.
//
// A file in the directory says so to the process that opens the conversation next. It is
// another name of an empty file that is there anyway: to make and remove files is what a
// short conversation takes longest for.
type Unkept struct {
	mu    sync.Mutex
	files Files  // the real disk
	dir   string // the conversation; empty: it is not there yet
	kept  bool   // the disk has the conversation, and Sync waits for it
	later *later // nil: all is written
}

// later is a file that is not written yet, because it is replaced soon.
type later struct {
	path string
	data []byte
}

// Mkdir makes a directory.
func (u *Unkept) Mkdir(path string) error { return u.files.Mkdir(path) }

// MkdirAll makes a directory with its parents.
func (u *Unkept) MkdirAll(path string) error { return u.files.MkdirAll(path) }

// Write writes a file.
func (u *Unkept) Write(path string, data []byte, sync bool) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	err := u.files.Write(path, data, sync && u.kept)
	if err == nil && u.later != nil && u.later.path == path {
		u.later = nil
	}
	return err
}

// put has a file of a new conversation written when it is kept or closed, unless it is replaced
// before. What the file says has to be found elsewhere, too: a process that dies leaves none.
func (u *Unkept) put(path string, data []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.later = &later{path, data}
}

// finish writes what was put off, unless the conversation was removed.
func (u *Unkept) finish() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.catchUp(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// catchUp writes what was put off. A process that has taken the conversation has made the file.
func (u *Unkept) catchUp() error {
	if u.later == nil || exists(u.later.path) {
		return nil
	}
	err := u.files.Write(u.later.path, u.later.data, false)
	if err == nil {
		u.later = nil
	}
	return err
}

// passes reports whether the conversation may be gone after a loss of power.
func (u *Unkept) passes() bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.kept
}

// Overwrite writes over a file.
func (u *Unkept) Overwrite(path string, data []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.files.Overwrite(path, data)
}

// Sync waits for the disk once the conversation is kept. Until then it does nothing.
func (u *Unkept) Sync(paths []string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.kept {
		return nil
	}
	return u.files.Sync(paths)
}

// WriteAt serves journals, which have no events of a conversation that is not kept.
func (u *Unkept) WriteAt(path string, data []byte, at int64) error {
	return u.files.WriteAt(path, data, at)
}

// SyncAll serves journals, too.
func (u *Unkept) SyncAll(dir string) error { return u.files.SyncAll(dir) }

// Keep puts the conversation on the disk, and has it kept from now on. It may be called at any
// time, by any goroutine; a second call does nothing.
func (u *Unkept) Keep() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.kept || u.dir == "" {
		return nil
	}
	if err := u.catchUp(); err != nil {
		return fmt.Errorf("keep conversation: %w", err)
	}
	err := u.sync()
	for tries := 1; tries < keepTries && errors.Is(err, fs.ErrNotExist); tries++ {
		err = u.sync() // The agent is working, and has removed a file of its own meanwhile.
	}
	if err == nil {
		err = os.Remove(filepath.Join(u.dir, unkeptFile))
	}
	if err != nil {
		return fmt.Errorf("keep conversation: %w", err)
	}
	u.kept = true
	return nil
}

// keepTries is how often Keep looks for the files of a conversation.
const keepTries = 10

// sync puts all that is in the directory now on the disk.
func (u *Unkept) sync() error {
	paths, err := everything(u.dir)
	if err != nil {
		return err
	}
	return u.files.Sync(paths)
}

// begin notes in the directory of a new conversation that it is not kept.
func (u *Unkept) begin(dir string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dir = dir
	path := filepath.Join(dir, unkeptFile)
	if os.Link(filepath.Join(dir, leaseLock), path) == nil {
		return nil
	}
	return u.files.Write(path, nil, false) // where files have one name only
}

// resume takes over the directory of a conversation. It is kept if it was: there is no way back.
func (u *Unkept) resume(dir string) error {
	_, err := os.Lstat(filepath.Join(dir, unkeptFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open conversation: %w", err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dir, u.kept = dir, err != nil
	return nil
}

// everything is all that the disk must have of a conversation, and the names of all of it. The
// directory of all conversations comes first, see [Create].
func everything(dir string) ([]string, error) {
	paths := []string{filepath.Dir(dir)}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && (e.IsDir() || e.Type().IsRegular() && !passing(e.Name())) {
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}

// passing reports whether a file comes and goes while the conversation is open, and says
// nothing once the machine has died.
func passing(name string) bool {
	return isMarker(name) || name == leaseFile || strings.HasPrefix(name, ".ohgw-") || strings.HasSuffix(name, ".lock")
}
