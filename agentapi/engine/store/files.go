package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// fileMode is that of everything in a conversation: it is its owner's alone.
const fileMode = 0o600

// Files is how a directory is written: the place where tests make a disk full
// or a process die. Reading is never part of it.
type Files interface {
	Mkdir(path string) error
	MkdirAll(path string) error
	// Write replaces or makes a file in one step: a process that dies leaves the
	// whole file or the one before it. With sync it is on the disk when Write
	// returns.
	Write(path string, data []byte, sync bool) error
	// Overwrite writes over the beginning of a file, or makes it. A process that dies
	// leaves an empty file where there was none, else the old data or the new. It is for
	// short files that others read under a lock of the writer.
	Overwrite(path string, data []byte) error
	// Sync puts files on the disk that were written without, or the names in a
	// directory.
	Sync(paths []string) error
	// WriteAt and SyncAll are those of a [journal.Disk].
	WriteAt(path string, data []byte, at int64) error
	SyncAll(dir string) error
}

// Disk is the real disk.
type Disk struct{}

// Mkdir makes a directory that only its owner can enter.
func (Disk) Mkdir(path string) error { return os.Mkdir(path, 0o700) }

// MkdirAll makes a directory with its parents.
func (Disk) MkdirAll(path string) error { return os.MkdirAll(path, 0o700) }

// Write writes a temporary file and renames it. Events need that, too: OpenHands
// does not open a conversation that has an empty event. A conversation has one
// writer, so the temporary file has one name, and what a process that died has
// left of it is written over.
func (Disk) Write(path string, data []byte, sync bool) error {
	dir := filepath.Dir(path)
	temp := tempFile(path)
	err := fill(temp, data, sync)
	if err == nil {
		err = rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if sync {
		return syncFile(dir)
	}
	return nil
}

// Overwrite writes data in one call, which lies in one page of the system's: no signal ends
// it in its middle.
func (Disk) Overwrite(path string, data []byte) error {
	h, err := open(path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	return errors.Join(h.write(data), h.close())
}

// WriteAt writes over a file, and waits for the disk.
func (Disk) WriteAt(path string, data []byte, at int64) error {
	h, err := open(path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	err = h.seek(at)
	if err == nil {
		err = h.write(data)
	}
	if err == nil {
		err = h.syncData()
	}
	return errors.Join(err, h.close())
}

// tempFile is where a file is written before it has its name. All events share
// one, outside of their directory, where OpenHands expects nothing but events.
func tempFile(path string) string {
	dir, name := filepath.Split(path)
	if strings.HasPrefix(name, "event-") {
		dir, name = filepath.Join(dir, ".."), "event"
	}
	return filepath.Join(dir, ".ohgw-"+name+".tmp")
}

// fill writes a file that may be there, and with sync waits for the disk.
func fill(path string, data []byte, sync bool) error {
	h, err := open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	err = h.write(data)
	if err == nil && sync {
		err = h.sync()
	}
	return errors.Join(err, h.close())
}

// maxSyncs is how many files are synced at once: each holds a thread.
const maxSyncs = 32

// Sync waits until the files are on the disk. A journaling file system writes everything
// that it knows of in one commit, and one commit follows another, also for other
// conversations. So Sync starts the writes of all files, and only then waits for the first
// one alone: the commit of the first one has the others, too.
func (Disk) Sync(paths []string) error {
	files := make([]file, len(paths))
	return syncAll(len(paths),
		func(i int) { files[i] = file{path: paths[i], keep: i < maxKept}; files[i].start() },
		func(i int) error { return files[i].finish() })
}

// maxKept is how many files one Sync holds open between its two passes.
const maxKept = 32

// file is one that is on its way to the disk.
type file struct {
	path string
	keep bool // open between start and finish
	kept bool // it is: h is valid
	h    handle
}

// start has the system begin to write the file. A failure is told by finish.
func (f *file) start() {
	if !startsWrites || skipped(f.path) {
		return
	}
	h, err := open(f.path, os.O_RDONLY)
	if err != nil {
		return
	}
	h.start()
	if f.keep {
		f.h, f.kept = h, true
		return
	}
	_ = h.close() // It was only read.
}

// finish waits for the file.
func (f *file) finish() error {
	if !f.kept {
		return syncFile(f.path)
	}
	return errors.Join(f.h.sync(), f.h.close())
}

// syncAll calls start for n files, then sync for the first one, then sync for
// the others, several at a time.
func syncAll(n int, start func(i int), syncOne func(i int) error) error {
	if n == 0 {
		return nil
	}
	for i := range n {
		start(i)
	}
	errs := make([]error, n)
	errs[0] = syncOne(0)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(maxSyncs, n-1) {
		all.Go(func() {
			for i := next.Add(1); i < int64(n); i = next.Add(1) {
				errs[i] = syncOne(int(i))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func syncFile(path string) error {
	if skipped(path) {
		return nil
	}
	h, err := open(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	return errors.Join(h.sync(), h.close())
}

// skipped reports whether a path is a directory on Windows, which keeps names by
// itself and does not take a directory for a file.
func skipped(path string) bool {
	if runtime.GOOS != "windows" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
