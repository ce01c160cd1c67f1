package conversations_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
	"github.com/ohgw/ohgw/daemon/openhandsapi/nativetest"
)

// A conversation that wants a worktree works there, and is told so.
func TestAConversationInAWorktree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := conversations.Worktree{Dir: filepath.Join(dir, "tree", "sub"), Root: filepath.Join(dir, "tree"), Branch: "openhands/x"}
	var failed error
	a := &api{t: t, engine: &nativetest.Engine{}, dir: dir}
	a.handler = openhandsapi.New(openhandsapi.Config{Routes: conversations.Routes(conversations.Config{
		Engine: a.engine, Dir: dir,
		Worktree: func(_ context.Context, _, in string) (conversations.Worktree, error) {
			if filepath.Base(in) != "w" {
				t.Errorf("a worktree of %s", in)
			}
			return made, failed
		},
	})})
	if err := os.MkdirAll(filepath.Join(dir, "w", ".git"), 0o750); err != nil {
		t.Fatal(err)
	}
	start := func(in string) *nativetest.Conversation {
		t.Helper()
		var info struct{ ID string }
		a.want(http.StatusCreated, http.MethodPost, "/api/conversations", `{`+agentMember+`,"workspace":{"working_dir":"`+in+`"},"worktree":true}`, &info)
		c, err := a.engine.Get(info.ID)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := start("w"); c.Started.Workspace != made.Dir || !strings.Contains(c.Started.Suffix, made.Branch) || !strings.Contains(c.Started.Suffix, filepath.Join(dir, "w")) {
		t.Errorf("started %+v", c.Started)
	}
	if c := start("plain"); c.Started.Workspace != filepath.Join(dir, "plain") || c.Started.Suffix != "" {
		t.Errorf("started %+v", c.Started)
	}
	failed = errors.New("no worktree")
	res := httptest.NewRecorder()
	a.handler.ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/conversations",
		strings.NewReader(`{`+agentMember+`,`+workMember+`,"worktree":true}`)))
	if res.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", res.Code, res.Body)
	}
}

// All conversations can be closed before the machine is paused.
func TestPrepareForAPause(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, _ := a.begin()
	a.want(http.StatusNoContent, http.MethodPost, "/api/conversations/prepare-for-sandbox-pause", "", nil)
	a.want(http.StatusOK, http.MethodGet, path, "", nil)
}
