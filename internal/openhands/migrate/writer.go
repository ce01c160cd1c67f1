package migrate

import (
	"time"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// writer is what all files of a run have in common: their backup, and which locks were
// waited for in vain.
type writer struct {
	lock   document.Locking
	parent string // of the backup
	now    func() time.Time
	backup *backup
	busy   map[string]bool // locks that were not available
}

func newWriter(l document.Locking, parent string, now func() time.Time) writer {
	return writer{lock: l, parent: parent, now: now, busy: map[string]bool{}}
}

// locking returns how to wait for the lock of a file. It does not wait again for
// a lock that it did not get in time: a store has hundreds of files and one lock.
func (w *writer) locking(f document.File) document.Locking {
	l := w.lock
	if w.busy[f.Lock] {
		l.Timeout = -1
	}
	return l
}

// note remembers a lock that was not available.
func (w *writer) note(f document.File, err error) {
	if document.IsLockError(err) {
		w.busy[f.Lock] = true
	}
}

// save puts a file into the backup, which is made with the first one.
func (w *writer) save(f document.File, before document.Snapshot, after *jsonedit.Doc) error {
	if w.backup == nil {
		b, err := newBackup(w.parent, w.now())
		if err != nil {
			return err
		}
		w.backup = b
	}
	return w.backup.add(f, before.Doc.Bytes(), after.Bytes())
}

// dir is the directory of the backup; "" when no file was changed.
func (w *writer) dir() string {
	if w.backup == nil {
		return ""
	}
	return w.backup.dir
}

func (w *writer) close() error { return w.backup.close() }
