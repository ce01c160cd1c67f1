// Package logfile is the log of a daemon that no terminal and no service manager
// keeps: a file that is put away when it is large, and what reads it.
//
// FILE is written; FILE.1 is the one before it, FILE.2 the one before that. One
// process writes at a time. Invariants: only the user can read the files; a line
// is in one file, whole, if it was written at once; what cannot be put away is
// written on, never lost.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
)

// Options bound what is kept. Zero values take the defaults named beside them.
type Options struct {
	Max  int64 // bytes of one file; 0: 10 MiB
	Keep int   // files that were put away; 0: 3
	// Opened is called with each file that is opened, before anything is
	// written to it. May be nil.
	Opened func(*os.File)
}

const (
	defaultMax  = 10 << 20
	defaultKeep = 3
)

// File is a log that is written. Its methods may be called at the same time.
type File struct {
	path string
	opts Options

	mu   sync.Mutex
	file *os.File
	size int64
}

// Open opens the log for writing at its end, or makes it. The directory must be
// there.
func Open(path string, opts Options) (*File, error) {
	if opts.Max <= 0 {
		opts.Max = defaultMax
	}
	if opts.Keep <= 0 {
		opts.Keep = defaultKeep
	}
	f := &File{path: path, opts: opts}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return f, nil
}

func (f *File) open() error {
	file, err := OpenRaw(f.path)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if f.opts.Opened != nil {
		f.opts.Opened(file)
	}
	f.file, f.size = file, info.Size()
	return nil
}

// OpenRaw opens the log without its limits, for what a process writes before it
// can do better. It makes a file that is there already private.
func OpenRaw(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Chmod(0o600); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Write adds p to the log, in a new file if the present one is full.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size > 0 && f.size+int64(len(p)) > f.opts.Max {
		if err := f.rotate(); err != nil {
			return 0, fmt.Errorf("put the log away: %w", err)
		}
	}
	n, err := f.file.Write(p)
	f.size += int64(n)
	return n, err
}

// rotate puts the file away. Only that nothing can be written at all is an
// error.
func (f *File) rotate() error {
	_ = f.file.Close() // Windows renames no open file; all is written.
	for i := f.opts.Keep - 1; i >= 1; i-- {
		_ = os.Rename(older(f.path, i), older(f.path, i+1)) // there may be none
	}
	_ = os.Rename(f.path, older(f.path, 1)) // where that fails, the file grows
	return f.open()
}

// Close ends the log.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}

// older is the path of the i-th file before the present one.
func older(path string, i int) string { return path + "." + strconv.Itoa(i) }

// Exists reports whether there is a log.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
