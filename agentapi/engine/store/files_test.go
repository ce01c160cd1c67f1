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
		var mu sync.Mutex
		var begun, synced []int
		bad := errors.New("bad disk")
		err := syncAll(n, func(i int) { begun = append(begun, i) }, func(i int) error {
			if len(begun) != n {
				t.Errorf("file %d is synced when %d of %d files are being written", i, len(begun), n)
			}
			if i == 0 {
				runtime.Gosched() // others would come in between
			}
			mu.Lock()
			defer mu.Unlock()
			if len(synced) == 0 && i != 0 {
				t.Errorf("file %d is synced before the first one has been", i)
			}
			synced = append(synced, i)
			if i == 2 {
				return bad
			}
			return nil
		})
		if errors.Is(err, bad) != (n > 2) {
			t.Errorf("%d files: error %v", n, err)
		}
		slices.Sort(synced)
		if !slices.Equal(synced, begun) {
			t.Errorf("%d files: synced are %v", n, synced)
		}
	}
}

// The real disk syncs files and directories, and tells of one that is not there.
func TestSyncTellsOfEachFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := []string{dir}
	for i := range 2 * maxKept { // some are opened once, some twice
		path := filepath.Join(dir, fmt.Sprintf("event-%d", i))
		if err := (Disk{}).Write(path, []byte("{}"), false); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	if err := (Disk{}).Sync(paths); err != nil {
		t.Error(err)
	}
	for _, i := range []int{0, 1, maxKept, len(paths) - 1} {
		lost := slices.Clone(paths)
		lost[i] = filepath.Join(dir, "gone")
		if err := (Disk{}).Sync(lost); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("file %d is gone: %v", i, err)
		}
	}
}
