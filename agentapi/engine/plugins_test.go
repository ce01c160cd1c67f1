//go:build unix

package engine_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// fullPlugin is a plugin with a command, a hook that leaves the file ran, and an MCP
// server that is this test.
func fullPlugin(t *testing.T, dir, heard string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"one": map[string]any{"command": self, "args": []string{mcpArgument}, "env": map[string]string{mcpVariable: heard, "GORACE": "atexit_sleep_ms=0"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".plugin/plugin.json": `{"name":"full"}`,
		".mcp.json":           string(servers),
		"hooks/hooks.json":    `{"hooks":{"SessionStart":[{"hooks":[{"command":"touch ran"}]}]}}`,
		"commands/greet.md":   "---\ndescription: Greets.\n---\nSay good morning.",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAPluginOfTheRequestIsPartOfTheConversation has its server, its command and its hook
// beside the user's own hook, also after the plugin is gone.
func TestAPluginOfTheRequestIsPartOfTheConversation(t *testing.T) {
	t.Parallel()
	dir, heard := filepath.Join(t.TempDir(), "repository"), filepath.Join(t.TempDir(), "heard")
	fullPlugin(t, filepath.Join(dir, "plugins/full"), heard)
	w := newWorld(t, sealed, hooks(t, [3]string{"PreToolUse", "terminal", "exit 2"}), realTools)
	w.llm.Reply(llmtest.Tool("echo", `{"text":"hello"}`), terminal("touch made"), llmtest.Finish("ok"), terminal("touch made"), llmtest.Finish("ok"))
	w.startIt(control.Start{Agent: json.RawMessage(inlineAgent), Plugins: []control.Plugin{{Source: "file://" + dir, Path: "plugins/full"}}})
	w.say("please /full:greet now")
	if data, err := os.ReadFile(heard); err != nil || string(data) != "hello" {
		t.Errorf("the server heard %q, %v", data, err)
	}
	if asked := string(w.llm.Await(t, 1).Body); !strings.Contains(asked, "Say good morning.") {
		t.Errorf("the model was asked %s", asked)
	}
	check := func() {
		t.Helper()
		if _, err := os.Stat(filepath.Join(w.workspace, "ran")); err != nil {
			t.Errorf("the hook of the plugin did not run: %v", err)
		}
		if _, err := os.Stat(filepath.Join(w.workspace, "made")); err == nil {
			t.Error("the user's own hook did not run")
		}
	}
	check()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	w.reopened()
	w.say("again")
	check()
}

func TestHooksOfTheRequestComeBeforeThoseOfAPlugin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fullPlugin(t, dir, filepath.Join(t.TempDir(), "heard"))
	w := newWorld(t, hooks(t, [3]string{"PreToolUse", "terminal", "exit 2"}))
	w.startIt(control.Start{
		Agent: json.RawMessage(inlineAgent), Plugins: []control.Plugin{{Source: dir}},
		Hooks: json.RawMessage(`{"session_start":[{"hooks":[{"command":"touch first"}]}]}`),
	})
	var state struct {
		Hooks map[string][]struct{ Hooks []struct{ Command string } } `json:"hook_config"`
	}
	if err := json.Unmarshal([]byte(w.stored("base_state.json")), &state); err != nil {
		t.Fatal(err)
	}
	if got := state.Hooks["session_start"]; len(got) != 2 || got[0].Hooks[0].Command != "touch first" || got[1].Hooks[0].Command != "touch ran" {
		t.Errorf("hooks %+v", state.Hooks)
	}
}

// TestAPluginOfTheWorkspaceThatNobodyNamesStartsNothing has the same plugin in a directory
// that may have been cloned.
func TestAPluginOfTheWorkspaceThatNobodyNamesStartsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hooks(t), realTools)
	heard := filepath.Join(t.TempDir(), "heard")
	fullPlugin(t, filepath.Join(w.workspace, ".agents/plugins/full"), heard)
	fullPlugin(t, w.workspace, heard)
	w.llm.Reply(llmtest.Text("hello"))
	w.startIt(control.Start{Agent: json.RawMessage(inlineAgent)})
	w.say("please /full:greet now")
	if _, err := os.Stat(filepath.Join(w.workspace, "ran")); err == nil {
		t.Error("the hook ran")
	}
	if asked := w.llm.Await(t, 1); strings.Contains(string(asked.Body), "Say good morning.") || strings.Contains(strings.Join(asked.Tools, " "), "echo") {
		t.Errorf("the model was asked %s", asked.Body)
	}
}

func TestPluginsThatAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fullPlugin(t, filepath.Join(dir, "torn"), "")
	if err := os.WriteFile(filepath.Join(dir, "torn/.plugin/plugin.json"), []byte(`{"name":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for want, p := range map[string]control.Plugin{
		"is on the network":         {Source: "github:owner/repo"},
		"fetches nothing":           {Source: "https://user:hunter2@example.org/x.git"},
		"plugins[0] cannot be used": {Source: "plugins/mine"},
		"is not a git repository":   {Source: dir, Ref: "v1"},
		"leads out of the source":   {Source: dir, Path: "a/../../b"},
		"is a link that leads out":  {Source: dir, Path: "out/tmp"},
		"no such directory":         {Source: filepath.Join(dir, "none")},
		"not a valid manifest":      {Source: filepath.Join(dir, "torn")},
	} {
		_, created, err := w.backend.Control().Start(w.ctx(), control.Start{
			ID: w.id, Workspace: w.workspace, Agent: json.RawMessage(inlineAgent), Plugins: []control.Plugin{p},
		})
		msg := agentapi.PublicMessage(err, "")
		if created || !errors.Is(err, agentapi.ErrRefused) || !strings.Contains(msg, want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("plugin %+v: message = %q, error = %v, want a refusal with %q", p, msg, err, want)
		}
	}
	if _, err := os.Stat(w.dir()); err == nil {
		t.Error("a conversation was made")
	}
}
