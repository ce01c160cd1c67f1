// Package recordfile keeps records: a file each, which begins with a line that has
// the whole record and grows by a line with each change.
//
// Invariants: nothing is read when a store is opened. A whole record replaces a file
// in one step. A change that a crash or a full disk cut off does not count, and
// spoils no other change: each one begins with a newline. Files are readable by
// their owner only.
//
// The package does not know what a record is: [Lines] gives the lines, and which of
// them count is for the caller to say. It does not lock: two writers of one record
// need a lock of their own.
package recordfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

// Dir is a directory of records in subdirectories. Its methods may be called at the
// same time. A name is the path of a record below the directory, which the caller
// has made of an id that it has checked. Without such a record the methods fail with
// [fs.ErrNotExist].
type Dir struct {
	path   string
	memory *memory // instead of a directory
}

// Open opens a directory, which need not exist. With an empty path the records are
// kept in memory.
func Open(path string) *Dir {
	if path == "" {
		return &Dir{memory: &memory{files: make(map[string][]byte)}}
	}
	return &Dir{path: path}
}

func (d *Dir) file(name string) string { return filepath.Join(d.path, filepath.FromSlash(name)) }

// Read is the content of a record.
func (d *Dir) Read(name string) ([]byte, error) {
	if d.memory != nil {
		return d.memory.read(name)
	}
	return os.ReadFile(d.file(name))
}

// Head is the first bytes of a record, at most n.
func (d *Dir) Head(name string, n int) ([]byte, error) {
	if d.memory != nil {
		data, err := d.memory.read(name)
		return data[:min(len(data), n)], err
	}
	f, err := os.Open(d.file(name))
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(f, int64(n)))
	return head, errors.Join(err, f.Close())
}

// Write replaces a record, or makes it.
func (d *Dir) Write(name string, data []byte) error {
	if d.memory != nil {
		d.memory.write(name, data)
		return nil
	}
	path := d.file(name)
	err := atomicfile.Write(path, data, atomicfile.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = atomicfile.Write(path, data, atomicfile.Options{})
		}
	}
	return err
}

// WriteUnsynced writes a file beside a record, in its directory, without waiting for
// the disk: a crash may cut it off.
func (d *Dir) WriteUnsynced(name string, data []byte) error {
	if d.memory != nil {
		d.memory.write(name, data)
		return nil
	}
	return os.WriteFile(d.file(name), data, 0o600)
}

// Append adds a change to a record, as a line without its newline. One that cannot
// be written whole is taken back.
func (d *Dir) Append(name string, change []byte) error {
	line := append(append([]byte{'\n'}, change...), '\n')
	if d.memory != nil {
		return d.memory.append(name, line)
	}
	f, err := os.OpenFile(d.file(name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		if _, err = f.Write(line); err != nil {
			err = errors.Join(err, f.Truncate(info.Size()))
		}
	}
	return errors.Join(err, f.Close())
}

// Remove deletes records. It ignores those that do not exist.
func (d *Dir) Remove(names ...string) error {
	for _, name := range names {
		if d.memory != nil {
			d.memory.remove(name)
			continue
		}
		if err := atomicfile.Remove(d.file(name)); err != nil {
			return err
		}
	}
	return nil
}

// Each calls f with the name of every record in the order of their names, and with
// the time when it was last written, which is not known of those in memory. f may
// remove records. Each reads the whole directory, so it is for the background.
func (d *Dir) Each(ctx context.Context, f func(name string, written time.Time) error) error {
	if d.memory != nil {
		return d.memory.each(ctx, f)
	}
	walk := func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile, or never made
			return nil
		case err != nil || ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case e.IsDir() || atomicfile.IsTemp(e.Name()):
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // removed meanwhile
		}
		name, err := filepath.Rel(d.path, path)
		if err != nil {
			return fmt.Errorf("list records: %w", err)
		}
		return f(filepath.ToSlash(name), info.ModTime())
	}
	return filepath.WalkDir(d.path, walk)
}

// Lines splits a file into the whole record and its changes. Changes that were
// cut off are among them; the caller finds them because, for example, they are not JSON.
func Lines(data []byte) (record []byte, changes iter.Seq[[]byte]) {
	record, rest, _ := bytes.Cut(data, []byte{'\n'})
	return record, func(yield func([]byte) bool) {
		for line := range bytes.SplitSeq(rest, []byte{'\n'}) {
			if len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}
