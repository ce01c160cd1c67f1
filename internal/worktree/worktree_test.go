//go:build unix

package worktree_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/worktree"
)

// place is a repository with a tree of it.
type place struct {
	t    *testing.T
	tree worktree.Tree
}

// newPlace makes a repository with one commit on main. prepare changes it before that.
func newPlace(t *testing.T, prepare ...func(*place)) *place {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, home := t.TempDir(), t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	p := &place{t: t, tree: worktree.Tree{
		Repository: filepath.Join(dir, "project"), Dir: filepath.Join(dir, "trees", "one", "project"), Branch: "ohgw/crew/ann-1",
		Box: func(context.Context, string, ...string) (sandbox.Box, []string, error) {
			return sandbox.Outside(sandbox.Off, sandbox.Mark{}), env, nil
		},
	}}
	if err := os.MkdirAll(p.tree.Repository, 0o700); err != nil {
		t.Fatal(err)
	}
	p.git("init", "-q", "-b", "main")
	p.write("a.txt", "first\n")
	p.write(".gitignore", "ignored\n")
	for _, f := range prepare {
		f(p)
	}
	p.git("add", "-A")
	p.git("commit", "-qm", "first")
	return p
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	args = append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"}, args...)
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// git runs git in the repository, and own in the tree.
func (p *place) git(args ...string) string { p.t.Helper(); return run(p.t, p.tree.Repository, args...) }
func (p *place) own(args ...string) string { p.t.Helper(); return run(p.t, p.tree.Dir, args...) }

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
		t.Fatal(err)
	}
}

// write writes a file of the repository, and leave one of the tree.
func (p *place) write(name, text string) { p.t.Helper(); put(p.t, p.tree.Repository, name, text) }
func (p *place) leave(name, text string) { p.t.Helper(); put(p.t, p.tree.Dir, name, text) }

func (p *place) begin() {
	p.t.Helper()
	if err := p.tree.Begin(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// collect collects the tree, which has to be gone then.
func (p *place) collect() (branch string) {
	p.t.Helper()
	kept, err := p.tree.Collect(p.t.Context(), "ann", "ann: the work")
	if err != nil || kept.Dir != "" {
		p.t.Fatalf("kept = %+v, %v", kept, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(filepath.Dir(p.tree.Dir))); err != nil || len(entries) > 0 {
		p.t.Errorf("entries left = %v, %v", entries, err)
	}
	return kept.Branch
}

func TestChangesComeToABranchAndTheRepositoryStays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.git("config", "user.name", "Own")
	p.write(".git/info/exclude", "private\n")
	for _, hook := range []string{"pre-commit", "post-checkout", "reference-transaction", "post-commit"} {
		p.write(".git/hooks/"+hook, "#!/bin/sh\ntouch "+p.tree.Repository+"/../ran\nexit 1\n")
	}
	status := func() string {
		data, err := os.ReadFile(filepath.Join(p.tree.Repository, ".git", "index"))
		if err != nil {
			t.Fatal(err)
		}
		return p.git("status", "--porcelain", "--branch") + p.git("rev-parse", "HEAD") + string(data)
	}
	before := status()
	p.begin()
	p.leave("a.txt", "second\n")
	p.leave("new/file", "x")
	p.leave("ignored", "x")
	p.leave("private", "x")
	p.leave(".git/hooks/pre-commit", "#!/bin/sh\ntouch "+p.tree.Repository+"/../ran\nexit 1\n")
	p.leave(".git/index.lock", "")
	if got := p.own("config", "--local", "user.name"); got != "Own" {
		t.Errorf("the name in the tree = %q", got)
	}
	if err := os.Chmod(filepath.Join(p.tree.Dir, "new"), 0o500); err != nil {
		t.Fatal(err)
	}
	if got := p.collect(); got != p.tree.Branch {
		t.Errorf("branch = %q, want %q", got, p.tree.Branch)
	}
	if got := p.git("show", "--format=%an %s", "--name-only", p.tree.Branch); got != "ann ann: the work\n\na.txt\nnew/file" {
		t.Errorf("the commit is %q", got)
	}
	if after := status(); after != before {
		t.Errorf("the repository was\n%s\nand is\n%s", before, after)
	}
	if _, err := os.Lstat(filepath.Join(p.tree.Repository, "..", "ran")); err == nil {
		t.Error("a hook ran")
	}
}

func TestATreeWithoutChangesLeavesNoBranch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.begin()
	p.leave("ignored", "x")
	p.git("checkout", "-q", "--orphan", "elsewhere")
	if got := p.collect(); got != "" {
		t.Errorf("branch = %q", got)
	}
	if got := p.git("branch", "--format=%(refname:short)"); got != "main" {
		t.Errorf("branches = %q", got)
	}
}

// TestATreeGoesOnFromItsBranch has one that is not merged, one that is, and one that is gone.
func TestATreeGoesOnFromItsBranch(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.begin()
	p.leave("one", "1")
	p.own("add", "one")
	p.own("commit", "-qm", "by the agent itself")
	p.leave("two", "2")
	p.collect()
	p.write("b.txt", "b")
	p.git("add", "b.txt")
	p.git("commit", "-qm", "of the person")
	p.begin()
	if got := p.own("log", "--format=%s"); got != "ann: the work\nby the agent itself\nfirst" {
		t.Errorf("the tree begins with %q", got)
	}
	p.leave("three", "3")
	if got := p.collect(); got != p.tree.Branch {
		t.Errorf("branch = %q", got)
	}
	p.git("merge", "-q", "--no-edit", p.tree.Branch)
	p.begin()
	if got, want := p.own("rev-parse", "HEAD"), p.git("rev-parse", "main"); got != want {
		t.Errorf("a merged tree begins with %s, want %s", got, want)
	}
	if got := p.collect(); got != "" {
		t.Errorf("branch = %q", got)
	}
	p.git("branch", "-D", p.tree.Branch)
	p.tree.Older = []string{p.tree.Branch}
	p.tree.Branch = "ohgw/crew/ann-2"
	p.begin()
	p.leave("four", "4")
	if got := p.collect(); got != p.tree.Branch || p.git("rev-parse", got+"~") != p.git("rev-parse", "main") {
		t.Errorf("branch = %q", got)
	}
	p.tree.Older, p.tree.Branch = []string{p.tree.Branch}, "ohgw/crew/ann-3"
	p.begin()
	if got, want := p.own("rev-parse", "HEAD"), p.git("rev-parse", "ohgw/crew/ann-2"); got != want {
		t.Errorf("a copy begins with %s, want %s", got, want)
	}
}

// TestABranchOfAPersonStays has it checked out, and then moved.
func TestABranchOfAPersonStays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.begin()
	p.leave("one", "1")
	p.collect()
	p.git("checkout", "-q", p.tree.Branch)
	p.git("checkout", "-q", "-B", p.tree.Branch, "main")
	p.write("own", "of the person")
	p.git("add", "own")
	p.git("commit", "-qm", "of the person")
	head := p.git("rev-parse", "HEAD")
	p.begin()
	p.leave("two", "2")
	if got := p.collect(); got != p.tree.Branch+"-2" {
		t.Errorf("branch = %q", got)
	}
	if got := p.git("rev-parse", "HEAD"); got != head || p.git("status", "--porcelain") != "" {
		t.Errorf("HEAD was %s and is %s", head, got)
	}
	p.begin()
	if got := p.own("show", "HEAD:two"); got != "2" {
		t.Errorf("the tree begins with %q", got)
	}
}

// TestATreeThatACrashLeftIsTakenUp has no Collect after its work.
func TestATreeThatACrashLeftIsTakenUp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.begin()
	p.leave("one", "1")
	if !p.tree.Left() {
		t.Error("the tree is not found")
	}
	p.begin()
	p.leave("two", "2")
	p.collect()
	if got := p.git("show", "--format=", "--name-only", p.tree.Branch); got != "one\ntwo" {
		t.Errorf("the commit has %q", got)
	}
	// One that was not finished has no work in it.
	p.leave("half", "1")
	if p.tree.Left() {
		t.Error("a tree that was not finished counts")
	}
	p.git("checkout", "-q", p.tree.Branch)
	p.begin()
	if got := p.own("status", "--porcelain"); got != "" {
		t.Errorf("status = %q", got)
	}
}

// TestWhatNoBranchCanHaveStaysInTheTree has each kind of it.
func TestWhatNoBranchCanHaveStaysInTheTree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(p *place)
		want string
	}{
		"a repository": {func(p *place) {
			p.leave("sub/x", "1")
			run(t, filepath.Join(p.tree.Dir, "sub"), "init", "-q")
			run(t, filepath.Join(p.tree.Dir, "sub"), "add", "-A")
			run(t, filepath.Join(p.tree.Dir, "sub"), "commit", "-qm", "x")
		}, "it has another repository in it"},
		"an empty repository": {func(p *place) {
			p.leave("sub/x", "1")
			run(t, filepath.Join(p.tree.Dir, "sub"), "init", "-q")
		}, "git cannot add some of the files"},
		"a branch": {func(p *place) {
			p.own("checkout", "-qb", "other")
			p.own("commit", "-qm", "x", "--allow-empty")
			p.own("checkout", "-q", p.tree.Branch)
		}, "it has other branches or stashed changes"},
		"a stash": {func(p *place) {
			p.leave("a.txt", "stashed")
			p.own("stash")
		}, "it has other branches or stashed changes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.begin()
			c.make(p)
			p.leave("one", "1")
			kept, err := p.tree.Collect(t.Context(), "ann", "x")
			if err != nil || kept.Branch != p.tree.Branch || kept.Why != c.want || kept.Dir != p.tree.Dir || !p.tree.Left() {
				t.Errorf("kept = %+v, %v", kept, err)
			}
			if got := p.git("show", p.tree.Branch+":one"); got != "1" {
				t.Errorf("the branch has %q", got)
			}
		})
	}
}

// TestATreeThatCannotBeCommittedStays has no repository any more.
func TestATreeThatCannotBeCommittedStays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.begin()
	p.leave("one", "1")
	if err := os.RemoveAll(filepath.Join(p.tree.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	kept, err := p.tree.Collect(t.Context(), "ann", "x")
	if err == nil || kept.Dir != p.tree.Dir || kept.Why == "" {
		t.Errorf("kept = %+v, %v", kept, err)
	}
	if _, err := os.Stat(filepath.Join(p.tree.Dir, "one")); err != nil {
		t.Error(err)
	}
}

// TestRepositoriesOfOtherKinds has a shallow one, one with a submodule, one of SHA-256, and
// one that is reached by a link.
func TestRepositoriesOfOtherKinds(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(t *testing.T) *place{
		"shallow": func(t *testing.T) *place {
			p := newPlace(t)
			p.git("commit", "-qm", "second", "--allow-empty")
			shallow := filepath.Join(t.TempDir(), "shallow")
			p.git("clone", "-q", "--depth", "1", "file://"+p.tree.Repository, shallow)
			p.tree.Repository = shallow
			return p
		},
		"a submodule": func(t *testing.T) *place {
			other := newPlace(t)
			return newPlace(t, func(p *place) { p.git("submodule", "--quiet", "add", other.tree.Repository, "sub") })
		},
		"SHA-256": func(t *testing.T) *place {
			return newPlace(t, func(p *place) {
				if err := os.RemoveAll(filepath.Join(p.tree.Repository, ".git")); err != nil {
					t.Fatal(err)
				}
				p.git("init", "-q", "-b", "main", "--object-format=sha256")
			})
		},
		"a link": func(t *testing.T) *place {
			p := newPlace(t)
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(p.tree.Repository, link); err != nil {
				t.Fatal(err)
			}
			p.tree.Repository = link
			return p
		},
		"packed": func(t *testing.T) *place {
			p := newPlace(t)
			p.git("gc", "-q")
			return p
		},
	}
	for name, make := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := make(t)
			list := p.git("ls-files", "--stage")
			p.begin()
			p.leave("one", "1")
			p.collect()
			if got := p.git("diff", "--name-only", "main", p.tree.Branch); got != "one" {
				t.Errorf("the branch changes %q", got)
			}
			if got := p.git("fsck", "--no-dangling", "--no-progress"); got != "" {
				t.Errorf("git finds %q", got)
			}
			if after := p.git("ls-files", "--stage"); after != list || p.git("status", "--porcelain") != "" {
				t.Errorf("the index was\n%s\nand is\n%s", list, after)
			}
		})
	}
}

func TestWhatHasNoTreeIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(p *place)
		want   string
	}{
		"no repository": {func(p *place) { p.tree.Repository = t.TempDir() }, "is not the top directory of a git repository"},
		"a directory of one": {func(p *place) {
			p.write("sub/x", "")
			p.tree.Repository = filepath.Join(p.tree.Repository, "sub")
		}, "is not the top directory of a git repository"},
		"no commit": {func(p *place) {
			p.tree.Repository = filepath.Join(p.tree.Repository, "empty")
			p.write("x", "")
			run(p.t, p.tree.Repository, "init", "-q")
		}, "has no commit yet"},
		"a worktree": {func(p *place) {
			to := filepath.Join(p.tree.Repository, "..", "other")
			p.git("worktree", "add", "-q", "--detach", to)
			p.tree.Repository = to
		}, "is a worktree or a submodule itself"},
		"lost objects": {func(p *place) {
			blob := p.git("rev-parse", "HEAD:a.txt")
			if err := os.Remove(filepath.Join(p.tree.Repository, ".git", "objects", blob[:2], blob[2:])); err != nil {
				p.t.Fatal(err)
			}
		}, "without all of its objects"},
		"no git": {func(p *place) {
			p.tree.Box = func(context.Context, string, ...string) (sandbox.Box, []string, error) {
				return sandbox.Outside(sandbox.Off, sandbox.Mark{}), []string{"PATH=/nowhere"}, nil
			}
		}, "git is not installed"},
		"a damaged repository": {func(p *place) { p.write(".git/config", "[core") }, "git cannot read the repository"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c.change(p)
			err := p.tree.Begin(t.Context())
			if refused, ok := errors.AsType[*worktree.Error](err); !ok || !strings.Contains(refused.Msg, c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
			if p.tree.Left() {
				t.Error("a tree is there")
			}
		})
	}
}

func TestPartsOfTheNameOfABranch(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"reviewer": "reviewer", "Go Expert": "Go-Expert", "../..": "x", "": "x", "a..b.lock": "a-b-lock", "-x-": "x", "é": "x",
		strings.Repeat("a", 100): strings.Repeat("a", 60),
	} {
		if got := worktree.Part(text); got != want {
			t.Errorf("Part(%q) = %q, want %q", text, got, want)
		}
	}
}
