package boxpool

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gitOutside runs git without a box.
func gitOutside(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestAWorktreeOfAConversation(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	b, home := apiWorld(t, "")
	repo := filepath.Join(home, "project")
	if err := os.MkdirAll(filepath.Join(repo, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	gitOutside(t, repo, "init", "-q")
	if err := os.WriteFile(filepath.Join(repo, "sub", "a.txt"), []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gitOutside(t, repo, "add", "-A")
	gitOutside(t, repo, "commit", "-qm", "first")
	gitOutside(t, repo, "checkout", "-qb", "other")
	hook := filepath.Join(repo, ".git/hooks/post-checkout")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+home+"/escaped\n"), 0o700); err != nil { // it is to be run
		t.Fatal(err)
	}
	const id = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"
	made, err := b.Worktree(t.Context(), id, filepath.Join(repo, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	if made.Branch != "openhands/"+id || filepath.Base(made.Root) != "project" || made.Dir != filepath.Join(made.Root, "sub") {
		t.Errorf("made %+v", made)
	}
	if data, err := os.ReadFile(filepath.Join(made.Dir, "a.txt")); err != nil || string(data) != "first\n" {
		t.Errorf("the file in the worktree: %q, %v", data, err)
	}
	if got := gitOutside(t, made.Dir, "status", "--porcelain", "--branch"); got != "## openhands/"+id {
		t.Errorf("status %q", got)
	}
	if got := gitOutside(t, repo, "worktree", "list"); !strings.Contains(got, made.Root) || !strings.Contains(got, "[other]") {
		t.Errorf("worktrees: %s", got)
	}
	if got := run(t, b, "git -c user.name=n -c user.email=e@e commit -q --allow-empty -m second && git log --format=%s -1", made.Dir); got != "second" {
		t.Errorf("a commit in the box of the worktree: %s", got)
	}
	if _, err := os.Stat(filepath.Join(home, "escaped")); err == nil {
		t.Error("a hook of the repository ran outside of its box")
	}
	plain, err := b.Worktree(t.Context(), id, filepath.Join(home, "app2"))
	if err != nil || plain.Root != "" || plain.Dir != filepath.Join(home, "app2") {
		t.Errorf("in no repository: %+v, %v", plain, err)
	}
	if _, err := b.Worktree(t.Context(), "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b12", made.Dir); err == nil {
		t.Error("a worktree of a worktree")
	}
}

// With one workspace for all, the worktrees of its repository can be seen, too.
func TestAWorktreeOfTheOneWorkspace(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	b, home := apiWorld(t, "app2")
	repo := filepath.Join(home, "app2")
	gitOutside(t, repo, "init", "-q")
	made, err := b.Worktree(t.Context(), "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11", repo)
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, b, "echo here > x && git status --porcelain && cat "+home+"/secret", made.Dir); !strings.HasPrefix(got, "?? x") || strings.HasSuffix(got, "\nsecret") {
		t.Errorf("in the worktree: %s", got)
	}
}
