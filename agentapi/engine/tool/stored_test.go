//go:build unix

package tool_test

import (
	"context"
	"os"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/builtin"
	"github.com/ohgw/ohgw/agentapi/engine/tool/check"
	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
	"github.com/ohgw/ohgw/agentapi/engine/tool/task"
	"github.com/ohgw/ohgw/agentapi/engine/tool/terminal"
	"github.com/ohgw/ohgw/agentapi/event"
)

type oneProfile struct{}

func (oneProfile) Profiles() ([]string, error)                              { return []string{"a"}, nil }
func (oneProfile) SwitchLLM(_ context.Context, name string) (string, error) { return name, nil }

// ownDefinitions are those of every tool that is built in.
func ownDefinitions(t *testing.T) []tool.Definition {
	t.Helper()
	dir := t.TempDir()
	shell, err := terminal.New(terminal.Config{Dir: dir, ID: "test", Environ: os.Environ(), User: "me", Host: "here"})
	if err != nil {
		t.Fatal(err)
	}
	editor, err := file.New(file.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	tracker, err := task.New("")
	if err != nil {
		t.Fatal(err)
	}
	skills := skill.Tool(skill.ToolConfig{
		Skills: []skill.Skill{{Name: "a", Body: "text", Invocable: true}}, Workspace: dir,
		Invoked: func(context.Context, string) error { return nil },
	})
	var defs []tool.Definition
	for _, x := range []tool.Tool{shell, editor, tracker, builtin.Finish(), builtin.Think(), builtin.SwitchLLM(oneProfile{}), skills} {
		t.Cleanup(func() {
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		})
		defs = append(defs, x.Definition())
	}
	return defs
}

// TestStoredActionsHaveUpstreamsDefaults compares with what OpenHands 1.43.1
// writes for the same arguments.
func TestStoredActionsHaveUpstreamsDefaults(t *testing.T) {
	t.Parallel()
	defs := ownDefinitions(t)
	tested := map[string]bool{}
	for _, tt := range []struct{ tool, args, want string }{
		{"terminal", `{"command":"ls"}`, `{"command":"ls","is_input":false,"reset":false,"kind":"TerminalAction"}`},
		{"terminal", `{"reset":true,"timeout":5,"command":""}`, `{"command":"","is_input":false,"timeout":5,"reset":true,"kind":"TerminalAction"}`},
		{"file_editor", `{"path":"/a","command":"view"}`, `{"command":"view","path":"/a","kind":"FileEditorAction"}`},
		{"task_tracker", `{}`, `{"command":"view","task_list":[],"kind":"TaskTrackerAction"}`},
		{
			"task_tracker", `{"task_list":[{"title":"a"},{"status":"done","title":"b"}],"command":"plan"}`,
			`{"command":"plan","task_list":[{"title":"a","notes":"","status":"todo"},{"title":"b","notes":"","status":"done"}],"kind":"TaskTrackerAction"}`,
		},
		{"finish", `{"message":"m"}`, `{"message":"m","kind":"FinishAction"}`},
		{"think", `{"thought":"m"}`, `{"thought":"m","kind":"ThinkAction"}`},
		{"switch_llm", `{"profile_name":"a","reason":"r"}`, `{"profile_name":"a","reason":"r","kind":"SwitchLLMAction"}`},
		{"invoke_skill", `{"name":"a"}`, `{"name":"a","kind":"InvokeSkillAction"}`},
	} {
		passed, refused := check.Call(event.ToolCall{ID: "c", Name: tt.tool, Arguments: tt.args}, defs, check.Options{})
		if refused != nil {
			t.Errorf("%s %s: refusal = %s", tt.tool, tt.args, refused.Message)
			continue
		}
		if got := string(passed.Action); got != tt.want {
			t.Errorf("%s %s is stored as\n%s\nwant\n%s", tt.tool, tt.args, got, tt.want)
		}
		tested[tt.tool] = true
	}
	for _, d := range defs {
		if !tested[d.Name] {
			t.Errorf("%s is not tested", d.Name)
		}
	}
}

func TestPlanWithoutAListIsRefusedBeforeItIsStored(t *testing.T) {
	t.Parallel()
	_, refused := check.Call(event.ToolCall{ID: "c", Name: "task_tracker", Arguments: `{"command":"plan"}`}, ownDefinitions(t), check.Options{})
	if refused == nil {
		t.Error("plan without task_list was taken; it would be stored, and run, as an empty list")
	}
}
