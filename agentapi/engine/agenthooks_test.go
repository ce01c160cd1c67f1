//go:build unix

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

const blocksTouch = `{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"grep -q forbidden && exit 2; exit 0"}]}]}`

// hooked is a definition with hooks, as JSON, which is also YAML.
func hooked(hooks string) string {
	return "---\nname: watched\ndescription: d\ntools: [terminal]\nhooks: " + hooks + "\n---\nWork.\n"
}

// withHooks has hooks of the home directory and an agent there with hooks of its own.
func withHooks(t *testing.T, own string) []func(*engine.Config) {
	t.Helper()
	option := hooks(t, [3]string{"PreToolUse", "*", "echo x >> seen"})
	c := engine.Config{}
	option(&c)
	written(t, c.Home, map[string]string{".agents/agents/watched.md": hooked(own)})
	return []func(*engine.Config){subAgents, option}
}

// saw is what the hook of the home directory has written.
func (w *world) saw() string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.workspace, "seen"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *world) made(name string) bool {
	_, err := os.Stat(filepath.Join(w.workspace, name))
	return err == nil
}

// The hooks of a definition count for its sub-agents, beside those of the home directory,
// and not for the agent that gives the task.
func TestHooksOfADefinitionRunForItsSubAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withHooks(t, blocksTouch)...)
	w.llm.Reply(task(`{"prompt":"go","subagent_type":"watched"}`), terminal("touch forbidden"), terminal("touch allowed"), llmtest.Text("done"),
		terminal("touch forbidden-there"), llmtest.Text("ok"))
	if res := w.say("go"); res.Answer != "ok" {
		t.Fatalf("result = %+v, want the answer ok", res)
	}
	if w.made("forbidden") || !w.made("allowed") || !w.made("forbidden-there") {
		t.Errorf("files made: forbidden %t, allowed %t, by the parent %t", w.made("forbidden"), w.made("allowed"), w.made("forbidden-there"))
	}
	if got := w.saw(); got != strings.Repeat("x\n", 4) { // three of terminals and the task
		t.Errorf("the hooks of the home directory saw %q", got)
	}
}

func TestHooksOfAWorkspacesDefinitionDoNotRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, subAgents, hooks(t))
	w.write(".agents/agents/watched.md", hooked(`{"session_start":[{"hooks":[{"command":"touch ran"}]}],"PreToolUse":[{"hooks":[{"command":"exit 2"}]}]}`))
	w.llm.Reply(task(`{"prompt":"go","subagent_type":"watched"}`), terminal("touch worked"), llmtest.Text("done"), llmtest.Text("ok"))
	w.say("go")
	if w.made("ran") || !w.made("worked") {
		t.Errorf("a hook of the workspace ran: %t, refused an action: %t", w.made("ran"), !w.made("worked"))
	}
}

// An agent that is a model has the hooks of its definition in every conversation, also when
// that is opened again, and in a copy.
func TestHooksOfAnAgentRun(t *testing.T) {
	t.Parallel()
	w, agents := agentWorld(t, realTools, hooks(t, [3]string{"PreToolUse", "*", "echo x >> seen"}))
	agents["watched"] = engine.Agent{Profile: "other", Settings: json.RawMessage(`{"tools":[{"name":"terminal"}]}`), Hooks: json.RawMessage(blocksTouch)}
	w.begin(agentapi.AgentProfile("watched"))
	w.llm.Reply(terminal("touch forbidden"), terminal("touch allowed"), llmtest.Text("ok"))
	w.say("go")
	w.close()
	delete(agents, "watched") // it goes on as it was stored
	w.start()
	w.llm.Reply(terminal("touch forbidden-later"), llmtest.Text("ok"))
	w.begin(agentapi.AgentProfile("watched"))
	w.say("go on")
	w.fork("")
	w.llm.Reply(terminal("touch forbidden-copy"), llmtest.Text("ok"))
	w.say("go on")
	for _, name := range []string{"forbidden", "forbidden-later", "forbidden-copy"} {
		if w.made(name) {
			t.Errorf("the hook let the command make %s", name)
		}
	}
	if got := w.saw(); !w.made("allowed") || got != strings.Repeat("x\n", 4) {
		t.Errorf("allowed made: %t; the hooks of the home directory saw %q", w.made("allowed"), got)
	}
}

func TestAgentsWhoseHooksCannotBeRead(t *testing.T) {
	t.Parallel()
	w, agents := agentWorld(t)
	agents["odd"] = engine.Agent{Profile: "other", Settings: json.RawMessage(`{}`), Hooks: json.RawMessage(`{"Before":[]}`)}
	_, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, Profile: agentapi.AgentProfile("odd"), Workspace: w.workspace})
	if err == nil || !strings.Contains(agentapi.PublicMessage(err, ""), `The hooks of the agent "odd" cannot be read; repair its file.`) {
		t.Errorf("error = %v", err)
	}
}

// A member of a team has the hooks of its own definition. A team and its members keep no notes.
func TestHooksOfTheMembersOfATeam(t *testing.T) {
	t.Parallel()
	home, keeps := noted(t)
	written(t, home, map[string]string{".openhands/memory/MEMORY.md": "Likes tea."})
	w, agents := teamWorld(t, false, keeps)
	alpha := agents["alpha"]
	alpha.Hooks = json.RawMessage(blocksTouch)
	agents["alpha"] = alpha
	w.llm.On(func(r *llmtest.Request) bool { return r.Model == "alpha" }, terminal("touch forbidden-alpha"), llmtest.Text("done"))
	w.llm.On(func(r *llmtest.Request) bool { return r.Model == "beta" }, terminal("touch forbidden-beta"), llmtest.Text("done"))
	w.llm.Reply(handOut("alpha", "beta"), llmtest.Text("ok"))
	w.say("go")
	if w.made("forbidden-alpha") || !w.made("forbidden-beta") {
		t.Errorf("alpha, with hooks, made its file: %t; beta, without: %t", w.made("forbidden-alpha"), w.made("forbidden-beta"))
	}
	for _, r := range w.llm.Requests() {
		if strings.Contains(string(r.Body), "Likes tea.") || strings.Contains(string(r.Body), "You keep notes") {
			t.Errorf("%s is told of notes", r.Model)
		}
	}
}
