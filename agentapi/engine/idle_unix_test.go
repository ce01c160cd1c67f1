//go:build unix

package engine_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/testkit/boxtest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func TestShellOfAOneShotEndsWithIt(t *testing.T) {
	t.Parallel()
	boxtest.Outside(t, "processes have other numbers inside")
	w := newWorld(t, realTools)
	w.llm.Reply(terminal("echo $$ > pid"), llmtest.Finish("ok"))
	c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, New: true, Once: true, Profile: "main", Workspace: w.workspace})
	if err != nil {
		t.Fatal(err)
	}
	w.conv = c
	w.say("go")
	pid, err := strconv.Atoi(strings.TrimSpace(string(mustRead(t, filepath.Join(w.workspace, "pid")))))
	if err != nil || syscall.Kill(pid, 0) != nil {
		t.Fatalf("the shell does not run: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, waittest.Patience, "the shell ends", func() (any, bool) { // after Close returns
		err := syscall.Kill(pid, 0)
		return err, err != nil
	})
}
