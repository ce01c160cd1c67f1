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
)

// ErrNoKey is returned for a file that cannot be a key: empty, huge, with
// spaces or lines, or no regular file.
var ErrNoKey = errors.New("the file does not contain exactly one key")

// maxFile bounds what is read, in bytes. Keys have some hundred at most.
const maxFile = 64 << 10

// Read returns the key that a file holds, without white space around it. A
// file that other users may read is refused with fs.ErrPermission: what it
// holds is not a secret any more.
func Read(path string) (string, error) {
	key, err := read(path)
	if err != nil {
		return "", fmt.Errorf("read key from %s: %w", path, err)
	}
	return key, nil
}

func read(path string) (string, error) {
	// Before it is opened: a pipe would block.
	if info, err := os.Stat(path); err != nil {
		return "", bare(err)
	} else if !info.Mode().IsRegular() {
		return "", ErrNoKey
	}
	f, err := os.Open(path)
	if err != nil {
		return "", bare(err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	info, err := f.Stat()
	if err != nil {
		return "", bare(err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return "", fmt.Errorf("other users can read it (mode %04o): %w", mode, fs.ErrPermission)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", bare(err)
	}
	key := strings.TrimSpace(string(text))
	if key == "" || len(text) > maxFile || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", ErrNoKey
	}
	return key, nil
}

// bare is err without the path, which the message has already.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
