//go:build unix

package plugin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/plugin"
)

// gitIn runs git in a directory without the configuration of the machine.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func cacheIn(dir string) plugin.Cache {
	return plugin.Cache{Dir: dir, Path: os.Getenv("PATH"), Now: time.Now}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// repository has the version 1 in a tag and a commit, 2 on a branch, 3 on main, and 4 in a
// file that is not committed.
func repository(t *testing.T) (dir, first string) {
	t.Helper()
	dir = tree(t, nil)
	gitIn(t, dir, "init", "--quiet", "--initial-branch=main")
	commit := func(version string) {
		write(t, dir, "version", version)
		gitIn(t, dir, "add", ".")
		gitIn(t, dir, "commit", "--quiet", "--message", version)
	}
	commit("1")
	gitIn(t, dir, "tag", "--annotate", "--message", "v1", "v1")
	first = gitIn(t, dir, "rev-parse", "HEAD")
	gitIn(t, dir, "checkout", "--quiet", "-b", "other/branch")
	commit("2")
	gitIn(t, dir, "checkout", "--quiet", "main")
	commit("3")
	write(t, dir, "version", "4")
	return dir, first
}

func TestCheckout(t *testing.T) {
	t.Parallel()
	dir, first := repository(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	gitIn(t, dir, "clone", "--quiet", "--bare", ".", bare)
	linked := filepath.Join(t.TempDir(), "linked")
	gitIn(t, dir, "worktree", "add", "--quiet", linked, "other/branch")
	cache := filepath.Join(t.TempDir(), "cache")
	for _, try := range []struct{ repository, ref, want string }{
		{dir, "", "3"},
		{dir, "main", "3"},
		{dir, "v1", "1"},
		{dir, "refs/tags/v1", "1"},
		{dir, first, "1"},
		{dir, strings.ToUpper(first), "1"},
		{dir, "other/branch", "2"},
		{dir, "origin/other/branch", "2"},
		{dir, "refs/remotes/origin/main", "3"},
		{dir, "v1", "1"},
		{bare, "v1", "1"},
		{bare, "", "3"},
		{linked, "", "2"},
	} {
		if !plugin.IsRepository(try.repository) {
			t.Errorf("%s is no repository", try.repository)
		}
		place, err := cacheIn(cache).Checkout(t.Context(), try.repository, try.ref)
		got := place.Dir
		if err != nil {
			t.Errorf("%+v: %v", try, err)
			continue
		}
		data, err := os.ReadFile(filepath.Join(got, "version"))
		if string(data) != try.want {
			t.Errorf("%+v: file = %q, error %v", try, data, err)
		}
		if _, err := os.Lstat(filepath.Join(got, ".git")); err == nil {
			t.Errorf("%+v: the repository is in %s", try, got)
		}
	}
	nothingLeft(t, cache)
}

// nothingLeft finds what a checkout has left behind.
func nothingLeft(t *testing.T, cache string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(cache, ".new-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestCheckoutThatIsRefused(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	empty, torn := tree(t, nil), tree(t, map[string]string{".git/HEAD": "ref: refs/"})
	gitIn(t, empty, "init", "--quiet")
	cache := filepath.Join(t.TempDir(), "cache")
	for _, try := range []struct{ repository, ref, want string }{
		{dir, "none", "no such ref"},
		{dir, strings.Repeat("0", 40), "no such ref"},
		{dir, "refs/heads/none", "no such ref"},
		{dir, "--upload-pack=touch x", "is not the name"},
		{dir, "a..b", "is not the name"},
		{dir, "HEAD", "is not the name"},
		{dir, "main:refs/heads/x", "is not the name"},
		{dir, "v1^", "is not the name"},
		{dir, "+main\n", "is not the name"},
		{dir, "refs/heads/*", "is not the name"},
		{empty, "", "no commit"},
		{torn, "", "cannot read"},
		{torn, "main", "no such ref"},
	} {
		if got, err := cacheIn(cache).Checkout(t.Context(), try.repository, try.ref); err == nil || !strings.Contains(err.Error(), try.want) {
			t.Errorf("%+v: checkout = %q, error %v", try, got, err)
		}
	}
	noGit := plugin.Cache{Dir: cache, Path: t.TempDir(), Now: time.Now}
	if _, err := noGit.Checkout(t.Context(), dir, ""); err == nil || !strings.Contains(err.Error(), "git does not run") {
		t.Errorf("without git: %v", err)
	}
	nothingLeft(t, cache)
}

// TestCheckoutRunsNothingOfTheRepository has programs in all places where git looks for
// them in a repository. The last one is that of a partial clone.
func TestCheckoutRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	full, _ := repository(t)
	gitIn(t, full, "checkout", "--quiet", "--force", "main")
	write(t, full, ".gitattributes", "* filter=evil")
	gitIn(t, full, "add", ".")
	gitIn(t, full, "commit", "--quiet", "--message", "attributes")
	gitIn(t, full, "config", "uploadpack.allowFilter", "true")
	partial, ran := filepath.Join(t.TempDir(), "partial"), filepath.Join(t.TempDir(), "ran")
	gitIn(t, full, "clone", "--quiet", "--no-checkout", "--filter=blob:none", "file://"+full, partial)
	for _, dir := range []string{full, partial} {
		for _, name := range []string{
			"filter.evil.smudge", "filter.evil.process", "core.fsmonitor", "uploadpack.packObjectsHook", "core.sshCommand", "remote.origin.uploadpack",
		} {
			gitIn(t, dir, "config", name, "touch "+ran+";")
		}
		for _, name := range []string{"post-checkout", "pre-upload", "reference-transaction"} {
			if err := os.WriteFile(filepath.Join(dir, ".git/hooks", name), []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		_, err := cacheIn(filepath.Join(t.TempDir(), "cache")).Checkout(t.Context(), dir, "")
		if dir == full && err != nil || dir == partial && err == nil {
			t.Errorf("%s: %v", dir, err)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("a program of %s ran", dir)
		}
	}
}

// A link of a commit shows nothing outside of the checkout, nor does one in a circle stop it.
func TestCheckoutWithLinks(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	outside := tree(t, map[string]string{"SKILL.md": "secret"})
	for _, name := range []string{"skills", "commands"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"skills/out": outside, "skills/circle": "../skills/circle"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "skills/good.md", "x")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "--quiet", "--message", "links")
	at, err := cacheIn(filepath.Join(t.TempDir(), "cache")).Checkout(t.Context(), dir, "main")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plugin.Load(at.Dir)
	if got := leftOut(p); err != nil || len(p.Skills) != 1 || !strings.Contains(got, "skills/out") || !strings.Contains(got, "skills/circle") {
		t.Errorf("Load = %+v, error %v", p, err)
	}
}
