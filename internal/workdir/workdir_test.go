package workdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/workdir"
)

// dirs makes directories, and gives the root of them without links.
func dirs(t *testing.T, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryIsResolved(t *testing.T) {
	t.Parallel()
	root := dirs(t, "real/sub")
	write(t, filepath.Join(root, "file"), "")
	if err := os.Symlink(filepath.Join(root, "real"), filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	want := filepath.Join(root, "real", "sub")
	for _, path := range []string{want, filepath.Join(root, "link", "sub"), root + "/real/../link/sub/."} {
		if got, err := workdir.Resolve(path); got != want || err != nil {
			t.Errorf("Resolve(%q) = %q, %v; want %q", path, got, err, want)
		}
	}
	for path, is := range map[string]func(error) bool{
		"real":                                  func(err error) bool { return errors.Is(err, workdir.ErrRelative) },
		root + "/\x00":                          func(err error) bool { return errors.Is(err, workdir.ErrRelative) },
		filepath.Join(root, "none"):             workdir.Missing,
		filepath.Join(root, "file"):             workdir.NotDir,
		filepath.Join(root, "file", "below"):    workdir.Missing,
		filepath.Join(root, "real", "sub", "x"): workdir.Missing,
	} {
		if got, err := workdir.Resolve(path); err == nil || !is(err) {
			t.Errorf("Resolve(%q) = %q, %v", path, got, err)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	root := dirs(t, "a/b")
	a := filepath.Join(root, "a")
	if !workdir.Same(a, a+"/b/..") || workdir.Same(a, root) || !workdir.Same("/none/x", "/none/x/") || workdir.Same("/none", a) {
		t.Error("Same is wrong")
	}
}

func TestTheBranchIsReadWithoutGit(t *testing.T) {
	t.Parallel()
	root := dirs(t, "repo/sub/deep", "linked", "plain", "broken/.git")
	write(t, filepath.Join(root, "repo/.git/HEAD"), "ref: refs/heads/feature/x\n")
	write(t, filepath.Join(root, "repo/.git/worktrees/l/HEAD"), "0123456789abcdef0123456789abcdef01234567\n")
	write(t, filepath.Join(root, "linked/.git"), "gitdir: ../repo/.git/worktrees/l\n")
	for dir, want := range map[string]string{"repo": "feature/x", "repo/sub/deep": "feature/x", "linked": "0123456", "broken": ""} {
		if got := workdir.Branch(filepath.Join(root, dir)); got != want {
			t.Errorf("Branch(%s) = %q, want %q", dir, got, want)
		}
	}
}
