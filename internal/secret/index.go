package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/filelock"
)

// index is the file with the names of the keys in a keyring. Two processes may
// change it at the same time.
type index struct {
	path string
}

// indexFile is its content.
type indexFile struct {
	Version int      `json:"version"`
	Names   []string `json:"names"`
}

const indexVersion = 1

// read returns the names in order; none when there is no file.
func (x index) read() ([]string, error) {
	src, err := os.ReadFile(x.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read names of keys: %w", err)
	}
	var file indexFile
	if err := json.Unmarshal(src, &file); err != nil {
		return nil, fmt.Errorf("read names of keys in %s: %w", x.path, err)
	}
	if file.Version != indexVersion {
		return nil, fmt.Errorf("read names of keys in %s: version %d is not known", x.path, file.Version)
	}
	slices.Sort(file.Names)
	return slices.Compact(file.Names), nil
}

// add reports whether the name is new.
func (x index) add(ctx context.Context, name string) (bool, error) {
	return x.change(ctx, func(names []string) []string {
		if slices.Contains(names, name) {
			return names
		}
		return append(names, name)
	})
}

// touch gives the file another time. If that fails, another process only notices
// a new key later.
func (x index) touch(now time.Time) { _ = os.Chtimes(x.path, now, now) }

func (x index) remove(ctx context.Context, name string) error {
	_, err := x.change(ctx, func(names []string) []string {
		return slices.DeleteFunc(names, func(n string) bool { return n == name })
	})
	return err
}

// change reports whether the number of names is another one now.
func (x index) change(ctx context.Context, edit func([]string) []string) (bool, error) {
	release, err := lockFile(ctx, x.path)
	if err != nil {
		return false, err
	}
	defer release()
	names, err := x.read()
	if err != nil {
		return false, err
	}
	before := len(names)
	names = edit(names)
	if len(names) == before {
		return false, nil
	}
	slices.Sort(names)
	src, err := json.MarshalIndent(indexFile{indexVersion, names}, "", "  ")
	if err != nil {
		return false, err
	}
	return true, atomicfile.Write(x.path, append(src, '\n'), atomicfile.Options{MaxMode: 0o600})
}

// lockFile takes the lock beside one of our own files and makes its directory.
func lockFile(ctx context.Context, path string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.Acquire(ctx, path+".lock", filelock.Options{Mode: 0o600})
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Release() }, nil
}
