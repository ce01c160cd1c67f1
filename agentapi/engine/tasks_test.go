//go:build unix

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// subAgents has agents with sub-agents and the tools that users get.
func subAgents(c *engine.Config) {
	realTools(c)
	c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{"enable_sub_agents":true,"tool_concurrency_limit":4}`)})
}

func task(args string) llmtest.Reply { return llmtest.Tool("task", args) }

// observed are the fields of a task's result.
type observed struct {
	ID      string `json:"task_id"`
	Agent   string `json:"subagent"`
	Status  string
	IsError bool `json:"is_error"`
	Content []event.Content
}

func lastTask(t *testing.T, w *world) (o observed) {
	t.Helper()
	for _, e := range w.log() {
		if b, ok := e.Body.(*event.Observation); ok && b.ToolName == "task" {
			if err := json.Unmarshal(b.Observation, &o); err != nil {
				t.Fatal(err)
			}
		}
	}
	return o
}

func children(t *testing.T, w *world) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(w.dir(), "subagents", "*", "base_state.json"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestScenario37ATaskIsDoneByAnotherAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, subAgents)
	w.llm.Reply(task(`{"prompt":"make it","description":"make a file"}`), terminal("touch made"), llmtest.Finish("made it"), llmtest.Finish("ok"))
	var lines []string
	res := w.play(turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(u turn.Update) {
		if u.Kind == turn.Progress {
			lines = append(lines, u.Text)
		}
	}})
	if res.Answer != "ok" {
		t.Fatalf("result = %+v, want the answer %q", res, "ok")
	}
	w.expect("SP U A(task) O A(finish) O")
	if o := lastTask(t, w); o.ID != "task_00000001" || o.Status != "completed" || o.IsError || o.Agent != "general-purpose" || o.Content[0].Text != "made it" {
		t.Errorf("the task = %+v, want the first one, completed with %q", o, "made it")
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "made")); err != nil {
		t.Error(err)
	}
	dirs := children(t, w)
	if len(dirs) != 1 {
		t.Fatal(dirs)
	}
	if events, err := filepath.Glob(filepath.Join(filepath.Dir(dirs[0]), "events", "event-*.json")); err != nil || len(events) < 6 {
		t.Errorf("%d events, %v", len(events), err)
	}
	state, err := w.open().State(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := state.Stats.UsageToMetrics["task:task_00000001"]; !ok || m.Usage == nil || m.Usage.PromptTokens == 0 {
		t.Errorf("statistics = %+v, want the usage of the task", state.Stats)
	}
	text := strings.Join(lines, "\n")
	if !strings.Contains(text, "  make a file: ") || !strings.Contains(text, "touch made") {
		t.Errorf("the progress is %q", text)
	}
	// The child was told its task and has no task tool of its own.
	child := w.llm.Await(t, 2)
	if child.Last().Text != "make it" || strings.Contains(string(child.Body), `"task_id"`) || strings.Contains(string(child.Body), `"name":"task"`) {
		t.Errorf("the child was asked %s", child.Body)
	}
}

// TestTheNameOfATaskIsOneLine has a description by which a model could write anything on
// a terminal.
func TestTheNameOfATaskIsOneLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, subAgents)
	w.llm.Reply(task(`{"prompt":"make it","description":"lab\u001b[31mel,\nnew line\u202e"}`), terminal("true"), llmtest.Finish("made it"), llmtest.Finish("ok"))
	var lines []string
	w.play(turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(u turn.Update) {
		if u.Kind == turn.Progress {
			lines = append(lines, u.Text)
		}
	}})
	text := strings.Join(lines, "|")
	if !strings.Contains(text, "  lab [31mel, new line: $ true") || strings.ContainsAny(text, "\x1b\n\u202e") {
		t.Errorf("the progress is %q", text)
	}
}

func TestATaskIsResumedAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, subAgents)
	w.llm.Reply(task(`{"prompt":"one"}`), llmtest.Text("first"), llmtest.Text("ok"))
	w.say("go")
	w.close()
	w.start()
	w.llm.Reply(task(`{"prompt":"two","resume":"task_00000001"}`), llmtest.Text("second"), task(`{"prompt":"three","resume":"task_9"}`), llmtest.Text("ok"))
	w.say("again")
	if got := w.llm.Await(t, 5); len(got.Messages) < 4 || got.Last().Text != "two" || !strings.Contains(string(got.Body), "first") {
		t.Errorf("the child was asked %s", got.Body)
	}
	if o := lastTask(t, w); !o.IsError || !strings.Contains(o.Content[0].Text, "task_00000001") {
		t.Errorf("the task = %+v, want an error that names task_00000001", o)
	}
	if dirs := children(t, w); len(dirs) != 1 {
		t.Error(dirs)
	}
}

func TestAgentsOfTheWorkspaceDoTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, subAgents)
	dir := filepath.Join(w.workspace, ".agents", "agents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := "---\nname: reviewer\ndescription: Reviews code.\ntools: [grep]\nmax_iteration_per_run: 2\n---\nBe strict about names.\n"
	if err := os.WriteFile(filepath.Join(dir, "reviewer.md"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	w.llm.Reply(task(`{"prompt":"review","subagent_type":"reviewer"}`), llmtest.Tool("grep", `{"pattern":"a"}`), llmtest.Tool("grep", `{"pattern":"b"}`),
		task(`{"prompt":"x","subagent_type":"nobody"}`), llmtest.Text("ok"))
	w.say("go")
	child := w.llm.Await(t, 2)
	if body := string(child.Body); !strings.Contains(body, "Be strict about names.") || strings.Contains(body, `"name":"terminal"`) || !strings.Contains(body, `"name":"grep"`) {
		t.Errorf("the child was asked %s", body)
	}
	if parent := string(w.llm.Await(t, 1).Body); !strings.Contains(parent, "reviewer: Reviews code.") || !strings.Contains(parent, "bash-runner") {
		t.Errorf("the parent was told %s", parent)
	}
	if told := w.llm.Await(t, 4).Last().Text; !strings.Contains(told, "MaxIterationsReached") {
		t.Errorf("the parent was told %q", told)
	}
	if told := w.llm.Await(t, 5).Last().Text; !strings.Contains(told, `no agent "nobody"`) {
		t.Errorf("the parent was told %q", told)
	}
}

func TestAnInterruptReachesASubAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, subAgents)
	w.llm.Reply(task(`{"prompt":"hang"}`), terminal("sleep 1000"))
	over := w.background("go")
	w.llm.Await(t, 2)
	if err := w.open().Interrupt(w.ctx()); err != nil {
		t.Fatal(err)
	}
	if res := <-over; res.Outcome != turn.Interrupted {
		t.Errorf("result = %+v, want the outcome %d", res, turn.Interrupted)
	}
	w.status(event.Paused)
	data, err := os.ReadFile(children(t, w)[0])
	if err != nil || strings.Contains(string(data), `"execution_status":"running"`) {
		t.Errorf("the child's state = %s, %v, want it not to run", data, err)
	}
}

func TestWhatASubAgentMustConfirmIsTheParentsToAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, subAgents, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways })
	w.llm.Reply(task(`{"prompt":"remove it"}`), terminal("touch removed"), llmtest.Text("ok"))
	if res := w.say("go"); res.Outcome != turn.Waiting {
		t.Fatalf("result = %+v, want the outcome %d", res, turn.Waiting)
	}
	w.play(turn.Input{Decision: &agentapi.Decision{Accept: true}})
	o := lastTask(t, w)
	if !o.IsError || !strings.Contains(o.Content[0].Text, "touch removed") || !strings.Contains(o.Content[0].Text, "need a confirmation") {
		t.Errorf("the task = %+v, want an error that the call needs a confirmation", o)
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "removed")); err == nil {
		t.Error("the action ran")
	}
}

func TestTasksOfOneAnswerRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, subAgents)
	// Each waits until the other has begun.
	meet := func(own, other string) llmtest.Reply {
		return terminal("touch " + own + "; while [ ! -e " + other + " ]; do sleep 0.05; done")
	}
	w.llm.Reply(llmtest.Reply{Calls: []llmtest.Call{
		{ID: "a", Name: "task", Args: `{"prompt":"one"}`}, {ID: "b", Name: "task", Args: `{"prompt":"two"}`},
	}}, meet("x", "y"), meet("y", "x"), llmtest.Text("done"), llmtest.Text("done"), llmtest.Text("ok"))
	w.say("go")
	w.expect("SP U A(task) A(task) O O M")
	if dirs := children(t, w); len(dirs) != 2 {
		t.Error(dirs)
	}
}

// The switch is for the standard tools: a list has task_tool_set in it, or there is none.
func TestAListOfToolsDecidesOnSubAgents(t *testing.T) {
	t.Parallel()
	for settled, want := range map[string]bool{
		`{"enable_sub_agents":true}`:                                                                     true,
		`{"enable_sub_agents":true,"tools":null}`:                                                        true,
		`{"enable_sub_agents":true,"tools":[{"name":"terminal","params":{}}]}`:                           false,
		`{"enable_sub_agents":false,"tools":[{"name":"terminal","params":{}},{"name":"task_tool_set"}]}`: true,
	} {
		w := newWorld(t, func(c *engine.Config) {
			realTools(c)
			c.Settings = settings(engine.Settings{Agent: json.RawMessage(settled)})
		})
		w.llm.Reply(llmtest.Finish("ok"))
		w.say("hello")
		if got := slices.Contains(w.llm.Requests()[0].Tools, "task"); got != want {
			t.Errorf("%s: task is offered: %t, want %t", settled, got, want)
		}
	}
}
