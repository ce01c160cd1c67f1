//go:build e2e && unix

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// pythonPlays plays one turn with the real SDK: argv has the address of the model,
// the hooks as JSON, and whether the agent has sub-agents.
const pythonPlays = `
import json, os, sys, uuid
from pydantic import SecretStr
from openhands.sdk import LLM, Agent, Tool
from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.sdk.hooks.config import HookConfig
from openhands.tools.preset.default import register_default_tools, register_builtins_agents
register_default_tools(enable_browser=False)
tools = [Tool(name="terminal"), Tool(name="file_editor"), Tool(name="task_tracker")]
if sys.argv[3] == "sub-agents":
    from openhands.tools.task import TaskToolSet
    register_builtins_agents(enable_browser=False)
    tools.append(Tool(name=TaskToolSet.name))
os.makedirs("ws", exist_ok=True)
llm = LLM(model="openai/test", base_url=sys.argv[1], api_key=SecretStr("sk-test"), usage_id="agent", num_retries=0)
hooks = HookConfig.model_validate(json.loads(sys.argv[2])) if sys.argv[2] else None
c = LocalConversation(agent=Agent(llm=llm, tools=tools), workspace=os.path.abspath("ws"), persistence_dir=os.path.abspath("kept"),
    conversation_id=uuid.uuid4(), visualizer=None, delete_on_close=False, hook_config=hooks)
c.send_message("go")
c.run()
out = {"status": c.state.execution_status.value, "events": [json.loads(e.model_dump_json(exclude_none=True)) for e in c.state.events],
    "usages": sorted(c.conversation_stats.usage_to_metrics), "children": 0}
c.close()
for root, dirs, files in os.walk("kept"):
    if os.path.basename(os.path.dirname(root)) == "subagents" and "base_state.json" in files:
        out["children"] += 1
print("RESULT" + json.dumps(out))
`

// played is a turn as either side tells of it.
type played struct {
	Status   string
	Events   []map[string]any
	Usages   []string
	Children int
}

// compared are the members of events that have to be equal; what they lack is left
// out.
var compared = []string{
	"kind", "source", "tool_name", "tool_call_id", "rejection_reason", "rejection_source", "hook_event_type", "hook_command",
	"success", "blocked", "exit_code", "stdout", "stderr", "reason", "additional_context", "error",
}

// told are the events as they are compared: without those of the state, and with what
// an observation of a task and a message say.
func told(events []map[string]any) (list []map[string]any) {
	for _, e := range events {
		if e["kind"] == "ConversationStateUpdateEvent" {
			continue
		}
		row := map[string]any{}
		for _, name := range compared {
			if v, ok := e[name]; ok && v != nil && v != "" {
				row[name] = v
			}
		}
		if o, ok := e["observation"].(map[string]any); ok && o["kind"] == "TaskObservation" {
			row["observation"] = o
		}
		if m, ok := e["llm_message"].(map[string]any); ok {
			row["role"], row["content"] = m["role"], textsOf(m["content"])
		}
		list = append(list, row)
	}
	return list
}

func textsOf(content any) (list []any) {
	items, _ := content.([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			list = append(list, m["text"])
		}
	}
	return list
}

// ours plays the same turn with the engine.
func ours(t *testing.T, hooks string, replies []llmtest.Reply) played {
	t.Helper()
	home := t.TempDir()
	if hooks != "" {
		if err := os.MkdirAll(filepath.Join(home, ".openhands"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, ".openhands", "hooks.json"), []byte(hooks), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t, subAgents, func(c *engine.Config) {
		c.Home = home
		c.SkillEnv = []string{"PATH=" + os.Getenv("PATH")}
	})
	w.llm.Reply(replies...)
	w.say("go")
	p := played{Children: len(children(t, w))}
	for _, e := range w.log() {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		p.Events = append(p.Events, m)
	}
	state, err := w.open().State(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	p.Status = string(state.Status)
	for _, name := range []string{"agent", "task:task_00000001"} {
		if _, ok := state.Stats.UsageToMetrics[name]; ok {
			p.Usages = append(p.Usages, name)
		}
	}
	return p
}

// TestSubAgentsAndHooksAreAsUpstream plays the scenarios 37 to 39 with the real SDK
// and with the engine. The events have to be equal; the one difference is the system
// prompt, whose words are our own.
func TestSubAgentsAndHooksAreAsUpstream(t *testing.T) {
	t.Parallel()
	call := func(id, name, args string) llmtest.Reply {
		return llmtest.Reply{Calls: []llmtest.Call{{ID: id, Name: name, Args: args}}}
	}
	finish := func(text string) llmtest.Reply {
		return call("call_finish_"+text, "finish", `{"message":"`+text+`"}`)
	}
	touch := call("call_touch", "terminal", `{"command":"touch made","security_risk":"LOW","summary":"make"}`)
	for name, s := range map[string]struct {
		agents, hooks string
		replies       []llmtest.Reply
	}{
		"37 a task": {"sub-agents", "", []llmtest.Reply{
			call("call_task", "task", `{"prompt":"make it","description":"make a file","subagent_type":"general-purpose"}`), touch, finish("done"), finish("ok"),
		}},
		"38 a call is refused": {
			"none", `{"hooks":{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"echo not here >&2; exit 2"}]}]}}`,
			[]llmtest.Reply{touch, finish("ok")},
		},
		"38 by a matcher for all": {
			"none", `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"command":"grep -q touch && exit 2; exit 0"}]}]}}`,
			[]llmtest.Reply{touch, finish("ok")},
		},
		"39 the end is refused": {
			"none", `{"hooks":{"Stop":[{"hooks":[{"command":"[ -e seen ] && exit 0; touch seen; echo again >&2; exit 2"}]}]}}`,
			[]llmtest.Reply{llmtest.Text("done"), llmtest.Text("really done")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, err := os.MkdirTemp("/tmp", "ohgw-upstream-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(root) })
			model := llmtest.New(t)
			model.Reply(s.replies...)
			var theirs played
			if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, root, pythonPlays, model.URL, s.hooks, s.agents)), &theirs); err != nil {
				t.Fatal(err)
			}
			mine := ours(t, s.hooks, s.replies)
			if diff := cmp.Diff(told(theirs.Events), told(mine.Events)); diff != "" {
				t.Errorf("events (-upstream +ours):\n%s", diff)
			}
			theirs.Events, mine.Events = nil, nil
			if diff := cmp.Diff(theirs, mine); diff != "" {
				t.Errorf("state (-upstream +ours):\n%s", diff)
			}
			if theirs.Status != string(event.Finished) {
				t.Errorf("upstream ended %s", theirs.Status)
			}
		})
	}
}
