//go:build unix

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// written writes files below a directory.
func written(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPluginsOfTheUserArePartOfANewConversation has one that is installed and one in a
// directory; not one that is switched off, that is torn, or that has the name of another.
func TestPluginsOfTheUserArePartOfANewConversation(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	written(t, home, map[string]string{
		".openhands/plugins/installed/on/commands/a.md":         "installed words",
		".openhands/plugins/installed/on/hooks/hooks.json":      `{"hooks":{"SessionStart":[{"hooks":[{"command":"touch ran"}]}]}}`,
		".openhands/plugins/installed/off/commands/a.md":        "words of one that is off",
		".openhands/plugins/installed/.installed.json":          `{"extensions":{"on":{},"off":{"enabled":false}}}`,
		".openhands/plugins/installed/torn/.plugin/plugin.json": "{",
		".openhands/plugins/installed/bad-servers/.mcp.json":    `{"mcpServers":{"x":{"command":5}}}`,
		".agents/plugins/mine/commands/a.md":                    "words of a directory",
		".agents/plugins/named/commands/a.md":                   "words of the user's own",
		"request/named/commands/a.md":                           "words of the request",
		"workspace/.openhands/plugins/strange/commands/a.md":    "words of the workspace",
		"workspace/.openhands/plugins/strange/hooks/hooks.json": `{"hooks":{"SessionStart":[{"hooks":[{"command":"touch strange"}]}]}}`,
	})
	w := newWorld(t, func(c *engine.Config) { c.Home, c.Base = home, filepath.Join(home, ".openhands") }, realTools)
	w.workspace = filepath.Join(home, "workspace")
	w.llm.Reply(llmtest.Finish("ok"))
	w.startIt(control.Start{Agent: json.RawMessage(inlineAgent), Plugins: []control.Plugin{{Source: filepath.Join(home, "request/named")}}})
	w.say("please /on:a and /off:a and /mine:a and /named:a and /strange:a")
	asked := string(w.llm.Await(t, 1).Body)
	for text, want := range map[string]bool{
		"installed words": true, "words of a directory": true, "words of the request": true,
		"words of one that is off": false, "words of the user's own": false, "words of the workspace": false,
	} {
		if strings.Contains(asked, text) != want {
			t.Errorf("%q: want %t in %s", text, want, asked)
		}
	}
	for name, want := range map[string]bool{"ran": true, "strange": false} {
		if _, err := os.Stat(filepath.Join(w.workspace, name)); (err == nil) != want {
			t.Errorf("the hook of %s: %v", name, err)
		}
	}
}

// TestAgentsOfAPlugin are given tasks, also by a copy of the conversation and after the
// plugin is gone. One of a plugin comes before one of the workspace.
func TestAgentsOfAPlugin(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "team")
	written(t, dir, map[string]string{"agents/critic.md": "---\nname: critic\ndescription: Finds faults.\ntools: [terminal]\nhooks:\n  PreToolUse:\n    - hooks: [{command: touch hooked}]\n---\nYou are strict."})
	w := newWorld(t, subAgents)
	written(t, w.workspace, map[string]string{".agents/agents/critic.md": "---\nname: critic\ndescription: Other.\n---\nYou are kind."})
	w.llm.Reply(task(`{"prompt":"look","subagent_type":"critic"}`), llmtest.Finish("bad"), llmtest.Finish("ok"))
	withTasks := strings.Replace(inlineAgent, `"tools":[`, `"tools":[{"name":"task_tool_set"},`, 1)
	if withTasks == inlineAgent {
		t.Fatal("the agent has no list of tools")
	}
	w.startIt(control.Start{Agent: json.RawMessage(withTasks), Plugins: []control.Plugin{{Source: dir}}})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	w.say("go")
	asked := string(w.llm.Await(t, 2).Body)
	if !strings.Contains(asked, "You are strict.") || strings.Contains(asked, "You are kind.") {
		t.Errorf("the sub-agent was asked %s", asked)
	}
	if o := lastTask(t, w); o.Agent != "critic" || o.IsError {
		t.Errorf("the task = %+v, want one of the critic without an error", o)
	}
	conv, err := w.backend.Control().Open(w.ctx(), w.id)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := conv.Copy(w.ctx(), control.Fork{})
	if err != nil {
		t.Fatal(err)
	}
	record, err := fork.Record(w.ctx())
	if err != nil || !strings.Contains(string(record.Meta), "You are strict.") {
		t.Errorf("a copy: %s, %v", record.Meta, err)
	}
}
