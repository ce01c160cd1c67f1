// Package storage says what is wrong with a directory that ohgw writes to: that
// its disk is full, that it may not be written to, or that something else is
// wrong with it. It reads the errors of file operations, and tries one.
package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

// Kind is what a file operation failed for.
type Kind int

// The kinds of failures.
const (
	// None: the error says nothing about a disk.
	None Kind = iota
	// Full: the disk, or the user's part of it, is full.
	Full
	// ReadOnly: the file system is mounted read-only.
	ReadOnly
	// Denied: this user may not.
	Denied
	// Other: a file operation failed for another reason.
	Other
)

// Of returns the trouble that err stands for.
func Of(err error) Kind {
	switch {
	case err == nil:
		return None
	case anyOf(err, fullErrors()):
		return Full
	case anyOf(err, readOnlyErrors()):
		return ReadOnly
	}
	_, onPath := errors.AsType[*fs.PathError](err)
	_, onLink := errors.AsType[*os.LinkError](err)
	switch {
	case !onPath && !onLink:
		return None
	case errors.Is(err, fs.ErrPermission):
		return Denied
	}
	return Other
}

// Cause returns err without the path, which the message around it has already.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func anyOf(err error, targets []error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// probeSize is what a turn needs at least, in bytes.
const probeSize = 64 << 10

// probe is the file that Try writes. It has one name, so that what a process
// leaves that is killed meanwhile is removed by the next one.
const probe = ".ohgw-probe.tmp"

// Try reports whether something can be written in a directory: it writes a
// temporary file and removes it.
func Try(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, probe), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("try to write: %w", err)
	}
	_, err = f.Write(make([]byte, probeSize))
	if err := errors.Join(err, f.Close(), atomicfile.Remove(f.Name())); err != nil {
		return fmt.Errorf("try to write: %w", err)
	}
	return nil
}
