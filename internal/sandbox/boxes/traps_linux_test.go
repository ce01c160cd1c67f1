package boxes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// Workspaces that ohgw makes itself are below its state directory, which is hidden.
func TestWorkspaceBelowAHiddenDirectory(t *testing.T) {
	t.Parallel()
	var state string
	w := newWorld(t, func(w *world, cfg *boxes.Config) {
		state = filepath.Join(w.root, "state")
		w.workspace = filepath.Join(state, "workspaces", "first")
		if err := os.MkdirAll(w.workspace, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(state, "tokens"), []byte("canary"), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg.Policy.Workspace, cfg.Policy.Hide = w.workspace, []string{state}
	})
	if out, code := w.sh("echo mine >file && ls -A " + state); code != 0 || out != "workspaces" {
		t.Errorf("exit code %d: %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "file")); err != nil {
		t.Error(err)
	}
}

// With a protected configuration, git does not change its settings, and everything
// that needs none of that works.
func TestGitBesideAProtectedConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository, func(w *world, _ *boxes.Config) {
		other := filepath.Join(w.workspace, "other.git")
		git(t, w.workspace, "init", "-q", "--bare", other)
		git(t, w.workspace, "remote", "add", "origin", other)
		git(t, w.workspace, "push", "-q", "origin", "main")
	})
	before := git(t, w.workspace, "config", "--list", "--local")
	for _, refused := range []string{"git remote add more x", "git config a.b c", "git branch -m main renamed"} {
		if out, code := w.sh(refused); code == 0 {
			t.Errorf("%s worked: %s", refused, out)
		}
	}
	if after := git(t, w.workspace, "config", "--list", "--local"); after != before {
		t.Errorf("the configuration was\n%s\nand is\n%s", before, after)
	}
	out, code := w.sh(identity + `git checkout -q -B main; git checkout -qb work; echo 1 >a; git add a; git commit -qm a
git push -q origin work; git fetch -q; git merge -q --ff-only origin/work; git reset -q --hard; git tag v1; git push -q origin v1; git log --format=%s origin/work`)
	if code != 0 || !strings.HasPrefix(out, "a\nfirst") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// There are no hard links between the trees of a box, and programs copy instead.
func TestHardLinksBetweenTrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, code := w.sh("echo x >~/cached; ! ln ~/cached linked && LC_ALL=C ln ~/cached linked 2>&1 | grep -o 'cross-device link'; cp -al ~/cached copied 2>/dev/null || cp -a ~/cached copied; cat copied")
	if code != 0 || !strings.HasSuffix(out, "x") || !strings.Contains(strings.ToLower(out), "cross-device link") {
		t.Errorf("exit code %d: %s", code, out)
	}
}
