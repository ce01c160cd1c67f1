//go:build unix

package storage_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/storage"
)

func TestKindsAreRecognized(t *testing.T) {
	t.Parallel()
	at := func(err error) error { return fmt.Errorf("save: %w", &fs.PathError{Op: "write", Path: "x", Err: err}) }
	for _, tt := range []struct {
		err  error
		want storage.Kind
	}{
		{nil, storage.None},
		{errors.New("no"), storage.None},
		{syscall.ECONNREFUSED, storage.None},
		{syscall.EACCES, storage.None}, // of a socket, for example
		{at(syscall.ENOSPC), storage.Full},
		{at(syscall.EDQUOT), storage.Full},
		{syscall.ENOSPC, storage.Full},
		{at(syscall.EROFS), storage.ReadOnly},
		{at(syscall.EACCES), storage.Denied},
		{at(syscall.EIO), storage.Other},
		{&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EPERM}, storage.Denied},
	} {
		if got := storage.Of(tt.err); got != tt.want {
			t.Errorf("Of(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestTryLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".ohgw-probe.tmp"), []byte("of a process that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := storage.Try(dir); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
	if err := storage.Try(filepath.Join(dir, "gone")); storage.Of(err) != storage.Other {
		t.Errorf("in no directory: %v", err)
	}
}
