package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// A commit of the file system has all files that it knows of. The first file is
// synced when the file system knows of all, and before the others are.
func TestSyncAsksForOneCommit(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3, 3 * maxSyncs} {
		var paths []string
		for i := range n {
			paths = append(paths, fmt.Sprint(i))
		}
		var mu sync.Mutex
		var begun, synced []string
		bad := errors.New("bad disk")
		err := syncAll(paths, func(path string) { begun = append(begun, path) }, func(path string) error {
			if len(begun) != n {
				t.Errorf("%s is synced when %d of %d files are being written", path, len(begun), n)
			}
			if path == "0" {
				runtime.Gosched() // others would come in between
			}
			mu.Lock()
			defer mu.Unlock()
			if len(synced) == 0 && path != "0" {
				t.Errorf("%s is synced before the first file has been", path)
			}
			synced = append(synced, path)
			if path == "2" {
				return bad
			}
			return nil
		})
		if errors.Is(err, bad) != (n > 2) {
			t.Errorf("%d files: error %v", n, err)
		}
		slices.Sort(synced)
		slices.Sort(paths)
		if !slices.Equal(synced, paths) {
			t.Errorf("%d files: synced are %q", n, synced)
		}
	}
}

// The real disk syncs files and directories, and tells of one that is not there.
func TestSyncTellsOfEachFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := []string{dir}
	for i := range 5 {
		path := filepath.Join(dir, fmt.Sprintf("event-%d", i))
		if err := (Disk{}).Write(path, []byte("{}"), false); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	if err := (Disk{}).Sync(paths); err != nil {
		t.Error(err)
	}
	for i := range paths {
		lost := slices.Clone(paths)
		lost[i] = filepath.Join(dir, "gone")
		if err := (Disk{}).Sync(lost); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("file %d is gone: %v", i, err)
		}
	}
}
