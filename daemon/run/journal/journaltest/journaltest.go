// Package journaltest has a disk for tests that becomes full.
package journaltest

import (
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/ohgw/ohgw/daemon/run/journal"
)

// Disk stands between a journal and its file: it may be full.
type Disk struct {
	NoTrim bool // Truncate fails, too

	full   atomic.Bool
	room   atomic.Int64
	closed atomic.Bool
	synced atomic.Int64
}

// Full leaves room for so many bytes of each write.
func (d *Disk) Full(room int) {
	d.room.Store(int64(room))
	d.full.Store(true)
}

// Free ends Full.
func (d *Disk) Free() { d.full.Store(false) }

// Close lets no file be opened any more.
func (d *Disk) Close() { d.closed.Store(true) }

// Syncs counts what was synced.
func (d *Disk) Syncs() int { return int(d.synced.Load()) }

// Open opens the file of a journal on this disk.
func (d *Disk) Open(path string) (journal.File, error) {
	if d.closed.Load() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EROFS}
	}
	f, err := journal.OpenFile(path)
	return diskFile{f, d}, err
}

type diskFile struct {
	journal.File
	d *Disk
}

func (f diskFile) Write(p []byte) (int, error) {
	room := int(f.d.room.Load())
	if !f.d.full.Load() || len(p) <= room {
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:room])
	if err == nil {
		err = syscall.ENOSPC
	}
	return n, err
}

func (f diskFile) Truncate(size int64) error {
	if f.d.NoTrim {
		return syscall.EIO
	}
	return f.File.Truncate(size)
}

func (f diskFile) Sync() error {
	f.d.synced.Add(1)
	return f.File.Sync()
}
