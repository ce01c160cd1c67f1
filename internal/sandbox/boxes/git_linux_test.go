package boxes_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// git runs git outside, without the user's configuration.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// repository makes the workspace a repository with a commit.
func repository(w *world, _ *boxes.Config) {
	git(w.t, w.workspace, "init", "-q", "-b", "main")
	git(w.t, w.workspace, "commit", "-q", "--allow-empty", "-m", "first")
}

const identity = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b.c; set -e; "

func TestGitWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository)
	out, code := w.sh(identity + `echo 1 > a; git add a; git commit -qm a; git checkout -qb b; echo 2 > b; git add b; git commit -qm b
git checkout -q main; echo 3 > c; git add c; git commit -qm c; git rebase -q b; echo 4 > a; git stash -q; git stash pop -q; git gc -q
git log --format=%s`)
	if code != 0 || !strings.Contains(out, "c\nb\na\nfirst") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestGitFilesAreProtected(t *testing.T) {
	t.Parallel()
	for _, attempt := range []string{
		"echo x > .git/hooks/pre-commit",
		"git config core.fsmonitor evil",
		"echo x >> .git/config",
		"mv .git x && cp -r x .git",
		"mv .git/hooks x",
		"rm -rf .git/hooks && test ! -e .git/hooks",
		"rm .git/config",
		"cp .git/config .git/config.lock && mv .git/config.lock .git/config",
		"ln -f .git/HEAD .git/config",
	} {
		t.Run(attempt, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, repository)
			if out, code := w.sh(attempt); code == 0 {
				t.Errorf("it worked: %s", out)
			}
			if out := git(t, w.workspace, "config", "--list", "--local"); strings.Contains(out, "evil") {
				t.Errorf("the configuration outside: %s", out)
			}
		})
	}
}

func TestPlantedCommondirIsRemoved(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"commondir", "config.worktree"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			removed := make(chan string, 16)
			w := newWorld(t, repository, func(_ *world, cfg *boxes.Config) { cfg.Removed = func(path string) { removed <- path } })
			p, out := w.start("/bin/bash", "-c", "mkdir evil; echo ../evil > .git/"+name+"; while [ -e .git/"+name+" ]; do :; done")
			defer out.Close()
			select {
			case path := <-removed:
				if want := filepath.Join(w.workspace, ".git", name); path != want {
					t.Errorf("removed %s, want %s", path, want)
				}
			case <-time.After(time.Minute):
				t.Error("it is not reported")
			}
			if code, err := p.Wait(); code != 0 || err != nil {
				t.Error(code, err)
			}
		})
	}
}

// A file that is made as the last act of a program is gone when the box is closed.
func TestCommondirOfTheLastMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository)
	w.sh("echo ../evil > .git/commondir")
	if err := w.box.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(w.workspace, ".git", "commondir")); err == nil {
		t.Error("commondir is there")
	}
}

func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	var main string
	w := newWorld(t, func(w *world, cfg *boxes.Config) {
		main = filepath.Join(w.root, "main")
		if err := os.MkdirAll(main, 0o700); err != nil {
			t.Fatal(err)
		}
		git(t, main, "init", "-q", "-b", "main")
		git(t, main, "commit", "-q", "--allow-empty", "-m", "first")
		w.workspace = filepath.Join(w.root, "linked")
		git(t, main, "worktree", "add", "-q", w.workspace)
		cfg.Policy.Workspace = w.workspace
	})
	if out, code := w.sh(identity + "echo 1 > a; git add a; git commit -qm linked"); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out := git(t, main, "log", "--format=%s", "linked"); !strings.HasPrefix(out, "linked\n") {
		t.Errorf("the log outside: %s", out)
	}
	for _, attempt := range []string{
		"git config core.fsmonitor evil", "echo x > " + main + "/.git/hooks/x", "echo gitdir: /x > .git", "mv .git x",
		"echo /x > " + main + "/.git/worktrees/linked/commondir",
	} {
		if out, code := w.sh(attempt); code == 0 {
			t.Errorf("%s worked: %s", attempt, out)
		}
	}
}

// A file .git that names a directory which does not know the workspace opens nothing.
func TestForeignGitDirectoryStaysClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world, _ *boxes.Config) {
		other := filepath.Join(w.root, "other")
		if err := os.MkdirAll(other, 0o700); err != nil {
			t.Fatal(err)
		}
		git(t, other, "init", "-q", "-b", "main")
		if err := os.WriteFile(filepath.Join(w.workspace, ".git"), []byte("gitdir: "+other+"/.git\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if out, code := w.sh("touch ../../other/.git/x"); code == 0 {
		t.Errorf("it worked: %s", out)
	}
}

func TestSubmodule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository, func(w *world, _ *boxes.Config) {
		other := filepath.Join(w.root, "other")
		if err := os.MkdirAll(other, 0o700); err != nil {
			t.Fatal(err)
		}
		git(t, other, "init", "-q", "-b", "main")
		git(t, other, "commit", "-q", "--allow-empty", "-m", "first")
		git(t, w.workspace, "submodule", "add", "-q", other, "libs/other")
	})
	if out, code := w.sh(identity + "cd libs/other; echo 1 > a; git add a; git commit -qm a"); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, attempt := range []string{"cd libs/other && git config core.fsmonitor evil", "echo x > .git/modules/libs/other/hooks/x", "mv .git/modules/libs x"} {
		if out, code := w.sh(attempt); code == 0 {
			t.Errorf("%s worked: %s", attempt, out)
		}
	}
}
