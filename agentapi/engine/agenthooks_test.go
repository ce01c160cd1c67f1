//go:build unix

package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

const blocksTouch = "hooks:\n  PreToolUse:\n    - matcher: terminal\n      hooks: [{command: 'grep -q forbidden && exit 2; exit 0'}]\n"

// both gives a world hooks of the home directory and an agent there with hooks.
func both(t *testing.T) (home string, options []func(*engine.Config)) {
	t.Helper()
	option := hooks(t, [3]string{"PreToolUse", "*", "echo x >> seen"})
	c := engine.Config{}
	option(&c)
	dir := filepath.Join(c.Home, ".agents", "agents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "---\nname: watched\ndescription: d\ntools: [terminal]\n" + blocksTouch + "---\nWork.\n"
	if err := os.WriteFile(filepath.Join(dir, "watched.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return c.Home, []func(*engine.Config){subAgents, option}
}

func TestHooksOfADefinitionRunForItsSubAgents(t *testing.T) {
	t.Parallel()
	_, options := both(t)
	w := newWorld(t, options...)
	w.llm.Reply(task(`{"prompt":"go","subagent_type":"watched"}`), terminal("touch forbidden"), terminal("touch allowed"), llmtest.Text("done"), llmtest.Text("ok"))
	if res := w.say("go"); res.Answer != "ok" {
		t.Fatalf("%+v", res)
	}
	if made(w, "forbidden") || !made(w, "allowed") {
		t.Error("the hook of the definition did not count")
	}
	if data, err := os.ReadFile(filepath.Join(w.workspace, "seen")); err != nil || string(data) != "x\nx\nx\n" {
		t.Errorf("the hooks of the home directory saw %q, %v", data, err)
	}
}

func TestHooksOfAWorkspacesDefinitionDoNotRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, subAgents, hooks(t))
	dir := filepath.Join(w.workspace, ".agents", "agents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "---\nname: watched\ndescription: d\ntools: [terminal]\nhooks: {session_start: [{hooks: [{command: touch ran}]}]}\n---\nWork.\n"
	if err := os.WriteFile(filepath.Join(dir, "watched.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.llm.Reply(task(`{"prompt":"go","subagent_type":"watched"}`), llmtest.Text("done"), llmtest.Text("ok"))
	w.say("go")
	if made(w, "ran") {
		t.Error("a hook of the workspace ran")
	}
}
