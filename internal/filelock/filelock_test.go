package filelock_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/internal/filelock"
)

func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".lock")
	// Load and Store instead of Add: without the lock, updates get lost.
	var inside, total atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				lock, err := filelock.Acquire(t.Context(), path, filelock.Options{Timeout: time.Minute})
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d holders", n)
				}
				n := total.Load()
				runtime.Gosched()
				total.Store(n + 1)
				inside.Add(-1)
				if err := lock.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := total.Load(); n != 160 {
		t.Errorf("total = %d, want 160", n)
	}
}

func TestAcquireGivesUpAtTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), ".lock")
		hold(t, path)
		start := time.Now()
		_, err := filelock.Acquire(t.Context(), path, filelock.Options{Timeout: 3 * time.Second})
		busy, ok := errors.AsType[*filelock.BusyError](err)
		if !ok {
			t.Fatalf("error = %v, want a BusyError", err)
		}
		if busy.Holder.Path != path {
			t.Errorf("path = %q", busy.Holder.Path)
		}
		if waited := time.Since(start); waited != 3*time.Second {
			t.Errorf("waited %s, want 3s", waited)
		}
	})
}

func TestZeroTimeoutIsTheDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), ".lock")
		hold(t, path)
		start := time.Now()
		_, err := filelock.Acquire(t.Context(), path, filelock.Options{})
		if _, ok := errors.AsType[*filelock.BusyError](err); !ok || time.Since(start) != filelock.DefaultTimeout {
			t.Errorf("error = %v after %s", err, time.Since(start))
		}
	})
}

func TestANegativeTimeoutDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), ".lock")
		hold(t, path)
		start := time.Now()
		_, err := filelock.Acquire(t.Context(), path, filelock.Options{Timeout: -1})
		if _, ok := errors.AsType[*filelock.BusyError](err); !ok || time.Since(start) > 0 {
			t.Errorf("error = %v after %s", err, time.Since(start))
		}
	})
}

func TestTheWaitingAreToldOnceAfterASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), ".lock")
		hold(t, path)
		start := time.Now()
		var told []time.Duration
		_, err := filelock.Acquire(t.Context(), path, filelock.Options{
			Timeout: 5 * time.Second,
			OnWait: func(h filelock.Holder) {
				told = append(told, time.Since(start))
				if h.Path != path {
					t.Errorf("told of %q", h.Path)
				}
			},
		})
		if err == nil {
			t.Fatal("got the lock")
		}
		if len(told) != 1 || told[0] != time.Second {
			t.Errorf("told at %v, want once at 1s", told)
		}
	})
}

func TestAcquireGetsALockThatIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), ".lock")
		first := hold(t, path)
		time.AfterFunc(2*time.Second, func() { _ = first.Release() })
		start := time.Now()
		second, err := filelock.Acquire(t.Context(), path, filelock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		release(t, second)
		if waited := time.Since(start); waited < 2*time.Second || waited > 2*time.Second+50*time.Millisecond {
			t.Errorf("waited %s, want 2s and at most one pause", waited)
		}
	})
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), ".lock")
		hold(t, path)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := filelock.Acquire(ctx, path, filelock.Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want DeadlineExceeded", err)
		}
	})
}

// Python's filelock 3.21.0 to 3.29.4 unlinks the lock file on release. A process
// that had it open then locks a file that no other process will ever open.
func TestALockOnARemovedFileDoesNotCount(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed here")
	}
	path := filepath.Join(t.TempDir(), ".lock")
	var inside atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 300 {
				lock, err := filelock.Acquire(t.Context(), path, filelock.Options{Timeout: time.Minute})
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d holders", n)
				}
				runtime.Gosched()
				inside.Add(-1)
				if err := errors.Join(os.Remove(path), lock.Release()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestASharedLockKeepsTheExclusiveOneAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".lock")
	shared := filelock.Options{Timeout: -1, Shared: true}
	held := func(want bool) {
		t.Helper()
		if got, err := filelock.Held(path); got != want || err != nil {
			t.Errorf("held: %t, %v, want %t", got, err, want)
		}
	}
	busy := func(opts filelock.Options) {
		t.Helper()
		_, err := filelock.Acquire(t.Context(), path, opts)
		if _, ok := errors.AsType[*filelock.BusyError](err); !ok {
			t.Errorf("error = %v, want a BusyError", err)
		}
	}
	var both [2]*filelock.Lock
	for i := range both {
		lock, err := filelock.Acquire(t.Context(), path, shared)
		if err != nil {
			t.Fatal(err)
		}
		both[i] = lock
	}
	held(false)
	release(t, both[0])
	busy(filelock.Options{Timeout: -1})
	release(t, both[1])
	lock := hold(t, path)
	held(true)
	busy(shared)
	release(t, lock)
}

func TestTheLockFileStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".lock")
	if err := os.WriteFile(path, []byte("not ours"), 0o640); err != nil {
		t.Fatal(err)
	}
	release(t, hold(t, path))
	content, err := os.ReadFile(path)
	if err != nil || string(content) != "not ours" {
		t.Errorf("lock file = %q, %v", content, err)
	}
}

func TestANewLockFileGetsTheMode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ mode, want fs.FileMode }{{0, 0o644}, {0o600, 0o600}} {
		path := filepath.Join(t.TempDir(), ".lock")
		lock, err := filelock.Acquire(t.Context(), path, filelock.Options{Mode: tt.mode})
		if err != nil {
			t.Fatal(err)
		}
		release(t, lock)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got&^tt.want != 0 {
			t.Errorf("mode = %o, want at most %o", got, tt.want)
		}
	}
}

func TestASymlinkIsNoLockFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, ".lock")); err != nil {
		t.Fatal(err)
	}
	_, err := filelock.Acquire(t.Context(), filepath.Join(dir, ".lock"), filelock.Options{})
	if !errors.Is(err, filelock.ErrSymlink) {
		t.Errorf("error = %v, want ErrSymlink", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the target of the link was made")
	}
}

func TestAMissingDirectoryIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	_, err := filelock.Acquire(t.Context(), filepath.Join(t.TempDir(), "no", ".lock"), filelock.Options{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v, want ErrNotExist", err)
	}
}

func TestHolderIsNamedAsWellAsItIsKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		holder filelock.Holder
		want   string
	}{
		{filelock.Holder{Path: "/x", PID: 7, Command: "python3"}, "/x is locked by python3 (process 7)"},
		{filelock.Holder{Path: "/x", PID: 7}, "/x is locked by process 7"},
		{filelock.Holder{Path: "/x"}, "/x is locked by another process"},
	} {
		if got := (&filelock.BusyError{Holder: tt.holder}).Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
}

func hold(t *testing.T, path string) *filelock.Lock {
	t.Helper()
	lock, err := filelock.Acquire(t.Context(), path, filelock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Release() })
	return lock
}

func release(t *testing.T, lock *filelock.Lock) {
	t.Helper()
	if err := lock.Release(); err != nil && !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
}
