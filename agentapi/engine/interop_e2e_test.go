//go:build e2e

package engine_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/boxtest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// pythonContinues loads every directory below the current one with the real
// SDK, lists its events, says something more to a model at argv[1], and lists
// them again.
const pythonContinues = `
import json, os, sys, uuid
from pydantic import SecretStr
from openhands.sdk import LLM
from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.sdk.conversation.state import ConversationState
from openhands.tools.preset.default import register_default_tools
register_default_tools(enable_browser=False)
out = {}
for name in sorted(os.listdir(".")):
    if not os.path.exists(os.path.join(name, "base_state.json")):
        continue
    try:
        state = json.load(open(os.path.join(name, "base_state.json")))
        workspace = os.path.abspath("ws")
        os.makedirs(workspace, exist_ok=True)
        c = LocalConversation(agent=None, workspace=workspace, persistence_dir=os.getcwd(),
            conversation_id=uuid.UUID(name), visualizer=None, delete_on_close=False)
        before = [[type(e).__name__, str(e.id)] for e in c.state.events]
        status = c.state.execution_status.value
        llm = LLM(model="openai/test", base_url=sys.argv[1], api_key=SecretStr("sk-test"), usage_id="python", num_retries=0)
        c.state.agent = c.state.agent.model_copy(update={"llm": llm, "condenser": None})
        c.agent = c.state.agent
        if status == "waiting_for_confirmation":
            c.reject_pending_actions("python says no")
        c.send_message("python goes on")
        c.run()
        out[name] = {"before": before, "after": [[type(e).__name__, str(e.id)] for e in c.state.events],
            "ended": c.state.execution_status.value}
        c.close()
    except Exception as e:
        import traceback
        out[name] = {"error": traceback.format_exc()[-2000:]}
print("RESULT" + json.dumps(out))
`

// pythonResult is what the SDK says about a directory: kinds and ids of the
// events, before and after its turn.
type pythonResult struct {
	Before, After [][2]string
	Ended, Error  string
}

// continuedByPython are the SDK's results for the directories below root.
func continuedByPython(t *testing.T, root string, model *llmtest.Server) (results map[string]pythonResult) {
	t.Helper()
	model.On(llmtest.Says("python goes on"), llmtest.Text("answered for the other"))
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, root, pythonContinues, model.URL)), &results); err != nil {
		t.Fatal(err)
	}
	return results
}

// TestPythonContinuesWhatTheEngineWrote has one SDK process load and continue
// the conversation of every scenario, and of the scripts below.
func TestPythonContinuesWhatTheEngineWrote(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("/tmp", "ohgw-interop-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	names := scenarioDirs(t, root)
	for name, script := range interop {
		w := newWorld(t, func(c *engine.Config) {
			if name == "waiting" {
				c.Confirm = agentapi.ConfirmRisky
			}
		}, withCondenser(10, 1), realTools)
		script(w)
		w.close()
		hex := filepath.Base(w.dir())
		names[hex] = name
		copyDir(t, filepath.Join(root, hex), w.dir())
	}
	before := map[string][][2]string{}
	for hex := range names {
		before[hex] = worldOf(t, root, hex).listed()
	}
	results := continuedByPython(t, root, llmtest.New(t))
	if err := os.MkdirAll(filepath.Join(root, "ws"), 0o755); err != nil { // where Python has put them
		t.Fatal(err)
	}
	for hex, name := range names {
		t.Run(name, func(t *testing.T) {
			r := results[hex]
			if diff := cmp.Diff(before[hex], r.Before); diff != "" {
				t.Errorf("events at first (-ours +python):\n%s", diff)
			}
			if r.Error != "" || r.Ended != "finished" {
				t.Fatalf("ended %q\n%s", r.Ended, r.Error)
			}
			w := worldOf(t, root, hex)
			if diff := cmp.Diff(r.After, w.listed()); diff != "" {
				t.Errorf("events in the end (-python +ours):\n%s", diff)
			}
			if len(r.After) <= len(r.Before) {
				t.Errorf("%d events, and %d after Python's turn", len(r.Before), len(r.After))
			}
			ours := []llmtest.Reply{llmtest.Finish("ours again")}
			if name == "hooks" { // the agent of its hook begins each process; finish is a call that hooks look at
				ours = []llmtest.Reply{llmtest.Finish(`{"decision":"allow"}`), llmtest.Text("ours again")}
			}
			w.llm.Reply(ours...)
			if res := w.say("go on"); res.Answer != "ours again" {
				t.Errorf("our turn: %+v", res)
			}
			w.status(event.Finished)
		})
	}
}

// scenarioDirs plays all scenarios in a process of their own, in sandboxes, moves their
// conversations into root and returns the tests' names by directory. Each scenario has to
// leave a conversation.
func scenarioDirs(t *testing.T, root string) map[string]string {
	t.Helper()
	const scenarios = "^TestScenario[0-9]|^TestCallsWithOneID|^TestQuestionSurvives|^TestCondensedConversation|^TestAnswersWithOneID"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list, err := exec.CommandContext(t.Context(), self, "-test.list", scenarios).Output()
	if err != nil {
		t.Fatal(err)
	}
	kept := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, "-test.run", scenarios, "-test.timeout", "10m")
	cmd.Env = append(os.Environ(), keepVariable+"="+kept, boxtest.Variable+"=full")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the scenarios: %v\n%s", err, out)
	}
	names := map[string]string{}
	for scenario := range strings.FieldsSeq(string(list)) {
		n := len(names)
		err := filepath.WalkDir(filepath.Join(kept, scenario), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Base(path) != "base_state.json" {
				return err
			}
			dir := filepath.Dir(path)
			name, err := filepath.Rel(kept, filepath.Dir(dir))
			if err != nil {
				return err
			}
			hex := filepath.Base(dir)
			names[hex] = name
			copyDir(t, filepath.Join(root, hex), dir)
			return nil
		})
		if err != nil || len(names) == n {
			t.Errorf("%s has left %d conversations: %v", scenario, len(names)-n, err)
		}
	}
	if len(names) == 0 {
		t.Error("there are no scenarios")
	}
	return names
}

// worldOf is a world that has its conversation from a directory below root.
func worldOf(t *testing.T, root, hex string) *world {
	t.Helper()
	w := newWorld(t)
	w.id = hex[:8] + "-" + hex[8:12] + "-" + hex[12:16] + "-" + hex[16:20] + "-" + hex[20:]
	copyDir(t, w.dir(), filepath.Join(root, hex))
	return w
}

func copyDir(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// listed are the kinds and ids of the events that the engine lists.
func (w *world) listed() (list [][2]string) {
	w.t.Helper()
	for _, e := range w.log() {
		list = append(list, [2]string{e.Kind(), e.ID})
	}
	return list
}

// interop are conversations that the SDK has to take over.
var interop = map[string]func(*world){
	"text": func(w *world) { w.llm.Reply(llmtest.Text("hello")); w.say("hi") },
	"routed": func(w *world) {
		routes(w.t)(&w.cfg)
		w.start()
		w.classifies("2")
		w.llm.Reply(llmtest.Tool(routeCall, "{}"), llmtest.Finish("ok"))
		w.startIt(control.Start{Settings: routedSettings("")})
		w.say("hi")
	},
	"finish": func(w *world) { w.llm.Reply(terminal("echo hi"), llmtest.Finish("ok")); w.say("hi") },
	"hooks": func(w *world) {
		w.startIt(control.Start{Profile: "main", Hooks: json.RawMessage(`{"session_start":[{"hooks":[{"type":"agent","tools":["terminal"]}]}],
			"pre_tool_use":[{"hooks":[{"type":"prompt","name":"guard","prompt":"No."},{"command":"echo '{\"updatedInput\":{\"command\":\"echo changed\"}}'"}]}],
			"post_tool_use":[{"hooks":[{"command":"echo '{\"additionalContext\":\"Seen.\"}'"}]}]}`)})
		w.llm.Reply(llmtest.Finish(`{"decision":"allow"}`), terminal("echo hi"), llmtest.Text(`{"decision":"allow"}`), llmtest.Text("ok"))
		w.say("hi")
		w.expect("SP H U H H A(terminal) H O(ext) M")
	},
	"critic": func(w *world) {
		verified("http://127.0.0.1:1", `,"enable_iterative_refinement":true`)(&w.cfg)
		w.start()
		w.llm.Reply(llmtest.Finish("ok"))
		w.say("hi")
	},
	"critic without a server": func(w *world) {
		w.startIt(control.Start{Agent: json.RawMessage(`{"kind":"Agent","llm":{"model":"openai/test","base_url":"` + w.llm.URL + `","api_key":"k"},"tools":[],
			"critic":{"kind":"EmptyPatchCritic","iterative_refinement":{"max_iterations":1}}}`)})
		w.llm.Reply(llmtest.Finish("1"), llmtest.Finish("2"))
		w.say("hi")
		w.expect("SP U A(finish) O U A(finish) O")
	},
	"bad calls": func(w *world) {
		w.llm.Reply(llmtest.Tool("nope", "{}"), llmtest.Tool("terminal", "{"), llmtest.Reply{}, llmtest.Finish("ok"))
		w.say("hi")
	},
	"error": func(w *world) { w.llm.Reply(llmtest.Fail(401, "no")); w.say("hi") },
	"refused picture": func(w *world) {
		w.llm.Reply(llmtest.Fail(400, "Invalid request."), llmtest.Text("I see nothing."), llmtest.Text("hello"))
		picture := "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="
		w.play(turn.Input{Message: agentapi.Message{Text: "what is this?", Images: []string{picture}}})
		if state, err := w.open().State(w.ctx()); err != nil || state.Status != event.Finished {
			w.t.Errorf("state = %+v, %v, want the status %q", state, err, event.Finished)
		}
		w.say("hi")
	},
	"interrupted": func(w *world) {
		w.llm.Reply(terminal("sleep 300"))
		over := w.background("go")
		w.awaitAction()
		if err := w.open().Interrupt(w.ctx()); err != nil {
			w.t.Fatal(err)
		}
		<-over
	},
	"stuck": func(w *world) {
		w.llm.Reply(terminal("echo 1"), terminal("echo 1"), terminal("echo 1"), terminal("echo 1"))
		w.say("go")
	},
	"waiting": func(w *world) { w.llm.Reply(terminal("echo hi")); w.say("go") },
	"condensed": func(w *world) {
		w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Text("sum"))
		w.llm.Reply(terminal("echo 1"), terminal("echo 2"), terminal("echo 3"), terminal("echo 4"), terminal("echo 5"), llmtest.Finish("ok"))
		w.say("go")
	},
	"skills": func(w *world) {
		w.write(".openhands/skills/deploy.md", "---\ntriggers: [deploy]\n---\nUse the blue button.")
		w.write(".agents/skills/count/SKILL.md", "---\ndescription: Counts.\n---\nCount.")
		w.llm.Reply(llmtest.Tool("invoke_skill", `{"name":"count"}`), llmtest.Finish("ok"))
		w.say("deploy it")
	},
	"switched": func(w *world) {
		w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
		w.say("one")
		if err := w.open().Switch(w.ctx(), "other"); err != nil {
			w.t.Fatal(err)
		}
		w.say("two")
	},
	"forked": func(w *world) {
		w.llm.Reply(terminal("echo 1"), llmtest.Finish("one"), llmtest.Text("two"))
		w.say("one")
		w.fork(w.at(3))
		w.say("another two")
	},
	"parallel": func(w *world) {
		w.llm.Reply(llmtest.Reply{Text: "x", Reasoning: "r", Calls: []llmtest.Call{{Name: "terminal", Args: `{"command":"echo 1"}`}, {Name: "think", Args: `{"thought":"t"}`}}}, llmtest.Finish("ok"))
		w.say("go")
	},
}
