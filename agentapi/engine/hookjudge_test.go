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
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// withHook is a world whose conversation was started with one hook.
func withHook(t *testing.T, on, hook string, options ...func(*engine.Config)) *world {
	t.Helper()
	w := newWorld(t, append([]func(*engine.Config){realTools, hooks(t)}, options...)...)
	w.startIt(control.Start{Profile: "main", Hooks: json.RawMessage(`{"` + on + `":[{"hooks":[` + hook + `]}]}`)})
	return w
}

func TestAModelDecidesForAHook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said, want, reason, failure string
		blocked                     bool
	}{
		"denies":           {"```json\n{\"decision\":\"deny\",\"reason\":\"no files\"}\n```", "SP U H A(terminal) R M", "no files", "", true},
		"allows":           {`{"decision":"allow","reason":"fine"}`, "SP U H A(terminal) O M", "fine", "", false},
		"says nothing":     {"I do not know {", "SP U H A(terminal) O M", "no JSON object", "no JSON object", false},
		"says another one": {`{"decision":"maybe"}`, "SP U H A(terminal) O M", "no decision", "no decision", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withHook(t, "pre_tool_use", `{"type":"prompt","name":"files","prompt":"No new files."}`)
			w.llm.Reply(terminal("touch made"), llmtest.Text(c.said), llmtest.Text("ok"))
			w.say("go")
			w.expect(c.want)
			h := lastOf[*event.HookExecution](t, w.log())
			if h.Blocked != c.blocked || h.Success != (c.failure == "") || h.HookCommand != "prompt-hook:files" ||
				!strings.Contains(h.Reason, c.reason) || !strings.Contains(h.Error, c.failure) {
				t.Errorf("%+v", h)
			}
			if made(w, "made") == c.blocked {
				t.Error("the command did not do what was decided")
			}
			asked := w.llm.Await(t, 2)
			if body := string(asked.Body); !strings.Contains(body, "No new files.") || !strings.Contains(asked.Last().Text, "touch made") || strings.Contains(body, `"name":"terminal"`) {
				t.Errorf("the model was asked %s", body)
			}
			state, err := w.open().State(w.ctx())
			if err != nil || state.Stats.UsageToMetrics["prompt-hook:files"].Usage == nil {
				t.Errorf("%+v, %v", state.Stats, err)
			}
		})
	}
}

func TestAHookOfAModelEndsInTime(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"prompt", "agent"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := withHook(t, "user_prompt_submit", `{"type":"`+kind+`","prompt":"Is it good?","timeout":1}`)
			w.llm.Reply(llmtest.Reply{End: llmtest.Hang}, llmtest.Text("hello"))
			if res := w.say("hi"); res.Answer != "hello" {
				t.Errorf("%+v", res)
			}
			h := lastOf[*event.HookExecution](t, w.log())
			if h.Blocked || h.Success || !strings.Contains(h.Error, "did not end after 1 seconds") {
				t.Errorf("%+v", h)
			}
			noneLeft(t, w)
		})
	}
}

// noneLeft fails if a conversation of an agent for a hook is still there.
func noneLeft(t *testing.T, w *world) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(w.dir(), "hooks", "*")); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

func TestAnAgentDecidesForAHook(t *testing.T) {
	t.Parallel()
	w := withHook(t, "stop", `{"type":"agent","name":"tests","system_prompt":"You look for the file done.","tools":["terminal","task_tool_set"]}`,
		hooks(t, [3]string{"PreToolUse", "*", "touch hooked"}))
	w.llm.Reply(llmtest.Text("done"), terminal("ls done"), llmtest.Finish(`{"decision":"deny","reason":"there is no file done"}`),
		terminal("touch done"), llmtest.Text("now"), terminal("ls done"), llmtest.Finish(`{"decision":"allow"}`))
	if res := w.say("go"); res.Answer != "now" {
		t.Errorf("%+v", res)
	}
	w.expect("SP U M H N A(terminal) O M H")
	if told := w.llm.Await(t, 4).Last().Text; told != "[Stop hook feedback] there is no file done" {
		t.Errorf("the agent was told %q", told)
	}
	asked := string(w.llm.Await(t, 2).Body)
	if !strings.Contains(asked, "You look for the file done.") || !strings.Contains(asked, `"name":"terminal"`) || strings.Contains(asked, `"name":"task"`) {
		t.Errorf("the agent of the hook was asked %s", asked)
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "hooked")); err == nil {
		t.Error("the agent of a hook has hooks")
	}
	state, err := w.open().State(w.ctx())
	if m := state.Stats.UsageToMetrics["agent-hook:tests"]; err != nil || m.Usage == nil || m.Usage.PromptTokens == 0 {
		t.Errorf("%+v, %v", state.Stats, err)
	}
	noneLeft(t, w)
}

func TestAnInterruptEndsTheAgentOfAHook(t *testing.T) {
	t.Parallel()
	w := withHook(t, "user_prompt_submit", `{"type":"agent","tools":["terminal"]}`)
	w.llm.Reply(terminal("sleep 1000"))
	over := w.background("go")
	w.llm.Await(t, 1)
	w.close()
	<-over
	noneLeft(t, w)
}
