//go:build unix

package boxes_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// Home directories without a record of their workspace are removed when they are
// old, and nothing is kept for their workspace.
func TestOldHomesWithoutAWorkspaceAreRemoved(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	state, now := filepath.Join(root, "state"), time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	old := now.Add(-100 * 24 * time.Hour)
	made := func(at string, when time.Time) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Join(at, "cache", "deep"), 0o700), os.WriteFile(filepath.Join(at, "cache", "deep", "file"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"cache/deep/file", "cache/deep", "cache", ".", ".."} {
			if err := os.Chtimes(filepath.Join(at, name), when, when); err != nil {
				t.Fatal(err)
			}
		}
	}
	home := func(workspace string) string { return boxes.HomeOf(state, filepath.Join(root, workspace)) }
	for _, workspace := range []string{"a-one-shot", "another", "talking", "linked"} {
		made(home(workspace), old)
	}
	made(home("new"), now)
	made(home("written"), old)
	if err := os.Chtimes(filepath.Join(home("written"), "cache/deep/file"), now, now); err != nil {
		t.Fatal(err)
	}
	made(home("more"), old)
	if err := os.WriteFile(filepath.Join(home("more"), "..", "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(state, "sandbox", "not-a-key!-16-ch", "home")
	made(foreign, old)
	if err := errors.Join(os.Mkdir(filepath.Join(root, "linked"), 0o700), os.Symlink(filepath.Join(root, "linked"), filepath.Join(root, "link"))); err != nil {
		t.Fatal(err)
	}
	asked := 0
	left := boxes.LeftOver{Gone: func(string) bool { return false }, Before: now.Add(-30 * 24 * time.Hour)}
	left.Used = func() ([]string, error) { return nil, errors.New("one is damaged") }
	if n, err := boxes.SweepHomes(t.Context(), state, left); n != 0 || err == nil {
		t.Errorf("removed %d, %v", n, err)
	}
	left.Used = func() ([]string, error) {
		asked++
		return []string{"", filepath.Join(root, "talking"), filepath.Join(root, "link"), filepath.Join(root, "elsewhere")}, nil
	}
	for range 2 {
		if _, err := boxes.SweepHomes(t.Context(), state, left); err != nil {
			t.Error(err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times for the workspaces", asked)
	}
	for at, want := range map[string]bool{
		home("a-one-shot"): false, home("another"): false, home("talking"): true, home("linked"): true, home("new"): true, home("written"): true,
		home("more"): true, foreign: true,
	} {
		if _, err := os.Lstat(filepath.Join(at, "cache/deep/file")); errors.Is(err, fs.ErrNotExist) == want {
			t.Errorf("%s: %v", at, err)
		}
	}
	// What they belong to is known from now on.
	left.Gone = func(workspace string) bool { return workspace == filepath.Join(root, "talking") }
	if n, err := boxes.SweepHomes(t.Context(), state, left); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
}
