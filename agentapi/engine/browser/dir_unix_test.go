//go:build unix

package browser

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheDirectoryForAnotherUserIsOneThatItCanEnter(t *testing.T) {
	t.Parallel()
	private := t.TempDir()
	inside := filepath.Join(private, "inside")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(private, 0o700); err != nil {
		t.Fatal(err)
	}
	if dir := shared(filepath.Join(private, "none"), inside, "/"); dir != "/" {
		t.Errorf("directory %s", dir)
	}
}

func TestWhatADeadProcessLeftIsRemoved(t *testing.T) {
	t.Parallel()
	parent, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "x")
	for _, dir := range []string{elsewhere, filepath.Join(parent, "chromium-1"), filepath.Join(parent, "other")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(parent, "chromium-2")); err != nil {
		t.Fatal(err)
	}
	for _, lock := range []string{"chromium-1.lock", "chromium-2.lock"} {
		if err := os.WriteFile(filepath.Join(parent, lock), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mine, err := makePlace(parent, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := makePlace(parent, nil) // leaves what is in use
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 5 {
		t.Errorf("entries %v, %v", left, err)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("the directory of another user is left")
	}
	for _, p := range []*place{mine, again} {
		if err := p.remove(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 1 {
		t.Errorf("entries %v, %v", left, err)
	}
}

func TestANewPoolRemovesWhatADeadProcessLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "chromium-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "chromium-1.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := NewPool(Config{Dir: dir}).Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("entries %v, %v", left, err)
	}
}
