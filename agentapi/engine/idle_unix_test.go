//go:build unix

package engine_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/testkit/boxtest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
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
	for range 6000 { // it ends beside us
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the shell goes on")
}
