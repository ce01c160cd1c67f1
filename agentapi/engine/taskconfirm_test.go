//go:build unix

package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

var (
	yes = turn.Input{Decision: &agentapi.Decision{Accept: true}}
	no  = turn.Input{Decision: &agentapi.Decision{Reason: "use rm -i"}, Message: agentapi.Message{Text: "go on"}}
)

// asking is a world whose sub-agents are strict and whose agent is not: its home
// directory has one that confirms everything.
func asking(t *testing.T, options ...func(*engine.Config)) *world {
	t.Helper()
	return newWorld(t, append([]func(*engine.Config){subAgents, homeAgent(t, "careful",
		"description: Asks.\ntools: [terminal]\npermission_mode: always_confirm\n")}, options...)...)
}

// homeAgent has the user's home directory define an agent.
func homeAgent(t *testing.T, name, head string) func(*engine.Config) {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".openhands", "agents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte("---\nname: "+name+"\n"+head+"---\nBe careful.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(c *engine.Config) { c.Home = home }
}

func careful(prompt, description string) llmtest.Reply {
	return task(`{"prompt":"` + prompt + `","description":"` + description + `","subagent_type":"careful"}`)
}

func made(w *world, name string) bool {
	_, err := os.Stat(filepath.Join(w.workspace, name))
	return err == nil
}

// waitsFor fails unless the turn waits for one action of a sub-agent.
func waitsFor(t *testing.T, res turn.Result, tool, line string) {
	t.Helper()
	if res.Outcome != turn.Waiting || len(res.Waiting) != 1 || res.Waiting[0].Tool != tool || res.Waiting[0].Line != line {
		t.Fatalf("%+v", res)
	}
}

func TestAnActionOfASubAgentIsConfirmedAtTheParent(t *testing.T) {
	t.Parallel()
	w := asking(t)
	w.llm.Reply(careful("make it", "make a file"), terminal("touch one"), terminal("touch two"), llmtest.Finish("made both"), llmtest.Text("ok"))
	var cards []turn.Call
	res := w.play(turn.Input{Message: agentapi.Message{Text: "go"}, Details: func() bool { return true }, Emit: func(u turn.Update) {
		if u.Call != nil && u.Call.State == turn.CallWaiting {
			cards = append(cards, *u.Call)
		}
	}})
	waitsFor(t, res, "terminal", "make a file: $ touch one")
	if len(cards) != 1 || cards[0].Line != "make a file: $ touch one" || cards[0].Input != "touch one" || cards[0].Kind != turn.KindCommand {
		t.Errorf("%+v", cards)
	}
	w.status(event.Waiting)
	w.expect("SP U A(task)")
	waitsFor(t, w.play(yes), "terminal", "make a file: $ touch two")
	if !made(w, "one") || made(w, "two") {
		t.Error("the first action did not run, or the second did")
	}
	if res := w.play(yes); res.Answer != "ok" || res.Usage.PromptTokens == 0 {
		t.Errorf("%+v", res)
	}
	w.expect("SP U A(task) O M")
	if o := lastTask(t, w); o.Status != "completed" || o.Content[0].Text != "made both" || !made(w, "two") {
		t.Errorf("%+v", o)
	}
	if dirs := children(t, w); len(dirs) != 1 {
		t.Error(dirs)
	}
}

func TestASubAgentHearsThatItsActionWasRefused(t *testing.T) {
	t.Parallel()
	w := asking(t)
	w.llm.Reply(careful("remove it", "remove"), terminal("touch removed"), llmtest.Finish("not done"), llmtest.Text("ok"))
	waitsFor(t, w.say("go"), "terminal", "remove: $ touch removed")
	if res := w.play(no); res.Answer != "ok" {
		t.Errorf("%+v", res)
	}
	if made(w, "removed") {
		t.Error("the action ran")
	}
	if child := w.llm.Await(t, 3); !strings.Contains(child.Last().Text, "use rm -i") {
		t.Errorf("the sub-agent was told %q", child.Last().Text)
	}
	if parent := w.llm.Await(t, 4); parent.Last().Text != "go on" || !strings.Contains(string(parent.Body), "not done") {
		t.Errorf("the agent was told %s", parent.Body)
	}
	w.status(event.Finished)
}

func TestASubAgentWaitsOverARestart(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]turn.Input{"yes": yes, "no": no} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := asking(t)
			w.llm.Reply(careful("make it", "make"), terminal("touch one"), llmtest.Finish("over"), llmtest.Text("ok"))
			waitsFor(t, w.say("go"), "terminal", "make: $ touch one")
			w.close()
			w.start()
			state, err := w.open().State(w.ctx())
			if err != nil || state.Status != event.Waiting || len(state.Pending) != 1 || state.Pending[0].Label != "make" {
				t.Fatalf("%+v, %v", state, err)
			}
			if res := w.play(answer); res.Answer != "ok" {
				t.Errorf("%+v", res)
			}
			if made(w, "one") != (name == "yes") {
				t.Error("the action did not do what was answered")
			}
			if o := lastTask(t, w); o.Content[0].Text != "over" || o.ID != "task_00000001" {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestARefusalIsToldAfterARestart(t *testing.T) {
	t.Parallel()
	w := asking(t)
	w.llm.Reply(careful("make it", "make"), terminal("touch one"), llmtest.Finish("over"), llmtest.Text("ok"))
	w.say("go")
	if err := w.open().Decide(w.ctx(), agentapi.Decision{Reason: "never"}); err != nil {
		t.Fatal(err)
	}
	w.status(event.Idle)
	w.close()
	w.start()
	if res := w.say("and now?"); res.Answer != "ok" || made(w, "one") {
		t.Errorf("%+v", res)
	}
	if child := w.llm.Await(t, 3); !strings.Contains(child.Last().Text, "never") {
		t.Errorf("the sub-agent was told %q", child.Last().Text)
	}
}

func TestSeveralSubAgentsWaitAtOnce(t *testing.T) {
	t.Parallel()
	w := asking(t)
	args := func(n string) string {
		return `{"prompt":"` + n + `","description":"` + n + `","subagent_type":"careful"}`
	}
	w.llm.Reply(llmtest.Reply{Calls: []llmtest.Call{
		{ID: "a", Name: "task", Args: args("first")}, {ID: "b", Name: "terminal", Args: `{"command":"touch between"}`}, {ID: "c", Name: "task", Args: args("second")},
	}}, terminal("touch x"), terminal("touch x"), llmtest.Text("done"), llmtest.Text("done"), llmtest.Text("ok"))
	res := w.say("go")
	if res.Outcome != turn.Waiting || len(res.Waiting) != 2 || res.Waiting[0].Line != "first: $ touch x" || res.Waiting[1].Line != "second: $ touch x" || !made(w, "between") {
		t.Fatalf("%+v", res)
	}
	w.expect("SP U A(task) A(terminal) A(task) O")
	if res := w.play(yes); res.Answer != "ok" {
		t.Errorf("%+v", res)
	}
	w.expect("SP U A(task) A(terminal) A(task) O O O M")
}

func TestAWaitingSubAgentThatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	w := asking(t)
	w.llm.Reply(careful("make it", "make"), terminal("touch one"), llmtest.Text("ok"))
	w.say("go")
	w.close()
	if err := os.RemoveAll(filepath.Join(w.dir(), "subagents")); err != nil {
		t.Fatal(err)
	}
	w.start()
	if res := w.play(yes); res.Answer != "ok" || made(w, "one") {
		t.Errorf("%+v", res)
	}
	if o := lastTask(t, w); !o.IsError || !strings.Contains(o.Content[0].Text, "start the task again") {
		t.Errorf("%+v", o)
	}
}
