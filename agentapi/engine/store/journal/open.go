package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/filelock"
)

// Dir is the name of the directory with the journals, beside the conversations.
const Dir = ".ohgw-journal"

// lockFile is held while a process restores what others have left. It stays.
const lockFile = "lock"

// restoring is how long Open waits for another process that restores.
const restoring = 30 * time.Second

// Open returns the journal of a process, once the events are restored that processes before it
// have put into theirs and a loss of power took. It restores nothing of processes that live.
// What cannot be restored is logged, and stays in its journal for the next process.
func Open(cfg Config) *Journal {
	j := &Journal{cfg: cfg}
	if err := j.restore(); err != nil {
		cfg.Log.Error("cannot restore the last events of conversations; they are in the journals of the directory", "directory", cfg.Dir, "err", err)
	}
	return j
}

// restore restores the events of journals that were left, and has these removed when the disk
// has the events.
func (j *Journal) restore() error {
	names, err := left(j.dir())
	if err != nil || len(names) == 0 {
		return err
	}
	lock, err := filelock.Acquire(context.Background(), filepath.Join(j.dir(), lockFile), filelock.Options{Timeout: restoring, Mode: mode})
	if err != nil {
		return err
	}
	records := make(map[string][]Record)
	var files []*file
	for _, name := range names { // oldest first
		f, took := j.adopt(name, records)
		err = errors.Join(err, took)
		if f != nil {
			files = append(files, f)
		}
	}
	var failed error
	for conversation, records := range records {
		if lost := j.cfg.Restore(conversation, records); lost != nil {
			failed = errors.Join(failed, fmt.Errorf("conversation %s: %w", conversation, lost))
		}
	}
	if failed != nil {
		for _, f := range files { // for the next process
			failed = errors.Join(failed, f.lock.Release())
		}
		return errors.Join(err, failed, lock.Release())
	}
	if j.old = files; len(files) > 0 {
		j.wake()
	}
	return errors.Join(err, lock.Release())
}

// mode is that of a journal: it has what conversations have.
const mode fs.FileMode = 0o600

// left lists the journals in a directory, oldest first.
func left(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list journals: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// tryLock takes the lock of a journal, which is the file itself.
func tryLock(path string) (*filelock.Lock, error) {
	return filelock.Acquire(context.Background(), path, filelock.Options{Timeout: -1, Mode: mode})
}

// adopt reads a journal whose process has died, and takes it; nil: the process lives.
func (j *Journal) adopt(name string, records map[string][]Record) (*file, error) {
	path := filepath.Join(j.dir(), name)
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it was removed meanwhile
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	lock, err := tryLock(path)
	if _, busy := errors.AsType[*filelock.BusyError](err); busy {
		return nil, nil // its process lives
	}
	if err != nil {
		return nil, err
	}
	found, err := read(in)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	f := &file{path: path, lock: lock, of: make(map[string]bool)}
	f.add(&batch{records: found})
	for _, r := range found {
		if r.Event == "" {
			maps.DeleteFunc(records, func(name string, _ []Record) bool { return within(r.Conversation, name) })
			continue
		}
		records[r.Conversation] = append(records[r.Conversation], r)
	}
	return f, nil
}
