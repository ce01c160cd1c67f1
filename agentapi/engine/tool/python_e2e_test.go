//go:build e2e && unix

package tool_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/builtin"
	"github.com/ohgw/ohgw/agentapi/engine/tool/check"
	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
	"github.com/ohgw/ohgw/agentapi/engine/tool/search"
	"github.com/ohgw/ohgw/agentapi/engine/tool/task"
	"github.com/ohgw/ohgw/agentapi/engine/tool/terminal"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// judge loads what is in items.json by the classes of the real SDK, and writes
// it out again as the SDK would.
const judge = `
import json
from openhands.sdk.tool import Action, Observation, ToolDefinition
import openhands.sdk.tool.builtins, openhands.sdk.tool.builtins.invoke_skill, openhands.sdk.tool.builtins.switch_llm
import openhands.sdk.mcp.tool
import openhands.tools.terminal, openhands.tools.file_editor, openhands.tools.task_tracker
import openhands.tools.glob, openhands.tools.grep, openhands.tools.apply_patch, openhands.tools.planning_file_editor
from openhands.sdk.conversation.secret_registry import SecretRegistry

bases = {"action": Action, "observation": Observation, "tool": ToolDefinition, "secrets": SecretRegistry}
out = []
for item in json.load(open("items.json")):
    one = {"name": item["name"]}
    try:
        loaded = bases[item["base"]].model_validate(item["json"])
        one["class"] = type(loaded).__name__
        one["dump"] = loaded.model_dump(mode="json", exclude_none=True)
        if item["base"] == "observation":
            one["text"] = "".join(c.text for c in loaded.to_llm_content if c.type == "text")
        if item["base"] == "tool":
            one["tool_name"] = loaded.name
    except Exception as e:
        one["error"] = f"{type(e).__name__}: {e}"
    out.append(one)
print("RESULT" + json.dumps(out))
`

// item is something that a conversation stores.
type item struct {
	Name string          `json:"name"`
	Base string          `json:"base"`
	JSON json.RawMessage `json:"json"`
}

type verdict struct {
	Name, Class, Error, Text string
	ToolName                 string `json:"tool_name"`
	Dump                     map[string]any
}

type noSwitch struct{}

func (noSwitch) Profiles() ([]string, error) { return []string{"a"}, nil }
func (noSwitch) SwitchLLM(_ context.Context, name string) (string, error) {
	return "model/" + name, nil
}

func TestTheSDKLoadsWhatTheToolsStore(t *testing.T) {
	dir := t.TempDir()
	quiet := 0.5
	term, err := terminal.New(terminal.Config{
		Dir: dir, ID: "e2e", Environ: os.Environ(), User: "me", Host: "here", SaveDir: filepath.Join(dir, "observations"),
		Params: terminal.Params{NoChangeTimeout: &quiet},
	})
	if err != nil {
		t.Fatal(err)
	}
	editor, err := file.New(file.Config{Dir: dir, Confined: true, Vision: func() bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	tracker, err := task.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	skills := skill.Tool(skill.ToolConfig{
		Skills: []skill.Skill{{Name: "a", Body: "text", Invocable: true}}, Workspace: dir,
		Invoked: func(context.Context, string) error { return nil },
	})
	streams, ok := sandbox.Unconfined().(sandbox.Streams)
	if !ok {
		t.Fatal("files without streams")
	}
	patcher, err := file.NewPatcher(dir, true, streams)
	if err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(dir, "plan", "PLAN.md")
	if err := file.MakePlan(streams, plan); err != nil {
		t.Fatal(err)
	}
	planner, err := file.New(file.Config{Dir: dir, Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	found := search.Config{Dir: dir, Files: streams}
	tools := []tool.Tool{search.NewGlob(found), search.NewGrep(found), patcher, planner, term, editor, tracker, builtin.Finish(), builtin.Think(), builtin.SwitchLLM(noSwitch{}), skills}
	var defs []tool.Definition
	var items []item
	for _, x := range tools {
		t.Cleanup(func() {
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		})
		defs = append(defs, x.Definition())
		items = append(items, item{x.Definition().Name, "tool", x.Definition().Stored()})
	}
	const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
		"\x00\x00\x00\rIDATx\xdacd\xf8\xcfP\x0f\x00\x03\x86\x01\x80Z4}k\x00\x00\x00\x00IEND\xaeB`\x82"
	if err := os.WriteFile(filepath.Join(dir, "a.png"), []byte(png), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.txt")
	shown := map[string]string{}
	for _, c := range []struct{ name, tool, args string }{
		{"finished", "terminal", `{"command":"echo hi","security_risk":"LOW","summary":"s"}`},
		{"failed", "terminal", `{"command":"false"}`},
		{"background", "terminal", `{"command":"sleep 100 &"}`},
		{"long", "terminal", `{"command":"seq 1 100000"}`},
		{"waiting", "terminal", `{"command":"cat"}`},
		{"refused", "terminal", `{"command":"ls"}`},
		{"key", "terminal", `{"command":"C-c","is_input":"true"}`},
		{"limit", "terminal", `{"command":"sleep 100","timeout":0.1}`},
		{"reset", "terminal", `{"command":"","reset":true}`},
		{"exit", "terminal", `{"command":"exit 3"}`},
		{"several", "terminal", `{"command":"ls\nls"}`},
		{"create", "file_editor", `{"command":"create","path":"` + path + `","file_text":"a\nb\n"}`},
		{"create again", "file_editor", `{"command":"create","path":"` + path + `","file_text":"a\nb\n"}`},
		{"view", "file_editor", `{"path":"` + path + `","view_range":[1,-1]}`},
		{"replace", "file_editor", `{"path":"` + path + `","old_str":"b","new_str":"c"}`},
		{"insert", "file_editor", `{"path":"` + path + `","insert_line":0,"new_str":"c"}`},
		{"undo", "file_editor", `{"command":"undo_edit","path":"` + path + `"}`},
		{"picture", "file_editor", `{"path":"` + filepath.Join(dir, "a.png") + `"}`},
		{"outside", "file_editor", `{"path":"/etc/passwd"}`},
		{"plan", "task_tracker", `{"command":"plan","task_list":"[{\"title\":\"t\",\"notes\":\"n\",\"status\":\"done\"}]"}`},
		{"other words", "task_tracker", `{"command":"plan","task_list":[{"title":"a","status":"Pending"},{"title":"b","status":" to-do "},{"title":"c","status":"In Progress"},{"title":"d","status":"COMPLETE"},{"title":"e","status":"completed"}]}`},
		{"list", "task_tracker", `{}`},
		{"finish", "finish", `{"message":"done"}`},
		{"think", "think", `{"thought":"hm"}`},
		{"switch", "switch_llm", `{"profile_name":"a","reason":"r"}`},
		{"switch fails", "switch_llm", `{"profile_name":"b","reason":"r"}`},
		{"skill", "invoke_skill", `{"name":"a"}`},
		{"glob", "glob", `{"pattern":"*.txt"}`},
		{"glob fails", "glob", `{"pattern":"{","path":"` + dir + `"}`},
		{"grep", "grep", `{"pattern":"c","include":"*.txt"}`},
		{"grep fails", "grep", `{"pattern":"("}`},
		{"patch", "apply_patch", `{"patch":"*** Begin Patch\n*** Add File: p.txt\n+p\n*** Update File: a.txt\n*** Move to: q.txt\n*** End Patch"}`},
		{"patch fails", "apply_patch", `{"patch":"*** Begin Patch"}`},
		{"plan file", "planning_file_editor", `{"command":"view","path":"` + plan + `"}`},
		{"plan refused", "planning_file_editor", `{"command":"create","path":"` + path + `","file_text":"x"}`},
	} {
		passed, refused := check.Call(event.ToolCall{ID: "c", Name: c.tool, Arguments: c.args}, defs, check.Options{Analyzer: true})
		if refused != nil {
			t.Fatalf("%s: refusal = %s", c.name, refused.Message)
		}
		items = append(items, item{c.name, "action", passed.Action})
		for _, x := range tools {
			if x.Definition().Name != c.tool {
				continue
			}
			result, err := x.Run(t.Context(), tool.Call{ID: "c", Args: passed.Args})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			items = append(items, item{c.name, "observation", result.Observation})
			shown[c.name] = event.PlainText(result.Content)
		}
	}
	mcpDef := tool.Definition{
		Name: "srv_echo", Description: "d", ActionKind: tool.KindMCPAction, ObservationKind: "MCPToolObservation", Kind: "MCPToolDefinition",
		Annotations: &tool.Annotations{ReadOnly: true}, Parameters: json.RawMessage(`{"type":"object","properties":{"kind":{"type":"string"}}}`),
		MCP: json.RawMessage(`{"name":"srv_echo","description":"d","inputSchema":{"type":"object","properties":{"kind":{"type":"string"}}},"annotations":{"readOnlyHint":true}}`),
	}
	passed, refused := check.Call(event.ToolCall{Name: "srv_echo", Arguments: `{"kind":"x","summary":"s"}`}, []tool.Definition{mcpDef}, check.Options{})
	if refused != nil {
		t.Fatal(refused.Message)
	}
	mcpResult, err := tool.NewResult("MCPToolObservation", []event.Content{event.Text("a"), event.Images("data:image/png;base64,cG5n")}, true, struct {
		Name string `json:"tool_name"`
	}{"srv_echo"})
	if err != nil {
		t.Fatal(err)
	}
	registry := secretenv.New(secretenv.Config{HTTP: http.DefaultClient})
	registry.Set(map[string]secretenv.Secret{
		"A": secretenv.Static("v", "what"), "B": secretenv.Lookup("https://example.com/x", map[string]string{"Authorization": "v", "Accept": "a"}, ""),
	})
	stored, err := registry.Encode(func(v string) (string, error) { return v, nil })
	if err != nil {
		t.Fatal(err)
	}
	items = append(items, item{"srv_echo", "tool", mcpDef.Stored()}, item{"mcp", "action", passed.Action},
		item{"mcp", "observation", mcpResult.Observation}, item{"secrets", "secrets", stored})
	for i, v := range judged(t, items) {
		compare(t, items[i], v, shown)
	}
}

func judged(t *testing.T, items []item) []verdict {
	t.Helper()
	dir := t.TempDir()
	data, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "items.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	var verdicts []verdict
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, judge)), &verdicts); err != nil {
		t.Fatal(err)
	}
	if len(verdicts) != len(items) {
		t.Fatalf("%d verdicts on %d items", len(verdicts), len(items))
	}
	return verdicts
}

// compare checks that the SDK understood an item as we meant it.
func compare(t *testing.T, it item, v verdict, shown map[string]string) {
	t.Helper()
	if v.Error != "" {
		t.Errorf("%s %s: error = %s\n%s", it.Base, it.Name, v.Error, it.JSON)
		return
	}
	var ours map[string]any
	if err := json.Unmarshal(it.JSON, &ours); err != nil {
		t.Fatal(err)
	}
	if kind, ok := ours["kind"]; ok && kind != v.Class {
		t.Errorf("%s %s: our kind is %s, theirs %s", it.Base, it.Name, kind, v.Class)
	}
	if it.Base == "secrets" {
		return // the SDK hides the values when it writes them
	}
	if it.Base == "action" { // as they would write it themselves
		if diff := cmp.Diff(v.Dump, ours); diff != "" {
			t.Errorf("action %s (-theirs +ours):\n%s", it.Name, diff)
		}
		return
	}
	// They fill in what is missing, and change nothing that is there.
	for name, value := range ours {
		if it.Base == "tool" && name == "mcp_tool" {
			continue
		}
		if diff := cmp.Diff(value, v.Dump[name]); diff != "" && value != nil {
			t.Errorf("%s %s: %s: %s", it.Base, it.Name, name, diff)
		}
	}
	if it.Base == "tool" && v.ToolName != it.Name {
		t.Errorf("tool %s is called %s", it.Name, v.ToolName)
	}
	if it.Base == "observation" && len(v.Text) > 2*tool.LimitTerminal {
		t.Errorf("%s: their text has %d bytes, ours %d", it.Name, len(v.Text), len(shown[it.Name]))
	}
}
