package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// write puts a file into the workspace.
func (w *world) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.workspace, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func TestScenario32KeywordBringsASkillOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".openhands/skills/deploy.md", "---\ntriggers: [deploy]\n---\nUse the blue button.")
	w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
	w.say("Deploy it, then deploy it again")
	w.say("deploy once more")
	w.expect("SP U(ext) M U M")
	for _, e := range w.log() {
		if m, ok := e.Body.(*event.Message); ok && len(m.ExtendedContent) > 0 {
			if !slices.Equal(m.ActivatedSkills, []string{"deploy"}) || !strings.Contains(m.ExtendedContent[0].Text, "blue button") {
				t.Errorf("message %+v", m)
			}
		}
	}
	if got := w.llm.Await(t, 1).Last().Text; !strings.Contains(got, "blue button") {
		t.Errorf("the model was told %q", got)
	}
}

func TestScenario33SkillIsInvoked(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	w := newWorld(t, func(c *engine.Config) { c.SkillEnv, c.Home = []string{"PATH=" + os.Getenv("PATH")}, home })
	dir := filepath.Join(home, ".agents", "skills", "count-lines")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const text = "---\nname: count-lines\ndescription: Counts lines.\n---\nThere are !`echo forty-two` lines."
	if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.llm.Reply(llmtest.Tool("invoke_skill", `{"name":"count-lines"}`), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A(invoke_skill) O A(finish) O")
	if p := lastOf[*event.SystemPrompt](t, w.log()); !strings.Contains(p.DynamicContext.Text, "<name>count-lines</name>") {
		t.Error("the skill is not listed")
	}
	got := w.llm.Await(t, 2).Last().Text
	if !strings.Contains(got, "There are forty-two lines.") || !strings.Contains(got, dir) {
		t.Errorf("the model was told %q", got)
	}
}

// fileTool says that it has looked at a file.
func fileTool() tool.Tool {
	return &enginetest.Func{
		Def: tool.Definition{
			Name: "file_editor", Description: "Looks at a file.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"path":{"type":"string"}},"required":["command","path"]}`),
			ActionKind: "FileEditorAction", ObservationKind: "FileEditorObservation", Kind: "FileEditorTool",
			Annotations: &tool.Annotations{Title: "file_editor", Destructive: true},
		},
		Do: func(_ context.Context, call tool.Call) (tool.Result, error) {
			return tool.NewResult("FileEditorObservation", []event.Content{event.Text("looked")}, false, json.RawMessage(`{"command":"view"}`))
		},
	}
}

func TestScenario34PathRuleIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) {
		c.NewTools = func(_ context.Context, e engine.ToolEnv) ([]tool.Tool, error) {
			return append(enginetest.Tools(e.Workspace), fileTool()), nil
		}
	})
	w.write(".openhands/skills/py.md", "---\npaths: '**/*.py'\n---\nFour spaces.")
	path := w.write("src/a.py", "x")
	view := llmtest.Tool("file_editor", `{"command":"view","path":"`+path+`"}`)
	w.llm.Reply(view, view, llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A(file_editor) O(ext) A(file_editor) O A(finish) O")
	if got := w.llm.Await(t, 2).Last().Text; !strings.Contains(got, "Four spaces.") {
		t.Errorf("the model was told %q", got)
	}
}

// Skills that come with the agent of a request are read like those in files.
func TestSkillsOfTheAgentOfARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	w.llm.Reply(llmtest.Tool("invoke_skill", `{"name":"frob"}`), llmtest.Text("Done."))
	w.startIt(control.Start{Agent: json.RawMessage(strings.Replace(inlineAgent, `"tools"`,
		`"agent_context":{"skills":[{"name":"frob","content":"Turn it twice.","description":"Turns.","is_agentskills_format":true}]},"tools"`, 1))})
	w.say("frob it")
	if o := lastOf[*event.Observation](t, w.log()); !strings.Contains(string(o.Observation), "Turn it twice.") {
		t.Errorf("the skill was not read: %s", o.Observation)
	}
	if state := w.stored("base_state.json"); !strings.Contains(state, `"invoked_skills":["frob"]`) {
		t.Error("the state does not have the skill")
	}
}
