// Package keyfile reads files that hold one key, such as the agent-server's.
//
// It does not write them. Invariants: what other users could read is not a key
// any more, and no error has a word of the content.
package keyfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/ohgw/ohgw/internal/storage"
)

// ErrNoKey is returned for a file that cannot be a key: empty, huge, with
// spaces or lines, or no regular file.
var ErrNoKey = errors.New("the file does not contain exactly one key")

// maxFile bounds what is read, in bytes. Keys have some hundred at most.
const maxFile = 64 << 10

// UnsafeError says that a file is not private. It is an fs.ErrPermission.
type UnsafeError struct {
	Path  string
	Mode  fs.FileMode // permission bits
	Owned bool        // it belongs to this user, so that chmod repairs it
}

func (e *UnsafeError) Error() string {
	if !e.Owned {
		return "the file belongs to another user"
	}
	return fmt.Sprintf("other users can read it (mode %04o)", e.Mode)
}

// Is reports whether target is fs.ErrPermission.
func (e *UnsafeError) Is(target error) bool { return target == fs.ErrPermission }

// Read returns the key that a file holds, without white space around it. A
// file that other users may read is refused with an *UnsafeError: what it holds
// is not a secret any more.
func Read(path string) (string, error) { return readFrom(path, false) }

// ReadOwn is Read for a file that this user has written: it refuses a file of
// another user, also if root asks.
func ReadOwn(path string) (string, error) { return readFrom(path, true) }

func readFrom(path string, own bool) (string, error) {
	key, err := read(path, own)
	if err != nil {
		return "", fmt.Errorf("read key from %s: %w", path, err)
	}
	return key, nil
}

func read(path string, own bool) (string, error) {
	// Before it is opened: a pipe would block.
	if info, err := os.Stat(path); err != nil {
		return "", storage.Cause(err)
	} else if !info.Mode().IsRegular() {
		return "", ErrNoKey
	}
	f, err := os.Open(path)
	if err != nil {
		return "", storage.Cause(err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	info, err := f.Stat()
	if err != nil {
		return "", storage.Cause(err)
	}
	mode, mine := info.Mode().Perm(), Mine(info)
	if own && !mine || runtime.GOOS != "windows" && mode&0o077 != 0 {
		return "", &UnsafeError{Path: path, Mode: mode, Owned: mine}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", storage.Cause(err)
	}
	key := strings.TrimSpace(string(text))
	if key == "" || len(text) > maxFile || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", ErrNoKey
	}
	return key, nil
}
