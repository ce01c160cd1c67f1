package workdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/workdir"
)

func TestRepositoryIsTheNearestAbove(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for _, dir := range []string{"repo/.git", "repo/a/b", "linked/c"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "linked", ".git"), []byte("gitdir: elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"repo": "repo", "repo/a/b": "repo", "repo/a/../none": "repo", "linked/c": "linked"} {
		if got := workdir.Repository(filepath.Join(top, dir)); got != filepath.Join(top, want) {
			t.Errorf("Repository(%s) = %s", dir, got)
		}
	}
	if got := workdir.Repository(filepath.Join(top, "none")); got != "" && len(got) >= len(top) {
		t.Errorf("there is a repository in %s", got)
	}
}
