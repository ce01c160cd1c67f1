package store

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

// Files is how a directory is written: the place where tests make a disk full
// or a process die. Reading is never part of it.
type Files interface {
	Mkdir(path string) error
	MkdirAll(path string) error
	// Write replaces or makes a file in one step. With sync it is on the disk
	// when Write returns.
	Write(path string, data []byte, sync bool) error
	// Sync puts files on the disk that were written without.
	Sync(paths []string) error
}

// Disk is the real disk.
type Disk struct{}

// Mkdir makes a directory that only its owner can enter.
func (Disk) Mkdir(path string) error { return os.Mkdir(path, 0o700) }

// MkdirAll makes a directory with its parents.
func (Disk) MkdirAll(path string) error { return os.MkdirAll(path, 0o700) }

// Write writes a temporary file beside path and renames it.
func (Disk) Write(path string, data []byte, sync bool) error {
	if sync {
		return atomicfile.Write(path, data, atomicfile.Options{})
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ohgw-*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// maxSyncs is how many files are synced at once: each holds a thread.
const maxSyncs = 32

// Sync waits until the files are on the disk. It asks for many at once: a file
// system writes them together.
func (Disk) Sync(paths []string) error {
	errs := make([]error, len(paths))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(maxSyncs, len(paths)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(paths)); i = next.Add(1) - 1 {
				errs[i] = syncFile(paths[i])
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
