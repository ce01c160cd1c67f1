package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/filelock"
)

// OpenHands since 1.45 keeps an empty file beside the events whose name is their
// number. While it fits the log in memory, a process of OpenHands appends without
// looking at the directory. So a marker that is wrong costs an event: two files
// get one index.
//
// Here the marker goes before the first event is written, and a right one comes
// when the lock is let go. A process that is killed in between leaves none, and
// the next writer counts. OpenHands itself moves the marker behind the event, and
// OpenHands before 1.45 leaves it as it is. So a marker alone is not believed here.
// The directory has a time of ours, too, which it keeps as long as no name in it
// comes or goes.

const (
	markerPrefix = ".eventlog-len-"
	markerSuffix = ".marker"
	logLock      = ".eventlog.lock"
)

// marker is the marker of a log.
type marker struct {
	unsure  bool // there may be a file of an event that is not in the log: no marker is right
	written bool // it is there, and it is right
	// at is the time of the events' directory since the marker was written; zero where
	// it says nothing.
	at time.Time
}

// isMarker reports whether a file is a marker, of whatever number.
func isMarker(name string) bool {
	digits, ok := strings.CutPrefix(name, markerPrefix)
	digits, isMarker := strings.CutSuffix(digits, markerSuffix)
	return ok && isMarker && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// lockTimeout is how long OpenHands waits for the lock of the log.
const lockTimeout = 30 * time.Second

// hold takes the lock of the log, unless we have it, and reads what others have
// written.
func (d *Dir) hold() error {
	if d.locked {
		return nil
	}
	if d.lock == nil {
		d.lock = filelock.Keep(filepath.Join(d.eventsDir(), logLock), filelock.Options{Timeout: lockTimeout, Mode: fileMode})
	}
	if err := d.lock.Lock(context.Background()); err != nil {
		return err
	}
	if err := d.catchUp(); err != nil {
		return errors.Join(err, d.lock.Unlock())
	}
	d.locked = true
	return nil
}

// Rest lets the lock of the log go: nothing is about to be written.
func (d *Dir) Rest() {
	if !d.locked {
		return
	}
	if !d.opts.Unkept.passes() { // The few events of a one-shot are counted.
		d.marker.write(d.eventsDir(), len(d.log), d.opts.Now())
	}
	_ = d.lock.Unlock() // nothing depends on it: the lock goes with its file handle
	d.locked = false
}

// markerOf is the marker of a log with n events in dir.
func markerOf(dir string, n int) string {
	return filepath.Join(dir, markerPrefix+strconv.Itoa(n)+markerSuffix)
}

// write writes the marker of a log with n events in dir, unless it is there. Without
// one, others count, which an empty log does not need to be saved.
func (m *marker) write(dir string, n int, now time.Time) {
	if m.unsure || n == 0 {
		return
	}
	if !m.written {
		if putMarker(dir, n) != nil {
			return
		}
		m.written = true
	} else if !m.at.IsZero() {
		return // nothing has changed
	}
	// Where this fails, and where files have coarse times, the events are counted.
	stamp := now.Truncate(time.Microsecond).Add(oddTime)
	if os.Chtimes(dir, time.Time{}, stamp) == nil && modifiedAt(dir).Equal(stamp) {
		m.at = stamp
	}
}

// putMarker gives the lock of the log, which is empty, the name of a marker: with each turn a
// marker goes and another comes, and a name costs less than a file.
func putMarker(dir string, n int) error {
	path := markerOf(dir, n)
	if err := os.Link(filepath.Join(dir, logLock), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, fileMode) // where files have one name only
	if err != nil {
		return err
	}
	return f.Close()
}

// oddTime makes a time that no clock gives by itself, and that a file system with
// coarse times does not keep.
const oddTime = 333 * time.Nanosecond

// modifiedAt is when a name in a directory has last come or gone.
func modifiedAt(dir string) time.Time {
	info, err := os.Stat(dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// remove removes the marker: the number of events, n, is about to change.
func (m *marker) remove(dir string, n int) {
	if m.written {
		_ = os.Remove(markerOf(dir, n)) // OpenHands, too, goes on when it cannot.
	}
	m.written, m.at = false, time.Time{}
}

// counts reports whether no other process has written since the marker was.
func (m *marker) counts(dir string, n int) bool {
	return !m.at.IsZero() && modifiedAt(dir).Equal(m.at) && exists(markerOf(dir, n))
}

// Sync takes the lock of the log and reads what others have written since.
func (d *Dir) Sync() error {
	if err := d.hold(); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return nil
}

// Foreign returns the events of other writers that have come since it was asked last.
// They are in the log, each before the next event that is appended here.
func (d *Dir) Foreign() []event.Event {
	foreign := d.foreign
	d.foreign = nil
	return foreign
}

// catchUp reads the events that others have appended, and removes markers that are
// wrong. The lock is held.
func (d *Dir) catchUp() error {
	dir := d.eventsDir()
	if d.marker.counts(dir, len(d.log)) {
		return nil
	}
	d.marker.written, d.marker.at = false, time.Time{}
	names, err := readNames(dir)
	if err != nil {
		return fmt.Errorf("list events: %w", err)
	}
	var files []eventFile
	for _, name := range names {
		if isMarker(name) {
			// OpenHands, too, goes on when it cannot.
			_ = os.Remove(filepath.Join(dir, name))
			continue
		}
		if i, ok := eventIndex(name); ok && i >= len(d.log) {
			files = append(files, eventFile{index: i, name: name})
		}
	}
	d.beyond, d.marker.unsure = nil, false
	if len(files) == 0 {
		return nil
	}
	slices.SortFunc(files, byIndex)
	files, d.beyond = contiguous(files, len(d.log))
	events, errs := readAll(dir, files)
	whole, err := d.damagedTail(files, events, errs)
	if err != nil {
		return err
	}
	for i, e := range events[:whole] {
		d.add(e, files[i].name)
		d.unsynced = append(d.unsynced, unsynced{path: filepath.Join(dir, files[i].name)})
	}
	d.foreign = append(d.foreign, events[:whole]...)
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// readNames are the names in a directory, in no order.
func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

func byIndex(a, b eventFile) int {
	if a.index != b.index {
		return a.index - b.index
	}
	return strings.Compare(a.name, b.name)
}
