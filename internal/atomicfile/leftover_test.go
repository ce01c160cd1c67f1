package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

func TestLeftoversAreRemovedWhereTheyMayBe(t *testing.T) {
	t.Parallel()
	dir, outside, now := t.TempDir(), t.TempDir(), time.Now()
	for path, age := range map[string]time.Duration{
		filepath.Join(dir, ".ohgw-old.tmp"):          time.Hour,
		filepath.Join(dir, ".ohgw-new.tmp"):          0,
		filepath.Join(dir, "a.json"):                 time.Hour,
		filepath.Join(dir, "in", ".ohgw-old.tmp"):    time.Hour,
		filepath.Join(dir, "other", ".ohgw-old.tmp"): time.Hour,
		filepath.Join(outside, ".ohgw-old.tmp"):      time.Hour,
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Chtimes(path, now.Add(-age), now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{".ohgw-new.tmp", "a.json", "in", "other", "other/.ohgw-old.tmp"}
	if err := os.Symlink(outside, filepath.Join(dir, "in", "link")); err == nil {
		want = []string{".ohgw-new.tmp", "a.json", "in", "in/link", "other", "other/.ohgw-old.tmp"}
	}
	left := atomicfile.Leftovers{Dir: dir, Before: now.Add(-time.Minute), Enter: func(dir string) bool { return dir != "other" }}
	if err := left.Remove(); err != nil {
		t.Error(err)
	}
	var got []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, path); name != "." {
			got = append(got, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("left are %q (%v), want %q", got, err, want)
	}
	if _, err := os.Stat(filepath.Join(outside, ".ohgw-old.tmp")); err != nil {
		t.Errorf("the file behind a link: %v", err)
	}
}

func TestLeftoversOfADirectoryThatIsGone(t *testing.T) {
	t.Parallel()
	left := atomicfile.Leftovers{Dir: filepath.Join(t.TempDir(), "none"), Before: time.Now()}
	if err := left.Remove(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error is %v, want that the directory does not exist", err)
	}
}

func TestLeftoversInAllDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(below, ".ohgw-x.tmp")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (atomicfile.Leftovers{Dir: dir, Before: time.Now().Add(time.Hour)}).Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there after the removal (%v)", err)
	}
}
