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
	"sync"
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
// have put into theirs and a loss of power took. It restores nothing of processes that live. A
// conversation that cannot be restored is for [Journal.Restored].
func Open(cfg Config) *Journal {
	j := &Journal{cfg: cfg}
	if err := j.restore(); err != nil {
		cfg.Log.Error("cannot read the journal with the last events of conversations; repair what the error names, and restart ohgw", "directory", j.dir(), "err", err)
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
	for _, name := range names { // oldest first
		f, took := j.adopt(name, records)
		err = errors.Join(err, took)
		if f != nil {
			j.unrestored.files = append(j.unrestored.files, f)
		}
	}
	for conversation, records := range records {
		if lost := j.cfg.Restore(conversation, records); lost != nil {
			j.cfg.Log.Error("cannot restore the last events of a conversation; repair what the error names, and continue the conversation",
				"conversation", conversation, "journal", j.dir(), "err", lost)
			j.unrestored.add(conversation, records)
		}
	}
	j.finish()
	return errors.Join(err, lock.Release())
}

// unrestored is what a process before this one has left, and is not restored yet.
type unrestored struct {
	mu      sync.Mutex
	records map[string][]Record // of conversations
	files   []*file             // which have them
}

func (u *unrestored) add(conversation string, records []Record) {
	if u.records == nil {
		u.records = make(map[string][]Record)
	}
	u.records[conversation] = records
}

// Restored makes sure, before the conversation in a directory is opened, that the events are
// there that Open could not restore. What is written behind a log that lacks its end would
// take the place of these events for good.
func (j *Journal) Restored(dir string) error {
	conversation, ok := j.Name(dir)
	if !ok {
		return nil
	}
	j.unrestored.mu.Lock()
	defer j.unrestored.mu.Unlock()
	records, ok := j.unrestored.records[conversation]
	if !ok {
		return nil
	}
	if err := j.cfg.Restore(conversation, records); err != nil {
		return fmt.Errorf("restore the last events of the conversation: %w", err)
	}
	delete(j.unrestored.records, conversation)
	j.finish()
	return nil
}

// abandon forgets what is not restored of a conversation, and of those below it: another one
// is made in its directory. Their journal says so, too, as long as it has to stay for others.
func (j *Journal) abandon(conversation string) (err error) {
	j.unrestored.mu.Lock()
	defer j.unrestored.mu.Unlock()
	for _, f := range j.unrestored.files {
		if !f.has(conversation) {
			continue
		}
		end := Record{Conversation: conversation}.encode(nil)
		if fails := j.cfg.Disk.WriteAt(f.path, end, f.size); fails != nil {
			err = errors.Join(err, fmt.Errorf("write the journal: %w", fails))
			continue
		}
		f.size += int64(len(end))
	}
	if err != nil {
		return err
	}
	maps.DeleteFunc(j.unrestored.records, func(name string, _ []Record) bool { return within(conversation, name) })
	j.finish()
	return nil
}

// finish has the journals of earlier processes removed, once all they have is restored.
func (j *Journal) finish() {
	u := &j.unrestored
	if len(u.records) > 0 || len(u.files) == 0 {
		return
	}
	j.io.Lock()
	defer j.io.Unlock()
	j.old, u.files = append(j.old, u.files...), nil
	if !j.closed {
		j.wake()
	}
}

// leave leaves journals that are not restored to the next process.
func (u *unrestored) leave() (err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, f := range u.files {
		err = errors.Join(err, f.lock.Release())
	}
	u.files = nil
	return err
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
		f.size += int64(len(r.encode(nil)))
		if r.Event == "" {
			maps.DeleteFunc(records, func(name string, _ []Record) bool { return within(r.Conversation, name) })
			continue
		}
		records[r.Conversation] = append(records[r.Conversation], r)
	}
	return f, nil
}
