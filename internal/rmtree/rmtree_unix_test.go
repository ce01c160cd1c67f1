//go:build unix

package rmtree_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/rmtree"
)

func TestAllRemovesWhatItsOwnerMayNotWrite(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	outside := filepath.Join(top, "outside")
	dir := filepath.Join(top, "dir")
	for path, mode := range map[string]fs.FileMode{
		outside: 0o500, filepath.Join(dir, "mod", "cache"): 0o500, filepath.Join(dir, "closed", "below"): 0,
	} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "file"), []byte("x"), 0o400); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(path, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Join(dir, "mod"), filepath.Join(dir, "closed"), dir} {
		if err := os.Chmod(path, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(outside, 0o700) })
	if err := rmtree.All(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm()&0o200 != 0 {
		t.Errorf("what a link points at: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
		t.Error(err)
	}
}

func TestAllOfALinkOrOfNothing(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	target, link := filepath.Join(top, "target"), filepath.Join(top, "link")
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, filepath.Join(top, "none")} {
		if err := rmtree.All(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(target); err != nil {
		t.Error(err)
	}
}
