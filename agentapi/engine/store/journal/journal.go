// Package journal puts the events of conversations on the disk with one wait.
//
// OpenHands keeps each event in a file of its own, so an event that has to outlive a loss of
// power takes a wait for its file and one for the name of the file. A journal is one file for
// the events of all conversations of a process: what is written at once takes one wait, also
// from several conversations. The files of the events are written as before, without waiting.
// Whoever reads a conversation reads those, and never a journal.
//
// A journal is removed once the disk has all that it holds, at the latest [Every] after its
// first event and when the process ends. One that a process has left behind was not removed:
// the next process restores the events that the disk has lost since, see [Open].
package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/rescue"
)

// Every is how long a journal is written. The system writes files after half a minute by
// itself, so little is left to be written then.
const Every = 30 * time.Second

// maxSize is the size of a journal, in bytes, after which it is removed as soon as the disk
// has all of it.
const maxSize = 8 << 20

// chunk is by how much a journal grows, in bytes: some dozens of turns.
const chunk = 64 << 10

// maxNamed is how many files are put on the disk one by one when a process ends. More take a
// wait for all that any program has written.
const maxNamed = 64

// Disk is how a journal is written.
type Disk interface {
	// MkdirAll makes a directory with its parents.
	MkdirAll(path string) error
	// WriteAt writes over a file from an offset on, or makes it. The data is on the disk when
	// WriteAt returns.
	WriteAt(path string, data []byte, at int64) error
	// Sync puts files on the disk, or the names in a directory.
	Sync(paths []string) error
	// SyncAll puts everything on the disk that was written to the file system of a
	// directory.
	SyncAll(dir string) error
}

// Config is what a journal needs of the world.
type Config struct {
	Dir  string // of all conversations; a directory in it has the journals
	Disk Disk
	Now  func() time.Time
	// Restore makes the files of a conversation's events that are not there or damaged. The
	// records are in the order in which they were written.
	Restore func(conversation string, records []Record) error
	Log     *slog.Logger
}

// Record is an event.
type Record struct {
	Conversation string // the path of its directory below that of all, with slashes
	Event        string // the name of its file
	Data         []byte
}

// Journal is the journal of a process. A nil one keeps nothing.
type Journal struct {
	cfg        Config
	unrestored unrestored

	mu   sync.Mutex
	next *batch // what the next write has; nil: nothing

	// io is held while something is written.
	io     sync.Mutex
	file   *file   // nil: there is none
	old    []*file // of which the disk may not have all
	timer  *time.Timer
	closed bool
	work   sync.WaitGroup // on old files
}

// batch is what is written at once.
type batch struct {
	data    []byte
	records []Record
	written bool
	err     error
}

// file is a journal on the disk.
type file struct {
	path  string
	lock  *filelock.Lock
	size  int64           // of the records
	room  int64           // with the zeros that follow
	of    map[string]bool // conversations with events in it
	names []string        // of the events' files, up to one more than maxNamed
}

// errClosed says that a journal has ended with its process.
var errClosed = errors.New("the journal is closed")

// Keep puts the events on the disk, in one go with those of other callers. The files of the
// events have to be written before. After an error the caller puts the files on the disk
// itself.
func (j *Journal) Keep(records ...Record) error {
	b := j.join(records)
	j.io.Lock() // meanwhile others join
	defer j.io.Unlock()
	if !b.written {
		b.err, b.written = j.write(j.take(b)), true
	}
	return b.err
}

// join adds records to the next write.
func (j *Journal) join(records []Record) *batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.next == nil {
		j.next = &batch{}
	}
	for _, r := range records {
		j.next.data = r.encode(j.next.data)
	}
	j.next.records = append(j.next.records, records...)
	return j.next
}

// take ends joining b.
func (j *Journal) take(b *batch) *batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next = nil
	return b
}

// write writes a batch. After a failure, the file takes no more: what follows a damaged record
// is not read.
func (j *Journal) write(b *batch) error {
	if err := j.begin(); err != nil {
		return err
	}
	f := j.file
	first := f.size == 0
	err := j.cfg.Disk.WriteAt(f.path, f.fill(b.data), f.size)
	if err == nil && first {
		err = j.cfg.Disk.Sync([]string{j.dir(), j.cfg.Dir})
	}
	f.add(b)
	if err != nil {
		j.retire()
		return fmt.Errorf("write the journal: %w", err)
	}
	if f.size > maxSize {
		j.timer.Reset(0)
	}
	return nil
}

// begin begins a file, unless there is one.
func (j *Journal) begin() error {
	switch {
	case j.closed:
		return errClosed
	case j.file != nil:
		return nil
	}
	err := j.cfg.Disk.MkdirAll(j.dir())
	path := filepath.Join(j.dir(), name(j.cfg.Now()))
	var lock *filelock.Lock
	if err == nil {
		lock, err = tryLock(path)
	}
	if err != nil {
		return fmt.Errorf("begin a journal: %w", err)
	}
	j.file = &file{path: path, lock: lock, of: make(map[string]bool)}
	j.wake()
	return nil
}

// dir is the directory of the journals.
func (j *Journal) dir() string { return filepath.Join(j.cfg.Dir, Dir) }

// wake has the files removed after their time.
func (j *Journal) wake() {
	if j.timer == nil {
		j.timer = time.AfterFunc(Every, func() { _ = rescue.Do(j.checkpoint) }) // logged there
		return
	}
	j.timer.Reset(Every)
}

// fill adds zeros to data that does not fit into the room of the file. As long as the records
// take the place of zeros the file stays as long as it is, and its size is nothing that the disk
// has to keep.
func (f *file) fill(data []byte) []byte {
	end := f.size + int64(len(data))
	if end <= f.room {
		return data
	}
	f.room = (end/chunk + 1) * chunk
	return append(data, make([]byte, f.room-end)...)
}

func (f *file) add(b *batch) {
	f.size += int64(len(b.data))
	for _, r := range b.records {
		f.of[r.Conversation] = true
		if r.Event != "" && len(f.names) <= maxNamed {
			f.names = append(f.names, filepath.Join(filepath.FromSlash(r.Conversation), "events", r.Event))
		}
	}
}

// retire ends the file at hand.
func (j *Journal) retire() {
	if j.file != nil {
		j.old, j.file = append(j.old, j.file), nil
	}
}

// checkpoint puts all that the files hold on the disk and removes them.
func (j *Journal) checkpoint() error {
	j.io.Lock()
	if j.closed {
		j.io.Unlock()
		return nil
	}
	j.retire()
	old := j.old
	if j.old = nil; len(old) == 0 {
		j.io.Unlock()
		return nil
	}
	j.work.Add(1)
	j.io.Unlock()
	defer j.work.Done()

	err := j.cfg.Disk.SyncAll(j.cfg.Dir) // not under io: it can take long
	if err == nil {
		return remove(old)
	}
	j.cfg.Log.Warn("cannot put conversations on the disk; their journal is kept", "directory", j.cfg.Dir, "err", err)
	j.io.Lock()
	defer j.io.Unlock()
	if j.old = append(old, j.old...); !j.closed {
		j.wake()
	}
	return err
}

// remove removes files, and lets go of them.
func remove(files []*file) (err error) {
	for _, f := range files {
		if gone := os.Remove(f.path); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		err = errors.Join(err, f.lock.Release())
	}
	return err
}

// Name is what a record calls the conversation in a directory; false: the journal takes none of
// its events.
func (j *Journal) Name(dir string) (conversation string, ok bool) {
	if j == nil {
		return "", false
	}
	rel, err := filepath.Rel(j.cfg.Dir, dir)
	return filepath.ToSlash(rel), err == nil && rel != "." && filepath.IsLocal(rel)
}

// Forget says that a new conversation is made in a directory. What the journal has of one that
// was there before, and of those below, is not restored.
func (j *Journal) Forget(dir string) error {
	conversation, ok := j.Name(dir)
	if !ok {
		return nil
	}
	if err := j.abandon(conversation); err != nil || !j.knows(conversation) {
		return err
	}
	return j.Keep(Record{Conversation: conversation})
}

func (j *Journal) knows(conversation string) bool {
	j.io.Lock()
	defer j.io.Unlock()
	files := j.old
	if j.file != nil {
		files = append(slices.Clone(files), j.file)
	}
	return slices.ContainsFunc(files, func(f *file) bool { return f.has(conversation) })
}

// has reports whether a file has events of a conversation, or of one below it.
func (f *file) has(conversation string) bool {
	for name := range f.of {
		if within(conversation, name) {
			return true
		}
	}
	return false
}

// within reports whether a conversation is another one, or below it.
func within(other, conversation string) bool {
	rest, ok := strings.CutPrefix(conversation, other)
	return ok && (rest == "" || rest[0] == '/')
}

// Close puts all that the files hold on the disk and removes them.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	j.io.Lock()
	j.closed = true
	if j.timer != nil {
		j.timer.Stop()
	}
	j.io.Unlock()
	j.work.Wait()
	left := j.unrestored.leave()
	j.io.Lock()
	defer j.io.Unlock()
	j.retire()
	if len(j.old) == 0 {
		return left
	}
	if err := j.sync(); err != nil {
		return errors.Join(fmt.Errorf("close the journal: %w", err), left) // the next process restores what is lost
	}
	old := j.old
	j.old = nil
	return errors.Join(remove(old), left)
}

// sync puts what the old files hold on the disk.
func (j *Journal) sync() error {
	seen := make(map[string]bool)
	var paths []string
	add := func(path string) {
		if _, err := os.Lstat(path); err == nil && !seen[path] { // else its conversation was removed
			seen[path], paths = true, append(paths, path)
		}
	}
	for _, f := range j.old {
		for _, name := range f.names {
			path := filepath.Join(j.cfg.Dir, name)
			add(path)
			add(filepath.Dir(path))
		}
		if len(f.names) > maxNamed || len(paths) > 2*maxNamed {
			return j.cfg.Disk.SyncAll(j.cfg.Dir)
		}
	}
	err := j.cfg.Disk.Sync(paths)
	if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
		return j.cfg.Disk.SyncAll(j.cfg.Dir)
	}
	return err
}
