package conversations_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
)

// A conversation that wants a worktree works there, and is told so.
func TestAConversationInAWorktree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := conversations.Worktree{Dir: filepath.Join(dir, "tree", "sub"), Root: filepath.Join(dir, "tree"), Branch: "openhands/x"}
	var failed error
	a := newAPI(t, func(c *conversations.Config) {
		c.Dir, c.Worktree = dir, func(_ context.Context, _, in string) (conversations.Worktree, error) {
			if filepath.Base(in) != "w" {
				t.Errorf("a worktree of %s", in)
			}
			return made, failed
		}
	})
	if err := os.MkdirAll(filepath.Join(dir, "w", ".git"), 0o750); err != nil {
		t.Fatal(err)
	}
	start := func(in string) (dir, suffix string) {
		t.Helper()
		_, id := a.beginWith(`{` + agentMember + `,"workspace":{"working_dir":"` + in + `"},"worktree":true}`)
		s, _ := a.stored(id)
		return s.Workspace.Dir, s.Agent.Context.Suffix
	}
	if in, suffix := start("w"); in != made.Dir || !strings.Contains(suffix, made.Branch) || !strings.Contains(suffix, filepath.Join(dir, "w")) {
		t.Errorf("started in %s with %q", in, suffix)
	}
	if in, suffix := start("plain"); in != filepath.Join(dir, "plain") || suffix != "" {
		t.Errorf("started in %s with %q", in, suffix)
	}
	failed = errors.New("no worktree")
	a.want(http.StatusInternalServerError, http.MethodPost, "/api/conversations", `{`+agentMember+`,`+workMember+`,"worktree":true}`, nil)
}

// All conversations can be closed before the machine is paused.
func TestPrepareForAPause(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, _ := a.begin()
	a.want(http.StatusNoContent, http.MethodPost, "/api/conversations/prepare-for-sandbox-pause", "", nil)
	a.want(http.StatusOK, http.MethodGet, path, "", nil)
}
