package recordfile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/recordfile"
)

func TestAChangeThatDoesNotFitIsTakenBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("needs root that may mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	d := recordfile.Open(filepath.Join(dir, "records"))
	if err := d.Write("ab/1", []byte("whole\n")); err != nil {
		t.Fatal(err)
	}
	if err := d.Append("ab/1", bytes.Repeat([]byte("x"), 128<<10)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Append: %v, want ENOSPC", err)
	}
	if data, err := d.Read("ab/1"); err != nil || string(data) != "whole\n" {
		t.Errorf("the record has %d bytes, %v", len(data), err)
	}
	if err := d.Write("ab/1", bytes.Repeat([]byte("y"), 128<<10)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Write: %v, want ENOSPC", err)
	}
	files, err := os.ReadDir(filepath.Join(dir, "records", "ab"))
	if err != nil || len(files) != 1 {
		t.Errorf("files %v, %v", files, err)
	}
	if err := d.Append("ab/1", []byte("small")); err != nil {
		t.Errorf("Append, with room: %v", err)
	}
}
