//go:build unix

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
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

const guardsFiles = `{"type":"prompt","name":"files","prompt":"No new files."}`

func TestAModelDecidesForAHook(t *testing.T) {
	t.Parallel()
	const open = " — defaulting to allow"
	for name, c := range map[string]struct {
		said, reason string
		undecided    bool
		blocked      bool
	}{
		"denies":             {said: "Let me see {x}\n```json\n{\"decision\":\"DENY\",\"reason\":\"no files\"}\n```", reason: "no files", blocked: true},
		"allows":             {said: `{"decision":"allow","reason":"fine"}`, reason: "fine"},
		"says nothing":       {said: "I do not know {", reason: "Prompt hook returned no parseable JSON" + open, undecided: true},
		"says another word":  {said: `{"decision":"maybe"}`, reason: "Prompt hook returned an invalid decision" + open, undecided: true},
		"says another value": {said: `{"decision":["deny"]}`, reason: "Prompt hook returned an invalid decision" + open, undecided: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withHook(t, "pre_tool_use", guardsFiles)
			w.llm.Reply(terminal("touch made"), llmtest.Text(c.said), llmtest.Text("ok"))
			w.say("go")
			want := "SP U H A(terminal) O M"
			if c.blocked {
				want = "SP U H A(terminal) R M"
			}
			w.expect(want)
			h := lastOf[*event.HookExecution](t, w.log())
			if h.Blocked != c.blocked || h.Success == c.undecided || h.HookCommand != "prompt-hook:files" || h.Reason != c.reason || c.undecided && h.Error != c.reason {
				t.Errorf("hook execution = %+v, want blocked %v for the reason %q", h, c.blocked, c.reason)
			}
			if made(w, "made") == c.blocked {
				t.Errorf("the command ran: %v", made(w, "made"))
			}
			asked := w.llm.Await(t, 2)
			if body := string(asked.Body); !strings.Contains(asked.Messages[0].Text, "No new files.") || !strings.Contains(asked.Last().Text, `"command": "touch made"`) || strings.Contains(body, `"name":"terminal"`) {
				t.Errorf("the model was asked %s", body)
			}
			state, err := w.open().State(w.ctx())
			if m := state.Stats.UsageToMetrics["prompt-hook:files"]; err != nil || m.Usage == nil || m.Usage.PromptTokens == 0 {
				t.Errorf("statistics = %+v, %v, want the tokens of the hook", state.Stats, err)
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
				t.Errorf("result = %+v, want the answer %q", res, "hello")
			}
			h := lastOf[*event.HookExecution](t, w.log())
			if h.Blocked || h.Success || !strings.Contains(h.Error, "did not end after 1 seconds") || !strings.Contains(h.Reason, "hook execution failed — defaulting to allow") {
				t.Errorf("hook execution = %+v, want one that has reached its limit", h)
			}
			noneLeft(t, w)
		})
	}
}

func TestAHookWhoseModelFailsRefusesNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"prompt", "agent"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := withHook(t, "user_prompt_submit", `{"type":"`+kind+`","prompt":"Is it good?"}`)
			w.llm.Reply(llmtest.Fail(401, "no"), llmtest.Text("hello"))
			if res := w.say("hi"); res.Answer != "hello" {
				t.Errorf("result = %+v, want the answer %q", res, "hello")
			}
			if h := lastOf[*event.HookExecution](t, w.log()); h.Blocked || h.Success || h.Error == "" {
				t.Errorf("hook execution = %+v, want an error", h)
			}
			noneLeft(t, w)
		})
	}
}

// noneLeft fails if a conversation of an agent for a hook is still there.
func noneLeft(t *testing.T, w *world) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(w.dir(), "hooks", "*")); err != nil || len(left) > 0 {
		t.Errorf("the agents of hooks have left %q, %v", left, err)
	}
}

func TestAnAgentDecidesForAHook(t *testing.T) {
	t.Parallel()
	w := withHook(t, "stop", `{"type":"agent","name":"tests","system_prompt":"You look for the file done.","tools":["terminal","task_tool_set"]}`,
		hooks(t, [3]string{"PreToolUse", "*", "touch hooked"}))
	w.llm.Reply(llmtest.Text("done"), terminal("ls done"), llmtest.Finish(`{"decision":"deny","reason":"there is no file done"}`),
		terminal("touch done"), llmtest.Text("now"), terminal("ls done"), llmtest.Finish(`{"decision":"allow"}`))
	if res := w.say("go"); res.Answer != "now" {
		t.Errorf("result = %+v, want the answer %q", res, "now")
	}
	w.expect("SP U M H N A(terminal) O M H")
	if told := w.llm.Await(t, 4).Last().Text; told != "[Stop hook feedback] there is no file done" {
		t.Errorf("the agent was told %q", told)
	}
	asked := string(w.llm.Await(t, 2).Body)
	if !strings.Contains(asked, "You look for the file done.") || !strings.Contains(asked, `"name":"terminal"`) || strings.Contains(asked, `"name":"task"`) || strings.Contains(asked, `"name":"think"`) {
		t.Errorf("the agent of the hook was asked %s", asked)
	}
	if made(w, "hooked") {
		t.Error("the agent of a hook has hooks")
	}
	state, err := w.open().State(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	const sum = 4 * 100 // two requests of each agent
	if m := state.Stats.UsageToMetrics["agent-hook:tests"]; m.Usage == nil || m.Usage.PromptTokens != sum || m.ModelName == "" {
		t.Errorf("statistics = %+v, want %d tokens of both agents", m, sum)
	}
	noneLeft(t, w)
}

// An agent that has taken all of its steps gives no answer.
func TestTheStepsOfTheAgentOfAHookAreLimited(t *testing.T) {
	t.Parallel()
	w := withHook(t, "user_prompt_submit", `{"type":"agent","tools":["terminal"],"max_iterations":2}`)
	w.llm.Reply(terminal("echo 1"), terminal("echo 2"), llmtest.Text("hello"))
	if res := w.say("hi"); res.Answer != "hello" {
		t.Errorf("result = %+v, want the answer %q", res, "hello")
	}
	if h := lastOf[*event.HookExecution](t, w.log()); h.Success || h.Blocked || h.Reason != "Agent hook produced no final response — defaulting to allow" || h.HookCommand != "agent-hook:agent" {
		t.Errorf("hook execution = %+v, want one without an answer", h)
	}
}

func TestAnInterruptEndsTheAgentOfAHook(t *testing.T) {
	t.Parallel()
	w := withHook(t, "user_prompt_submit", `{"type":"agent","tools":["terminal"]}`)
	w.llm.Reply(terminal("touch begun; sleep 1000"))
	over := w.background("go")
	w.awaitFile("begun")
	w.close()
	<-over
	noneLeft(t, w)
}

// What the agent writes is removed in any case, so it does not wait for the disk.
func TestTheAgentOfAHookDoesNotWaitForTheDisk(t *testing.T) {
	t.Parallel()
	disk := &countingDisk{}
	w := withHook(t, "user_prompt_submit", `{"type":"agent","tools":["terminal"]}`, func(c *engine.Config) { c.Files = disk })
	w.llm.Reply(terminal("ls"), llmtest.Finish(`{"decision":"allow"}`), llmtest.Text("hello"))
	if res := w.say("hi"); res.Answer != "hello" {
		t.Errorf("result = %+v, want the answer %q", res, "hello")
	}
	for _, paths := range disk.take() {
		for _, path := range paths {
			if strings.Contains(path, string(filepath.Separator)+"hooks"+string(filepath.Separator)) {
				t.Errorf("the disk is waited for: %s", path)
			}
		}
	}
}

// What a killed ohgw has left of the agent of a hook is removed with the next one.
func TestWhatIsLeftOfTheAgentOfAHookIsRemoved(t *testing.T) {
	t.Parallel()
	w := withHook(t, "user_prompt_submit", `{"type":"agent"}`)
	left := filepath.Join(w.dir(), "hooks", "0123456789abcdef0123456789abcdef")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	w.llm.Reply(llmtest.Text(`{"decision":"allow"}`), llmtest.Text("hello"))
	w.say("hi")
	noneLeft(t, w)
}

// A tool that there is not makes the hook fail, and nothing else.
func TestTheAgentOfAHookWithAnUnknownToolRefusesNothing(t *testing.T) {
	t.Parallel()
	w := withHook(t, "user_prompt_submit", `{"type":"agent","tools":["no_such_tool"]}`)
	w.llm.On(llmtest.Says("hook event"), llmtest.Finish(`{"decision":"allow"}`))
	w.llm.On(llmtest.Says("hi"), llmtest.Text("hello"))
	if res := w.say("hi"); res.Answer != "hello" {
		t.Errorf("result = %+v, want the answer %q", res, "hello")
	}
	noneLeft(t, w)
}

// The agent of a hook runs its tools without a question.
func TestTheAgentOfAHookIsNotConfirmed(t *testing.T) {
	t.Parallel()
	w := withHook(t, "user_prompt_submit", `{"type":"agent","tools":["terminal"]}`, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways })
	w.llm.Reply(terminal("touch made"), llmtest.Finish(`{"decision":"allow"}`), llmtest.Text("hello"))
	if res := w.say("hi"); res.Answer != "hello" || !made(w, "made") {
		t.Errorf("result = %+v, want the answer %q behind the command of the hook", res, "hello")
	}
}

func TestModelsDecideForHooksOfTheEnd(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"prompt", "agent"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := withHook(t, "session_end", `{"type":"`+kind+`","prompt":"Is it good?","tools":["terminal"]}`)
			w.llm.Reply(llmtest.Text("hello"), llmtest.Text(`{"decision":"allow","reason":"good"}`))
			w.say("hi")
			w.close()
			w.start()
			w.expect("SP U M H")
			if h := lastOf[*event.HookExecution](t, w.log()); !h.Success || h.Reason != "good" {
				t.Errorf("hook execution = %+v, want the reason %q", h, "good")
			}
		})
	}
}
