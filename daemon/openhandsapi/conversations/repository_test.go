package conversations_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// startIn starts a conversation in a directory, which the answer names.
func (a *api) startIn(dir string, status int, more string) {
	a.t.Helper()
	a.want(status, http.MethodPost, "/api/conversations", `{`+agentMember+`,"workspace":{"working_dir":"`+filepath.ToSlash(dir)+`"}`+more+`}`, nil)
}

func isRepository(t *testing.T, dir string) bool {
	t.Helper()
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// TestANewDirectoryOfAConversationIsARepository starts conversations in a directory that is
// there, in new ones outside and inside of a repository, and in one that the engine refuses.
func TestANewDirectoryOfAConversationIsARepository(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.startIn("project/one", http.StatusCreated, "")
	if !isRepository(t, filepath.Join(a.dir, "project", "one")) || isRepository(t, filepath.Join(a.dir, "project")) {
		t.Error("the new directory is no repository, or the one above it is")
	}
	there := t.TempDir()
	a.startIn(there, http.StatusCreated, "")
	if isRepository(t, there) {
		t.Error("a directory that was there is a repository")
	}
	a.startIn("project/one/inside", http.StatusCreated, "")
	if isRepository(t, filepath.Join(a.dir, "project", "one", "inside")) {
		t.Error("there is a repository in a repository")
	}
	a.startIn("project/tree", http.StatusCreated, `,"worktree":true`)
	if !isRepository(t, filepath.Join(a.dir, "project", "tree")) {
		t.Error("with a worktree the new directory is no repository")
	}
	code, _ := a.ask(http.MethodPost, "/api/conversations", `{"agent_profile_id":"`+lostID+`","workspace":{"working_dir":"project/refused"}}`)
	if _, err := os.Lstat(filepath.Join(a.dir, "project", "refused")); code < 400 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a conversation that is refused: %d, %v", code, err)
	}
}

// TestGitWorksInANewDirectoryOfAConversation commits in one.
func TestGitWorksInANewDirectoryOfAConversation(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	a := newAPI(t)
	a.startIn("new", http.StatusCreated, "")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = filepath.Join(a.dir, "new")
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if got := git("status", "--porcelain", "--branch"); got != "## No commits yet on main" {
		t.Errorf("status %q", got)
	}
	if err := os.WriteFile(filepath.Join(a.dir, "new", "a.txt"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("add", "a.txt")
	git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "one")
	if got := git("fsck", "--full") + git("log", "--format=%s"); !strings.HasSuffix(got, "one") {
		t.Errorf("log %q", got)
	}
}
