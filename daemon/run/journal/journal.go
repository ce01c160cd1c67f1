// Package journal keeps the notes of one-shot conversations in a file of lines.
package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

// Note is a line of the journal.
type Note struct {
	ID      string    `json:"id"`
	Backend string    `json:"backend,omitempty"` // that has the conversation; empty: unknown
	Made    time.Time `json:"made,omitzero"`
	Ends    time.Time `json:"ends,omitzero"`
	Gone    bool      `json:"gone,omitempty"` // removed, or kept by its client
}

// MaxLines is how many lines are written before the journal is rewritten
// with the living ones only.
const MaxLines = 10_000

// Journal is the file of the one-shots: notes, one JSON line each. It grows
// until it is rewritten from what is alive.
//
// Its exported fields are set before the first write.
//
// Invariants: a note is in the file as one whole line or not at all, as far as
// the file system allows, and never continues a line that was cut off. A write
// that fails is reported and changes nothing for the next one, which opens the
// file again: a disk that was full, read-only or closed to us counts as long as
// it is so.
type Journal struct {
	Path   string // empty: nothing is kept
	Open   func(path string) (File, error)
	Living func() []Note // for a rewrite; no note is written meanwhile
	Failed func(error)   // gets the errors of rewrites

	mu    sync.Mutex
	file  File  // nil: opened by the next write
	size  int64 // of file, all of it whole lines
	lines int   // since the last rewrite
	whole bool  // what earlier processes noted is known, and may be rewritten
}

// File is what a journal needs of an *os.File that is open for appending.
type File interface {
	io.Writer
	io.ReaderAt
	Truncate(size int64) error
	Sync() error
	Stat() (fs.FileInfo, error)
	Close() error
}

// Span is where a note is in the file.
type Span struct{ from, to int64 }

// OpenFile opens the journal, or makes it.
func OpenFile(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if f, err = os.OpenFile(path, os.O_APPEND|os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := atomicfile.SyncDir(filepath.Dir(path)); err != nil { // its name, before anything depends on it
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Write appends n. With durable it returns when the note, and all before it,
// are on the disk.
func (jl *Journal) Write(n Note, durable bool) (Span, error) {
	if jl.Path == "" {
		return Span{}, nil
	}
	line, err := json.Marshal(n)
	if err != nil {
		return Span{}, fmt.Errorf("encode one-shot: %w", err)
	}
	jl.mu.Lock()
	defer jl.mu.Unlock()
	if err := jl.ready(); err != nil {
		return Span{}, fmt.Errorf("open one-shots: %w", err)
	}
	at := Span{from: jl.size, to: jl.size + int64(len(line)) + 1}
	_, err = jl.file.Write(append(line, '\n'))
	if err == nil && durable {
		err = jl.file.Sync()
	}
	if err != nil {
		// What of the line got there must not become the beginning of the next.
		return Span{}, fmt.Errorf("note one-shot: %w", errors.Join(err, jl.cut(at.from), jl.release()))
	}
	jl.size = at.to
	if jl.lines++; jl.lines > MaxLines && jl.whole {
		jl.lines = 0
		if err := jl.rewrite(); err != nil { // the note is in the old file
			jl.Failed(err)
		}
	}
	return at, nil
}

// Undo takes a note back, if it is the last one still; else it does nothing.
func (jl *Journal) Undo(at Span) bool {
	jl.mu.Lock()
	defer jl.mu.Unlock()
	if jl.file == nil || at.to == 0 || at.to != jl.size || jl.cut(at.from) != nil {
		return false
	}
	jl.size = at.from
	return true
}

// ready opens the file and ends a line that was cut off there. The caller
// holds jl.mu.
func (jl *Journal) ready() error {
	if jl.file != nil {
		return nil
	}
	f, err := jl.Open(jl.Path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	jl.size = info.Size()
	last := []byte{'\n'}
	if jl.size > 0 {
		if _, err := f.ReadAt(last, jl.size-1); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if last[0] != '\n' {
		if _, err := f.Write([]byte{'\n'}); err != nil {
			return errors.Join(err, f.Close())
		}
		jl.size++
	}
	jl.file = f
	return nil
}

// cut takes away everything from size on. Where that cannot be done, ready ends
// the line when the file is opened again.
func (jl *Journal) cut(size int64) error { return jl.file.Truncate(size) }

// release closes the file; the next write opens it again. The caller holds
// jl.mu.
func (jl *Journal) release() error {
	if jl.file == nil {
		return nil
	}
	err := jl.file.Close()
	jl.file = nil
	return err
}

// rewrite replaces the journal by one of the living. Whatever fails, a journal
// stays that has them all. The caller holds jl.mu.
func (jl *Journal) rewrite() error {
	var data []byte
	for _, n := range jl.Living() {
		line, err := json.Marshal(n)
		if err != nil {
			return fmt.Errorf("encode one-shots: %w", err)
		}
		data = append(append(data, line...), '\n')
	}
	// Closed first: Windows replaces no file that is open.
	if err := jl.release(); err != nil {
		return fmt.Errorf("close one-shots: %w", err)
	}
	return atomicfile.Write(jl.Path, data, atomicfile.Options{})
}

// Length returns how long the file is; negative: that is not known.
func (jl *Journal) Length() int64 {
	info, err := os.Stat(jl.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0
	case err != nil:
		return -1
	}
	return info.Size()
}

// Read calls each with the notes in the first size bytes of the file, all of
// them where size is negative, while others may append. Lines that say nothing
// are left out. It reports how many lines there were.
func (jl *Journal) Read(size int64, each func(Note)) (lines int, err error) {
	if jl.Path == "" {
		return 0, nil
	}
	f, err := os.Open(jl.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read one-shots: %w", err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, fmt.Errorf("read one-shots: %w", errors.Join(err, atomicfile.ErrNotRegular))
	}
	var part io.Reader = f
	if size >= 0 {
		part = io.LimitReader(f, size)
	}
	r := bufio.NewReader(part)
	long := false // the line is longer than the reader's buffer: it is not a note
	for {
		line, err := r.ReadSlice('\n')
		var n Note
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = true
			continue
		case errors.Is(err, io.EOF): // what was cut off is being written, or never was
			return lines, nil
		case err != nil:
			return lines, fmt.Errorf("read one-shots: %w", err)
		}
		lines++
		if !long && json.Unmarshal(line, &n) == nil {
			each(n)
		}
		long = false
	}
}

// Counted says how many lines the file had before this process, and that they
// are among the living now.
func (jl *Journal) Counted(lines int) {
	jl.mu.Lock()
	defer jl.mu.Unlock()
	jl.lines += lines
	jl.whole = true
}

// Close lets go of the file.
func (jl *Journal) Close() error {
	jl.mu.Lock()
	defer jl.mu.Unlock()
	return jl.release()
}
