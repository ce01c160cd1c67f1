// Package unpack writes the files of an archive from outside, zip or tar.gz,
// into a new directory. Either the whole archive is there at the end, or nothing
// is. Nothing is ever written outside of the directory.
//
// It refuses names that lead out of it or that only Windows understands, too many
// entries, and archives that grow out of proportion. Links that lead out, and what
// is neither a file, a directory nor a link, are left out and listed. It does not
// keep times and owners.
package unpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The ways in which an archive is refused, for errors.Is.
var (
	// ErrUnsafe: an entry would be written somewhere else.
	ErrUnsafe = errors.New("the archive has an unsafe name")
	// ErrTooLarge: it has too many entries or bytes.
	ErrTooLarge = errors.New("the archive is too large")
	// ErrDamaged: it cannot be read.
	ErrDamaged = errors.New("the archive is damaged")
)

// Limits bounds an archive. A zero field has its default.
type Limits struct {
	Entries   int   // 100,000
	Bytes     int64 // of all files, unpacked; 32 GiB
	Ratio     int64 // of unpacked to packed bytes; 200
	RatioFrom int64 // how many bytes any archive may unpack to; 64 MiB
}

func (l Limits) withDefaults() Limits {
	if l.Entries == 0 {
		l.Entries = 100_000
	}
	if l.Bytes == 0 {
		l.Bytes = 32 << 30
	}
	if l.Ratio == 0 {
		l.Ratio = 200
	}
	if l.RatioFrom == 0 {
		l.RatioFrom = 64 << 20
	}
	return l
}

// Source is the archive: an open file, or its bytes.
type Source interface {
	io.Reader
	io.ReaderAt
	io.Seeker
}

// Result is what was unpacked.
type Result struct {
	Files   int
	Bytes   int64
	Skipped []string // names that were left out, with the reason
}

// Into unpacks an archive into the directory dir, which it makes. A dir that is
// there is os.ErrExist.
func Into(ctx context.Context, from Source, dir string, limits Limits) (Result, error) {
	if _, err := os.Lstat(dir); err == nil {
		return Result{}, fmt.Errorf("unpack: %s: %w", dir, os.ErrExist)
	}
	half, err := os.MkdirTemp(filepath.Dir(dir), ".ohgw-unpack-")
	if err != nil {
		return Result{}, fmt.Errorf("unpack: %w", err)
	}
	result, err := unpackAll(ctx, from, half, limits.withDefaults())
	if err == nil {
		err = os.Chmod(half, 0o755) //nolint:gosec // as mkdir makes it; the parent says who gets here
	}
	if err == nil {
		err = os.Rename(half, dir)
	}
	if err != nil {
		return Result{}, errors.Join(err, removeAll(half))
	}
	return result, nil
}

// removeAll removes a tree, also directories that the archive made unreadable.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // it is removed next
		}
		return nil
	})
	return os.RemoveAll(dir)
}

func unpackAll(ctx context.Context, from Source, dir string, limits Limits) (Result, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Result{}, fmt.Errorf("unpack: %w", err)
	}
	defer func() { _ = root.Close() }() // It has nothing to write.
	size, err := from.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = from.Seek(0, io.SeekStart)
	}
	if err != nil {
		return Result{}, fmt.Errorf("unpack: %w", err)
	}
	w := &writer{ctx: ctx, root: root, limits: limits, packed: size}
	var head [2]byte
	switch _, err := from.ReadAt(head[:], 0); {
	case err != nil:
		return Result{}, fmt.Errorf("%w: it is empty", ErrDamaged)
	case string(head[:]) == "PK":
		err = w.zip(from, size)
		return w.done(err)
	case string(head[:]) == "\x1f\x8b":
		err = w.tar(from)
		return w.done(err)
	}
	return Result{}, fmt.Errorf("%w: it is neither zip nor tar.gz", ErrDamaged)
}
