package boxes_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
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

// What a program adds to a repository is nothing by which git runs programs later,
// outside: git goes into worktrees, submodules and repositories of the index by itself.
func TestGitRunsNothingThatWasAdded(t *testing.T) {
	t.Parallel()
	submodule := func(w *world, _ *boxes.Config) {
		other := filepath.Join(w.root, "other")
		if err := os.MkdirAll(other, 0o700); err != nil {
			t.Fatal(err)
		}
		git(t, other, "init", "-q", "-b", "main")
		git(t, other, "commit", "-q", "--allow-empty", "-m", "first")
		git(t, w.workspace, "submodule", "add", "-q", other, "libs/other")
		git(t, w.workspace, "commit", "-qm", "submodule")
	}
	config := func(text string) func(*world, *boxes.Config) {
		return func(w *world, _ *boxes.Config) {
			f, err := os.OpenFile(filepath.Join(w.workspace, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(text)
			}
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	const evil = `printf '[core]\n\tfsmonitor = "touch OUT; true"\n\thooksPath = ../hooks\n' `
	const copied = `set -e; cp -r .git e; ` + evil + `> e/config; `
	for _, c := range []struct {
		name, inside string
		outside      []string // git's arguments afterwards
		more         func(*world, *boxes.Config)
	}{
		{"a worktree's commondir", `git worktree add -q wt; ` + copied + `echo $PWD/e > .git/worktrees/wt/commondir`, []string{"-C", "wt", "status"}, nil},
		{"a commondir in another form", `git worktree add -q wt; ` + copied + `echo ../../../e/ > .git/worktrees/wt/commondir`, []string{"-C", "wt", "status"}, nil},
		{"a commondir that is a link", `git worktree add -q wt; ` + copied + `echo $PWD/e > f; ln -sf $PWD/f .git/worktrees/wt/commondir`, []string{"-C", "wt", "status"}, nil},
		{"a commondir with two names", `git worktree add -q wt; ` + copied + `cp .git/worktrees/wt/commondir f; ln -f f .git/worktrees/wt/commondir; echo $PWD/e > f`, []string{"-C", "wt", "status"}, nil},
		{"a worktree that was moved there", `git worktree add -q wt; ` + copied + `mv .git/worktrees/wt x; echo $PWD/e > x/commondir; mv x .git/worktrees/wt`, []string{"-C", "wt", "status"}, nil},
		{"a worktree by hand", copied + `mkdir -p .git/worktrees/w wt; echo ref: refs/heads/main > .git/worktrees/w/HEAD; echo $PWD/e > .git/worktrees/w/commondir; echo gitdir: $PWD/.git/worktrees/w > wt/.git`, []string{"-C", "wt", "status"}, nil},
		{"a worktree's own settings", `git worktree add -q wt; ` + evil + `> .git/worktrees/wt/config.worktree`, []string{"-C", "wt", "status"}, config("[extensions]\n\tworktreeConfig = true\n")},
		{"a repository in the index", `git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub; ` + evil + `>> sub/.git/config`, []string{"status"}, nil},
		{"a file .git in the index", `git init -q --separate-git-dir=e sub; git -C sub commit -q --allow-empty -m x; git add sub; ` + evil + `>> e/config`, []string{"status"}, nil},
		{"a repository two levels below", `git init -q sub; git init -q sub/low; git -C sub/low commit -q --allow-empty -m x; git -C sub add low; git -C sub commit -qm x; git add sub; ` + evil + `>> sub/low/.git/config`, []string{"status"}, nil},
		{"the file .git of a submodule", copied + evil + `> e/config; echo gitdir: $PWD/e > libs/other/.git`, []string{"status"}, submodule},
		{"another submodule's directory", copied + `mv libs/other libs/x && mkdir libs/other; echo gitdir: $PWD/e > libs/other/.git`, []string{"status"}, submodule},
		{"a new submodule's hooks", `mkdir -p .git/modules; git init -q --separate-git-dir=.git/modules/n new; git -C new commit -q --allow-empty -m x; git add new; mkdir -p .git/modules/n/hooks; printf '#!/bin/sh\ntouch OUT\n' > .git/modules/n/hooks/pre-commit; chmod +x .git/modules/n/hooks/pre-commit`, []string{"-C", "new", "commit", "-q", "--allow-empty", "-m", "y"}, nil},
		{"a file with settings", evil + `> shared`, []string{"status"}, func(w *world, cfg *boxes.Config) {
			config("[include]\n\tpath = ../shared\n")(w, cfg)
			if err := os.WriteFile(filepath.Join(w.workspace, "shared"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file with settings that was not there", evil + `> later`, []string{"status"}, config("[includeIf \"gitdir:**\"]\n\tpath = \"../later\" # shared\n")},
		{"a directory of hooks that was not there", `mkdir own; printf '#!/bin/sh\ntouch OUT\n' > own/pre-commit; chmod +x own/pre-commit`, []string{"commit", "--allow-empty", "-qm", "x"}, config("[core]\n\thooksPath = own\n")},
	} {
		for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
			t.Run(c.name+"/"+string(level), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, repository, func(w *world, cfg *boxes.Config) {
					cfg.Level = level
					if c.more != nil {
						c.more(w, cfg)
					}
				})
				out := filepath.Join(w.root, "OUT")
				said, code := w.sh(identity + "set +e; " + strings.ReplaceAll(c.inside, "OUT", out))
				t.Logf("exit code %d: %s", code, said)
				if err := w.box.Close(); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com"}, c.outside...)...)
				cmd.Dir = w.workspace
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
				said2, err := cmd.CombinedOutput()
				if _, gone := os.Lstat(out); gone == nil {
					t.Errorf("a program ran outside; git says %s (%v)", said2, err)
				}
			})
		}
	}
}

// Worktrees and repositories that were added go on as git has made them.
func TestAddedRepositoriesWork(t *testing.T) {
	t.Parallel()
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			removed := make(chan string, 16)
			w := newWorld(t, repository, func(_ *world, cfg *boxes.Config) {
				cfg.Level, cfg.Removed = level, func(path string) { removed <- path }
			})
			out, code := w.sh(identity + `git worktree add -q wt; echo 1 > wt/a; git -C wt add a; git -C wt commit -qm a; git worktree add -q two; git worktree remove two
git init -q -b main sub; git -C sub commit -q --allow-empty -m x; git clone -q sub copy; git -C copy remote add more https://example.com/a.git; git -C copy branch -q work; git add sub copy; git commit -qm subs
cp sub/.git/config before; cp copy/.git/config before2`)
			if code != 0 {
				t.Errorf("exit code %d: %s", code, out)
			}
			if err := w.box.Close(); err != nil {
				t.Fatal(err)
			}
			close(removed)
			for path := range removed {
				t.Errorf("removed or changed: %s", path)
			}
			for before, now := range map[string]string{"before": "sub/.git/config", "before2": "copy/.git/config"} {
				a, _ := os.ReadFile(filepath.Join(w.workspace, before))
				if b, err := os.ReadFile(filepath.Join(w.workspace, now)); err != nil || string(a) != string(b) {
					t.Errorf("%s was\n%s\nand is\n%s (%v)", now, a, b, err)
				}
			}
			if out := git(t, filepath.Join(w.workspace, "wt"), "log", "--format=%s", "-1"); out != "a\n" {
				t.Errorf("the worktree's log outside: %s", out)
			}
		})
	}
}

// A worktree that leads to other settings before any program has run is refused.
func TestWorktreeThatLeadsElsewhere(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"../../../e", "ABSOLUTE"} {
		var cfg boxes.Config
		w := newWorld(t, repository, func(_ *world, c *boxes.Config) { cfg = *c })
		if err := w.box.Close(); err != nil { // It would put the file right.
			t.Fatal(err)
		}
		git(t, w.workspace, "worktree", "add", "-q", "wt")
		git(t, w.workspace, "init", "-q", "--bare", "e")
		at := filepath.Join(w.workspace, ".git", "worktrees", "wt", "commondir")
		if err := os.WriteFile(at, []byte(strings.ReplaceAll(to, "ABSOLUTE", filepath.Join(w.workspace, "e"))+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if box, err := boxes.New(cfg); err == nil || !strings.Contains(err.Error(), at+" leads to ") {
			t.Errorf("%s: box = %v, error %v", to, box, err)
		}
	}
}
