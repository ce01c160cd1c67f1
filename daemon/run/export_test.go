package run

import (
	"io/fs"
	"sync/atomic"
	"syscall"
)

// Disk stands between a manager's journal and its file: it may be full.
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

// Use puts d below the journal of m, before its first write.
func (d *Disk) Use(m *Manager) { m.oneShots.journal.open = d.open }

func (d *Disk) open(path string) (journalFile, error) {
	if d.closed.Load() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EROFS}
	}
	f, err := openJournalFile(path)
	return diskFile{f, d}, err
}

type diskFile struct {
	journalFile
	d *Disk
}

func (f diskFile) Write(p []byte) (int, error) {
	room := int(f.d.room.Load())
	if !f.d.full.Load() || len(p) <= room {
		return f.journalFile.Write(p)
	}
	n, err := f.journalFile.Write(p[:room])
	if err == nil {
		err = syscall.ENOSPC
	}
	return n, err
}

func (f diskFile) Truncate(size int64) error {
	if f.d.NoTrim {
		return syscall.EIO
	}
	return f.journalFile.Truncate(size)
}

func (f diskFile) Sync() error {
	f.d.synced.Add(1)
	return f.journalFile.Sync()
}

// Noted counts the one-shots that m has in memory.
func (m *Manager) Noted() int {
	m.oneShots.mu.Lock()
	defer m.oneShots.mu.Unlock()
	return len(m.oneShots.shots)
}
