package check_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/check"
	"github.com/ohgw/ohgw/agentapi/engine/tool/task"
	"github.com/ohgw/ohgw/agentapi/event"
)

var readOnly = &tool.Annotations{ReadOnly: true}

// define makes a tool whose action kind is "XAction" for a tool x.
func define(name, props, required string, a *tool.Annotations) tool.Definition {
	return tool.Definition{
		Name: name, ActionKind: "XAction", Annotations: a,
		Parameters: json.RawMessage(`{"type":"object","properties":{` + props + `},"required":[` + required + `],"additionalProperties":false}`),
	}
}

func tools() []tool.Definition {
	return []tool.Definition{
		define("terminal", `"command":{"type":"string"},"is_input":{"type":"boolean"},"timeout":{"type":"number","minimum":0}`, `"command"`, nil),
		define("file_editor", `"command":{"type":"string","enum":["view","create","str_replace","insert"]},"path":{"type":"string"},"file_text":{"type":"string"},`+
			`"old_str":{"type":"string"},"new_str":{"type":"string"},"insert_line":{"type":"integer","minimum":0},"view_range":{"type":"array","items":{"type":"integer"}}`, `"command","path"`, nil),
		define("think", `"thought":{"type":"string"}`, `"thought"`, readOnly),
		define("ticket", `"summary":{"type":"string"},"labels":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]},"fields":{"type":"object"},"tags":{"type":["string","array"]}`, `"summary"`, nil),
	}
}

func call(name, args string) event.ToolCall {
	return event.ToolCall{ID: "c1", Name: name, Arguments: args, Origin: "completion"}
}

// What the model wrote comes back to it in every later request: other bytes cost
// tokens, miss the provider's cache, and are copied.
func TestArgumentsStayAsTheModelWroteThem(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"command": "echo one > one.txt"}`:                           "",
		`{"command":"a <b> && c"}`:                                    "",
		"{\n  \"timeout\": 3.0,\n  \"command\": \"a & b\"\n}":         "",
		`{"command":"caf\u00e9 \u003c \/ 1e3","timeout":1E1}`:         "",
		"{\"command\":\"line\u2028end <\"}":                           "",
		`{"command":"a > b","security_risk":"LOW","summary":"x<y"}`:   "",
		`{"command": "a > b", "timeout": null}`:                       `{"command":"a > b"}`,
		`{"command": "a > b", "timeout": "3"}`:                        "",
		`{"command": "first", "command": "a > b"}`:                    `{"command":"a > b"}`,
		"{\"command\": \"a > b\n& c\"}":                               `{"command":"a > b\n& c"}`,
		`{"command": "a > b", "security_rort": "LOW", "summary": ""}`: `{"command":"a > b","summary":"","security_risk":"LOW"}`,
	} {
		passed, refused := check.Call(call("terminal", args), tools(), check.Options{})
		if refused != nil {
			t.Fatalf("%s: refusal = %s", args, refused.Message)
		}
		if want == "" {
			want = args
		}
		if passed.Call.Arguments != want {
			t.Errorf("%s became %s, want %s", args, passed.Call.Arguments, want)
		}
	}
}

func TestCallRepairs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		name, args string
		tool       string // the one that runs; the called one if empty
		want       string // its arguments
	}{
		// 1. Parsing.
		"plain":                {"terminal", `{"command":"ls"}`, "", `{"command":"ls"}`},
		"raw control chars":    {"terminal", "{\"command\":\"a\nb\tc\"}", "", `{"command":"a\nb\tc"}`},
		"raw and between":      {"terminal", "{\n \"command\":\"a\nb\\\\\"\n}", "", `{"command":"a\nb\\"}`},
		"null is dropped":      {"terminal", `{"command":"ls","timeout":null}`, "", `{"command":"ls"}`},
		"duplicate":            {"terminal", `{"command":"a","command":"ls"}`, "", `{"command":"ls"}`},
		"order kept":           {"terminal", `{"timeout":3,"command":"ls","is_input":false}`, "", `{"timeout":3,"command":"ls","is_input":false}`},
		"html is not mangled":  {"terminal", `{"command":"a <b> && c"}`, "", `{"command":"a <b> && c"}`},
		"risk and summary out": {"terminal", `{"security_risk":"LOW","summary":"s","command":"ls"}`, "", `{"command":"ls"}`},
		// 2. Misspelt risk.
		"security_rort": {"terminal", `{"command":"ls","security_rort":"LOW"}`, "", `{"command":"ls"}`},
		"securtiy_risk": {"terminal", `{"command":"ls","securtiy_risk":"LOW"}`, "", `{"command":"ls"}`},
		"security_riks": {"terminal", `{"command":"ls","security_riks":"LOW"}`, "", `{"command":"ls"}`},
		// 3. Names.
		"xml after the name":       {"think </parameter", `{"thought":"x"}`, "think", `{"thought":"x"}`},
		"xml after an alias":       {"bash</function>", `{"command":"ls"}`, "terminal", `{"command":"ls"}`},
		"bash":                     {"bash", `{"command":"ls"}`, "terminal", `{"command":"ls"}`},
		"command":                  {"command", `{"command":"ls"}`, "terminal", `{"command":"ls"}`},
		"execute":                  {"execute", `{"command":"ls"}`, "terminal", `{"command":"ls"}`},
		"execute_bash":             {"execute_bash", `{"command":"ls"}`, "terminal", `{"command":"ls"}`},
		"git status":               {"git", `{"command":"status"}`, "terminal", `{"command":"git status"}`},
		"git git":                  {"git", `{"command":"git  log"}`, "terminal", `{"command":"git  log"}`},
		"gitk is not git":          {"git", `{"command":"gitk"}`, "terminal", `{"command":"git gitk"}`},
		"git alone":                {"git", `{}`, "terminal", `{"command":"git"}`},
		"git drops other keys":     {"git", `{"command":"log","x":1,"summary":"s"}`, "terminal", `{"command":"git log"}`},
		"reset":                    {"reset", `{"command":"--hard"}`, "terminal", `{"command":"reset --hard"}`},
		"ls":                       {"ls", `{}`, "terminal", `{"command":"ls"}`},
		"ls with summary":          {"ls", `{"summary":"s"}`, "terminal", `{"command":"ls"}`},
		"pwd without arguments":    {"pwd", ``, "terminal", `{"command":"pwd"}`},
		"find":                     {"find", `[]`, "terminal", `{"command":"find"}`},
		"str_replace":              {"str_replace", `{"path":"/a","old_str":"x","new_str":"y"}`, "file_editor", `{"command":"str_replace","path":"/a","old_str":"x","new_str":"y"}`},
		"str_replace_editor":       {"str_replace_editor", `{"command":"view","path":"/a"}`, "file_editor", `{"command":"view","path":"/a"}`},
		"insert is inferred":       {"file_editor", `{"path":"/a","insert_line":0,"new_str":"y"}`, "", `{"command":"insert","path":"/a","insert_line":0,"new_str":"y"}`},
		"create is inferred":       {"file_editor", `{"path":"/a","file_text":""}`, "", `{"command":"create","path":"/a","file_text":""}`},
		"view is inferred":         {"file_editor", `{"path":"/a"}`, "", `{"command":"view","path":"/a"}`},
		"old_str beats file_text":  {"file_editor", `{"path":"/a","file_text":"z","insert_line":1,"old_str":"x"}`, "", `{"command":"str_replace","path":"/a","file_text":"z","insert_line":1,"old_str":"x"}`},
		"a null command is no one": {"file_editor", `{"command":null,"path":"/a"}`, "", `{"command":"view","path":"/a"}`},
		// 4. Types.
		"list as text":           {"file_editor", `{"command":"view","path":"/a","view_range":"[1, 5]"}`, "", `{"command":"view","path":"/a","view_range":[1,5]}`},
		"list with a tail":       {"file_editor", `{"command":"view","path":"/a","view_range":"[1, 5]</parameter>"}`, "", `{"command":"view","path":"/a","view_range":[1,5]}`},
		"optional list as text":  {"ticket", `{"summary":"s","labels":"[\"a\"]"}`, "", `{"summary":"s","labels":["a"]}`},
		"object as text":         {"ticket", `{"summary":"s","fields":"{\"a\": {\"b\": 1}} and so on"}`, "", `{"summary":"s","fields":{"a":{"b":1}}}`},
		"text in pieces":         {"file_editor", `{"command":"create","path":"/a","file_text":["one\n","two"]}`, "", `{"command":"create","path":"/a","file_text":"one\ntwo"}`},
		"text that is JSON":      {"file_editor", `{"command":"create","path":"/a.json","file_text":"[1]"}`, "", `{"command":"create","path":"/a.json","file_text":"[1]"}`},
		"list or text, list":     {"ticket", `{"summary":"s","tags":["a","b"]}`, "", `{"summary":"s","tags":["a","b"]}`},
		"list or text, text":     {"ticket", `{"summary":"s","tags":"[1]"}`, "", `{"summary":"s","tags":"[1]"}`},
		"number as text":         {"terminal", `{"command":"ls","timeout":" 30 "}`, "", `{"command":"ls","timeout":30}`},
		"boolean as text":        {"terminal", `{"command":"ls","is_input":"False"}`, "", `{"command":"ls","is_input":false}`},
		"whole number as float":  {"file_editor", `{"path":"/a","insert_line":2.0,"new_str":""}`, "", `{"command":"insert","path":"/a","insert_line":2,"new_str":""}`},
		"numbers in a list":      {"file_editor", `{"path":"/a","view_range":["1","-1"]}`, "", `{"command":"view","path":"/a","view_range":[1,-1]}`},
		"an own summary stays":   {"ticket", `{"summary":"Broken"}`, "", `{"summary":"Broken"}`},
		"blank summary":          {"terminal", `{"command":"ls","summary":" "}`, "", `{"command":"ls"}`},
		"summary is no text":     {"terminal", `{"command":"ls","summary":{"a":1}}`, "", `{"command":"ls"}`},
		"risk of a reading tool": {"think", `{"thought":"x","security_risk":"NONSENSE"}`, "", `{"thought":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passed, refused := check.Call(call(test.name, test.args), tools(), check.Options{Analyzer: true})
			if refused != nil {
				t.Fatal(refused.Message)
			}
			if diff := cmp.Diff(test.want, string(passed.Args)); diff != "" {
				t.Error(diff)
			}
			want := test.tool
			if want == "" {
				want = test.name
			}
			if passed.Tool.Name != want || passed.Call.Name != want || passed.Call.ID != "c1" || passed.Call.Origin != "completion" {
				t.Errorf("tool %s, call %+v", passed.Tool.Name, passed.Call)
			}
			var action map[string]any
			if err := json.Unmarshal(passed.Action, &action); err != nil || action["kind"] != "XAction" {
				t.Errorf("action %s: %v", passed.Action, err)
			}
			if strings.TrimSpace(passed.Summary) == "" || passed.Risk == "" {
				t.Errorf("summary %q, risk %q", passed.Summary, passed.Risk)
			}
		})
	}
}

func TestCallStoresRepairedArgumentsWithRiskAndSummary(t *testing.T) {
	t.Parallel()
	passed, refused := check.Call(call("str_replace_editor", `{"path":"/a","view_range":"[1,2]","securtiy_risk":"LOW","summary":"look"}`), tools(), check.Options{Analyzer: true})
	if refused != nil {
		t.Fatal(refused.Message)
	}
	want := &check.Passed{
		Call: event.ToolCall{
			ID: "c1", Origin: "completion", Name: "file_editor",
			Arguments: `{"command":"view","path":"/a","view_range":[1,2],"summary":"look","security_risk":"LOW"}`,
		},
		Args:   json.RawMessage(`{"command":"view","path":"/a","view_range":[1,2]}`),
		Action: json.RawMessage(`{"command":"view","path":"/a","view_range":[1,2],"kind":"XAction"}`),
		Risk:   "LOW", Summary: "look", Tool: tools()[1],
	}
	if diff := cmp.Diff(want, passed); diff != "" {
		t.Error(diff)
	}
}

func TestCallReadsTheRiskOnlyForAnAnalyzer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tool, args string
		analyzer   bool
		want       string
	}{
		"given":              {"terminal", `{"command":"ls","security_risk":"HIGH"}`, true, "HIGH"},
		"absent":             {"terminal", `{"command":"ls"}`, true, "UNKNOWN"},
		"no analyzer":        {"terminal", `{"command":"ls","security_risk":"HIGH"}`, false, "UNKNOWN"},
		"nonsense, unasked":  {"terminal", `{"command":"ls","security_risk":7}`, false, "UNKNOWN"},
		"read-only tool":     {"think", `{"thought":"x","security_risk":"HIGH"}`, true, "UNKNOWN"},
		"unknown, by itself": {"terminal", `{"command":"ls","security_risk":"UNKNOWN"}`, true, "UNKNOWN"},
	} {
		passed, refused := check.Call(call(test.tool, test.args), tools(), check.Options{Analyzer: test.analyzer})
		if refused != nil || passed.Risk != test.want {
			t.Errorf("%s: checked call = %+v, refusal %+v", name, passed, refused)
		}
	}
}

func TestCallMakesASummary(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"command":"ls","security_risk":"LOW"}`:   `terminal: {"command":"ls"}`,
		`{"command":"ls","summary":" Look here "}`: `Look here`,
	} {
		passed, refused := check.Call(call("terminal", args), tools(), check.Options{})
		if refused != nil || passed.Summary != want {
			t.Errorf("%s: checked call = %+v, refusal %+v", args, passed, refused)
		}
	}
	passed, _ := check.Call(call("ticket", `{"summary":"Broken"}`), tools(), check.Options{})
	if passed == nil || passed.Summary != "Broken" || string(passed.Args) != `{"summary":"Broken"}` {
		t.Errorf("checked call = %+v", passed)
	}
}

// Every value in these calls contains the word SECRET, and no refusal may.
func TestCallRefusesWithoutTellingValues(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tool, args string
		shown      string   // the name of the tool in the refusal
		want       []string // parts of the message
	}{
		"unknown tool":           {"nope", `{"a":"SECRET"}`, "nope", []string{`"nope"`, "terminal, file_editor, think, ticket"}},
		"grep without pattern":   {"grep", `{"x":"SECRET"}`, "grep", []string{`"grep"`, "terminal"}},
		"ls with arguments":      {"ls", `{"path":"SECRET"}`, "ls", []string{`"ls"`}},
		"no JSON":                {"terminal", `{"command":"ls" SECRET}`, "terminal", []string{"not valid JSON from byte 17 of 23 on"}},
		"cut off":                {"terminal", `{"command":"SECRET`, "terminal", []string{"cut off", "18 bytes"}},
		"two objects":            {"terminal", `{"command":"ls"}{"x":"SECRET"}`, "terminal", []string{"not valid JSON"}},
		"no object":              {"terminal", `["SECRET"]`, "terminal", []string{"command is required", "no parameters were given"}},
		"required":               {"terminal", `{"timeout":5}`, "terminal", []string{"command is required", "the parameters given: timeout"}},
		"wrong type":             {"terminal", `{"command":{"a":"SECRET"}}`, "terminal", []string{"command must be a text"}},
		"mixed list for a text":  {"terminal", `{"command":["SECRET",1]}`, "terminal", []string{"command must be a text"}},
		"number for a text":      {"terminal", `{"command":5}`, "terminal", []string{"command must be a text"}},
		"bound":                  {"terminal", `{"command":"ls","timeout":-1}`, "terminal", []string{"timeout must be at least 0"}},
		"unknown parameter":      {"terminal", `{"command":"ls","cwd":"SECRET"}`, "terminal", []string{"cwd is not a parameter of this tool", "the parameters given: command, cwd"}},
		"wrong risk":             {"terminal", `{"command":"ls","security_risk":"SECRET"}`, "terminal", []string{"security_risk must be one of UNKNOWN, LOW, MEDIUM, HIGH"}},
		"risk is no text":        {"terminal", `{"command":"ls","security_risk":["SECRET"]}`, "terminal", []string{"security_risk must be"}},
		"enum":                   {"file_editor", `{"command":"SECRET","path":"/a"}`, "file_editor", []string{`command must be one of ["view",`}},
		"nothing to infer from":  {"str_replace_editor", `{}`, "file_editor", []string{"command is required: none of the parameters", "no parameters were given"}},
		"nothing to infer, some": {"file_editor", `{"text":"SECRET"}`, "file_editor", []string{"command is required", "the parameters given: text"}},
		"item of a list":         {"file_editor", `{"path":"/a","view_range":[1,"SECRET"]}`, "file_editor", []string{"view_range[1] must be a whole number"}},
		"text for a list":        {"file_editor", `{"path":"/a","view_range":"SECRET"}`, "file_editor", []string{"view_range must be a list"}},
		"fraction":               {"file_editor", `{"path":"/a","insert_line":1.5,"new_str":"SECRET"}`, "file_editor", []string{"insert_line must be a whole number"}},
		"boolean for a number":   {"file_editor", `{"path":"/a","insert_line":true}`, "file_editor", []string{"insert_line must be a whole number"}},
		"alternative":            {"ticket", `{"summary":"s","labels":"SECRET"}`, "ticket", []string{"labels must be a list"}},
		"nested null":            {"ticket", `{"summary":"s","labels":["a",null]}`, "ticket", []string{"labels[1] must be a text"}},
		"a file as a name":       {"terminal", `{"command":"ls","` + strings.Repeat("x", 500) + `":1}`, "terminal", []string{`xxx"...`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passed, refused := check.Call(call(test.tool, test.args), tools(), check.Options{Analyzer: true})
			if passed != nil || refused == nil {
				t.Fatalf("passed: %+v", passed)
			}
			for _, want := range test.want {
				if !strings.Contains(refused.Message, want) {
					t.Errorf("no %q in %q", want, refused.Message)
				}
			}
			if strings.Contains(refused.Message, "SECRET") || len(refused.Message) > 400 {
				t.Errorf("the message says too much: %s", refused.Message)
			}
			if refused.ToolName != test.shown || refused.Call.ID != "c1" || !json.Valid([]byte(refused.Call.Arguments)) {
				t.Errorf("refusal = %+v", refused)
			}
		})
	}
}

func TestCallMarksArgumentsThatAreNoJSON(t *testing.T) {
	t.Parallel()
	_, refused := check.Call(call("terminal", `{"command":`), tools(), check.Options{})
	if refused == nil {
		t.Fatal("passed")
	}
	var stored struct {
		Mark  bool   `json:"_openhands_malformed_tool_call"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(refused.Call.Arguments), &stored); err != nil || !stored.Mark || stored.Error != refused.Message {
		t.Errorf("%s: %v", refused.Call.Arguments, err)
	}
	_, refused = check.Call(call("nope", "{\"a\":\"\n\"}"), tools(), check.Options{})
	if refused == nil || refused.Call.Arguments != `{"a":"\n"}` {
		t.Errorf("refusal = %+v", refused)
	}
}

func TestCallLooksForPatternsInTheTerminal(t *testing.T) {
	t.Parallel()
	passed, refused := check.Call(call("grep", `{"pattern":"it's","include":"*.go","security_risk":"LOW"}`), tools(), check.Options{Analyzer: true})
	if refused != nil {
		t.Fatal(refused.Message)
	}
	var args struct{ Command string }
	if err := json.Unmarshal(passed.Args, &args); err != nil {
		t.Fatal(err)
	}
	const want = `if command -v rg >/dev/null; then rg -n -i --sortr=modified -g '*.go' -e 'it'\''s' -- '.'; ` +
		`else grep -R -I -n -i --include='*.go' -e 'it'\''s' -- '.'; fi`
	if args.Command != want || passed.Risk != "LOW" || passed.Tool.Name != "terminal" {
		t.Errorf("command = %s\nchecked call = %+v", args.Command, passed)
	}
}

func TestCallTakesLongLists(t *testing.T) {
	t.Parallel()
	list := "[" + strings.TrimSuffix(strings.Repeat("7,", 50_000), ",") + "]"
	passed, refused := check.Call(call("file_editor", `{"path":"/a","view_range":`+list+`}`), tools(), check.Options{})
	if refused != nil || len(passed.Args) < len(list) {
		t.Errorf("refusal = %+v", refused)
	}
}

func TestCallPrefersToolsThatThereAre(t *testing.T) {
	t.Parallel()
	own := append(tools(), define("git", `"command":{"type":"string"}`, ``, nil), define("grep", `"pattern":{"type":"string"}`, ``, nil))
	for _, name := range []string{"git", "grep"} {
		passed, refused := check.Call(call(name, `{}`), own, check.Options{})
		if refused != nil || passed.Tool.Name != name {
			t.Errorf("%s: checked call = %+v, refusal %+v", name, passed, refused)
		}
	}
	few := tools()[2:]
	for _, name := range []string{"bash", "ls", "git", "str_replace"} {
		if passed, _ := check.Call(call(name, `{}`), few, check.Options{}); passed != nil {
			t.Errorf("%s ran %s", name, passed.Tool.Name)
		}
	}
}

// A server can send a schema that refers to itself twice at each step.
func TestCallEndsOnASchemaThatNeverDoes(t *testing.T) {
	t.Parallel()
	def := tool.Definition{Name: "bomb", ActionKind: tool.KindMCPAction, Parameters: json.RawMessage(
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}}}`)}
	ctx := t.Context()
	done := make(chan *check.Refused, 1)
	go func() {
		_, refused := check.Call(call("bomb", `{"a":"x"}`), []tool.Definition{def}, check.Options{})
		done <- refused
	}()
	select {
	case refused := <-done:
		if refused == nil || !strings.Contains(refused.Message, "nested too deeply") {
			t.Errorf("refusal = %+v", refused)
		}
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("does not end")
	}
}

func FuzzCall(f *testing.F) {
	for _, seed := range []string{
		`{"command":"ls"}`, "{\"command\":\"a\nb\"}", `{"command":"view","path":"/a","view_range":"[1,2]x"}`, `{"thought":["a","b"]}`,
		`{"summary":"x","labels":null,"fields":"{}"}`, `[`, `{"a":1}{`, `"\ud800"`, `{"timeout":1e999,"command":""}`, `{"insert_line":9007199254740993}`,
	} {
		for _, name := range []string{"terminal", "file_editor", "think", "ticket", "git", "grep", "x<"} {
			f.Add(name, seed)
		}
	}
	f.Fuzz(func(t *testing.T, name, args string) {
		passed, refused := check.Call(call(name, args), tools(), check.Options{Analyzer: true})
		if (passed == nil) == (refused == nil) {
			t.Fatal("not exactly one result")
		}
		if refused != nil {
			if !json.Valid([]byte(refused.Call.Arguments)) || refused.Message == "" {
				t.Fatalf("refusal = %+v", refused)
			}
			return
		}
		if !slices.ContainsFunc(tools(), func(d tool.Definition) bool { return d.Name == passed.Tool.Name }) {
			t.Fatal(passed.Tool.Name)
		}
		for _, text := range []string{string(passed.Args), string(passed.Action), passed.Call.Arguments} {
			var o map[string]any
			if err := json.Unmarshal([]byte(text), &o); err != nil || o == nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		again, refused := check.Call(passed.Call, tools(), check.Options{Analyzer: true})
		if refused != nil {
			t.Fatalf("what passed does not pass again: %s", refused.Message)
		}
		if diff := cmp.Diff(string(passed.Args), string(again.Args)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestStatusesOfTasksHaveOtherWords(t *testing.T) {
	t.Parallel()
	tracker, err := task.New("")
	if err != nil {
		t.Fatal(err)
	}
	plan := func(status string) string {
		return `{"command":"plan","task_list":[{"title":"a","status":` + status + `},{"title":"b"}]}`
	}
	for word, want := range map[string]string{
		`"todo"`: "todo", `"Pending"`: "todo", `"to_do"`: "todo", `"TO DO"`: "todo", `" to-do\n"`: "todo",
		`"In Progress"`: "in_progress", `"in-progress"`: "in_progress",
		`"Done"`: "done", `"completed"`: "done", `"COMPLETE"`: "done",
		`"doing"`: "", `"in  progress"`: "", `""`: "", `3`: "", `["done"]`: "",
	} {
		passed, refused := check.Call(call("task_tracker", plan(word)), []tool.Definition{tracker.Definition()}, check.Options{})
		if want == "" {
			if refused == nil {
				t.Errorf("%s passes as %s", word, passed.Args)
			}
			continue
		}
		if refused != nil {
			t.Errorf("%s: refusal = %s", word, refused.Message)
			continue
		}
		if !strings.Contains(string(passed.Action), `"status":"`+want+`"`) || passed.Call.Arguments != plan(word) {
			t.Errorf("%s: the action is %s of %s", word, passed.Action, passed.Call.Arguments)
		}
	}
}
