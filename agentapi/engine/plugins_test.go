//go:build unix

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// fullPlugin is a plugin with all that a plugin may have: a command, an agent, a hook
// that leaves the file ran, and an MCP server that is this test.
func fullPlugin(t *testing.T, base, heard string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"one": map[string]any{"command": self, "args": []string{mcpArgument}, "env": map[string]string{mcpVariable: heard}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".plugin/plugin.json": `{"name":"full"}`,
		".mcp.json":           string(servers),
		"hooks/hooks.json":    `{"hooks":{"SessionStart":[{"hooks":[{"command":"touch ran"}]}]}}`,
		"commands/greet.md":   "---\ndescription: Greets.\n---\nSay good morning.",
		"agents/porter.md":    "---\nname: porter\ndescription: Carries.\ntools: [terminal]\n---\nYou carry.",
	} {
		file := filepath.Join(base, ".agents/plugins/full", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAPluginOfTheUserIsPartOfEachConversation has one sub-agent, one hook, one MCP
// server and one command.
func TestAPluginOfTheUserIsPartOfEachConversation(t *testing.T) {
	t.Parallel()
	home, heard := t.TempDir(), filepath.Join(t.TempDir(), "heard")
	fullPlugin(t, home, heard)
	w := newWorld(t, subAgents, func(c *engine.Config) {
		c.Home, c.SkillEnv = home, []string{"PATH=" + os.Getenv("PATH")}
		c.NewTools = toolset.New(toolset.Config{Environ: os.Environ()})
	})
	w.llm.Reply(
		llmtest.Tool("echo", `{"text":"hello"}`), task(`{"prompt":"carry it","subagent_type":"porter"}`), llmtest.Text("carried"), llmtest.Finish("ok"),
	)
	w.say("please /full:greet now")
	w.expect("SP H U(ext) A(echo) O A(task) O A(finish) O")
	if data, err := os.ReadFile(heard); err != nil || string(data) != "hello" {
		t.Errorf("the server heard %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "ran")); err != nil {
		t.Errorf("the hook did not run: %v", err)
	}
	if asked := w.llm.Await(t, 1).Last().Text; !strings.Contains(asked, "Say good morning.") {
		t.Errorf("the model was asked %q", asked)
	}
	if asked := string(w.llm.Await(t, 3).Body); !strings.Contains(asked, "You carry.") {
		t.Errorf("the sub-agent was asked %s", asked)
	}
}

// TestAPluginOfTheWorkspaceStartsNoPrograms has the same plugin in a directory that may
// have been cloned.
func TestAPluginOfTheWorkspaceStartsNoPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hooks(t), func(c *engine.Config) { c.NewTools = toolset.New(toolset.Config{Environ: os.Environ()}) })
	fullPlugin(t, w.workspace, filepath.Join(t.TempDir(), "heard"))
	w.llm.Reply(llmtest.Text("hello"))
	w.say("please /full:greet now")
	w.expect("SP U(ext) M")
	if _, err := os.Stat(filepath.Join(w.workspace, "ran")); err == nil {
		t.Error("the hook ran")
	}
	for _, e := range w.log() {
		p, ok := e.Body.(*event.SystemPrompt)
		if ok && slices.ContainsFunc(p.Tools, func(tool json.RawMessage) bool { return strings.Contains(string(tool), `"echo"`) }) {
			t.Error("the MCP server was started")
		}
	}
}
