package textcall_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm/textcall"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
)

func tools() []wire.Tool {
	return []wire.Tool{
		{Name: "terminal", Description: "Runs a command.", Parameters: json.RawMessage(`{"type":"object","properties":{
			"security_risk":{"type":"string","enum":["LOW","HIGH"]},"command":{"type":"string","description":"What to run."},
			"timeout":{"type":"number"},"is_input":{"type":"boolean"}},"required":["security_risk","command"]}`)},
		{Name: "file_editor", Parameters: json.RawMessage(`{"type":"object","properties":{
			"command":{"type":"string","enum":["view","create"]},"path":{"type":"string"},"file_text":{"type":"string"},
			"view_range":{"type":"array","items":{"type":"integer"}},"line":{"anyOf":[{"type":"null"},{"type":"integer"}]}},"required":["command","path"]}`)},
		{Name: "tasks", Parameters: json.RawMessage(`{"type":"object","properties":{"list":{"type":"array","items":{
			"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}},"extra":{"type":["object","null"]}}}`)},
		{Name: "nothing", Parameters: json.RawMessage(`{"type":"object"}`)},
	}
}

// read reads an answer in pieces of n bytes. It fails the test if the pieces
// that were handed on are not what the answer turned out to be.
func read(t *testing.T, answer string, n int, cut bool) (string, *event.ToolCall, error) {
	t.Helper()
	var text, args strings.Builder
	var id, name string
	r := textcall.NewReader(tools(), "toolu_01", func(d wire.Delta) {
		text.WriteString(d.Text)
		if d.Call != nil {
			id, name = id+d.Call.ID, name+d.Call.Name
			args.WriteString(d.Call.Arguments)
		}
	})
	for rest := answer; rest != ""; {
		k := min(n, len(rest))
		r.Write(rest[:k])
		rest = rest[k:]
	}
	got, call, err := r.Finish(cut)
	if text.String() != got {
		t.Errorf("pieces of %d bytes: handed on %q, the text is %q", n, &text, got)
	}
	if call != nil && (args.String() != call.Arguments || id != call.ID || name != call.Name) {
		t.Errorf("pieces of %d bytes: handed on %s %s %s, the call is %v", n, id, name, &args, *call)
	}
	return got, call, err
}

func TestACallIsReadWhereverTheAnswerIsCut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ answer, text, name, args string }{
		"plain": {
			"I look.\n\n<function=terminal>\n<parameter=command>ls -l</parameter>\n</function>",
			"I look.", "terminal", `{"command":"ls -l"}`,
		},
		"no text":           {"<function=terminal><parameter=command>ls</parameter></function>", "", "terminal", `{"command":"ls"}`},
		"no parameters":     {"<function=nothing>\n</function>", "", "nothing", `{}`},
		"tool that is none": {"<function=nope>\n<parameter=a>1</parameter>\n</function>", "", "nope", `{"a":"1"}`},
		"several lines, indented": {
			"<function=file_editor>\n<parameter=command>create</parameter>\n<parameter=path>/a</parameter>\n" +
				"<parameter=file_text>\n    if x < 1:\n        \"y\"\n\n</parameter>\n</function>",
			"", "file_editor", `{"command":"create","path":"/a","file_text":"    if x < 1:\n        \"y\"\n"}`,
		},
		"value with tags": {
			"<function=terminal>\n<parameter=command>echo '</p> <function=x> <parameter=y>'</parameter>\n</function>",
			"", "terminal", `{"command":"echo '</p> <function=x> <parameter=y>'"}`,
		},
		"empty value": {"<function=terminal>\n<parameter=command>\n</parameter>\n</function>", "", "terminal", `{"command":""}`},
		"types": {
			"<function=terminal>\n<parameter=command>ls</parameter>\n<parameter=timeout> 1.5 </parameter>\n<parameter=is_input>True</parameter>\n</function>",
			"", "terminal", `{"command":"ls","timeout":1.5,"is_input":true}`,
		},
		"lists and numbers": {
			"<function=file_editor><parameter=command>\nview\n</parameter><parameter=path>/a</parameter><parameter=view_range>[1, 20]</parameter><parameter=line>7</parameter></function>",
			"", "file_editor", `{"command":"view","path":"/a","view_range":[1, 20],"line":7}`,
		},
		"objects": {
			`<function=tasks><parameter=list>[{"title":"a"}]</parameter><parameter=extra>{"b":1}</parameter></function>`,
			"", "tasks", `{"list":[{"title":"a"}],"extra":{"b":1}}`,
		},
		"second call": {
			"<function=terminal>\n<parameter=command>a</parameter>\n</function>\n<function=terminal>\n<parameter=command>b</parameter>\n</function>",
			"", "terminal", `{"command":"a"}`,
		},
		"stop word removed":    {"<function=terminal>\n<parameter=command>ls</parameter>\n", "", "terminal", `{"command":"ls"}`},
		"half a closing tag":   {"<function=terminal>\n<parameter=command>ls</parameter>\n</", "", "terminal", `{"command":"ls"}`},
		"parameter not closed": {"<function=terminal>\n<parameter=command>ls\n</function>", "", "terminal", `{"command":"ls"}`},
		"parameter and all":    {"<function=terminal>\n<parameter=command>\nls -l\n</", "", "terminal", `{"command":"ls -l"}`},
		"name not closed":      {"<function=nothing</", "", "nothing", `{}`},
		"= for >":              {"<function=terminal>\n<parameter=command=ls -l</parameter>\n</function>", "", "terminal", `{"command":"ls -l"}`},
		"end of thinking":      {"hm hm\n</think>\n\n<function=terminal>\n<parameter=command>ls</parameter>\n</function>", "hm hm", "terminal", `{"command":"ls"}`},
		"wrapped":              {"Yes.\n<tool_call>\n<function=terminal>\n<parameter=command>ls</parameter>\n</function>\n</tool_call>", "Yes.", "terminal", `{"command":"ls"}`},
		"thinking, wrapped":    {"</think>\n<tool_call>\n<function=nothing>\n</function></tool_call>", "", "nothing", `{}`},
		"no call":              {"  It is 1 < 2, </think> and <tool_call> is a tag. ", "It is 1 < 2, </think> and <tool_call> is a tag.", "", ""},
		"ends like a tag":      {"a <func", "a <func", "", ""},
		"nothing at all":       {"", "", "", ""},
		"risk is not checked":  {"<function=terminal>\n<parameter=security_risk>maybe</parameter><parameter=command>ls</parameter></function>", "", "terminal", `{"security_risk":"maybe","command":"ls"}`},
		"characters in pieces": {"Äöü 😀 <function=terminal>\n<parameter=command>echo 😀é</parameter>\n</function>", "Äöü 😀", "terminal", `{"command":"echo 😀é"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= max(1, len(tt.answer)); n++ {
				text, call, err := read(t, tt.answer, n, false)
				if err != nil {
					t.Fatalf("pieces of %d bytes: %v", n, err)
				}
				if text != tt.text {
					t.Errorf("pieces of %d bytes: text %q, want %q", n, text, tt.text)
				}
				if call == nil {
					call = &event.ToolCall{}
				}
				if call.Name != tt.name || call.Arguments != tt.args {
					t.Errorf("pieces of %d bytes: %s %s, want %s %s", n, call.Name, call.Arguments, tt.name, tt.args)
				}
			}
		})
	}
}

// A reader that looks at a value again with each piece needs hours for these.
func TestALongValueInSmallPiecesIsReadOnce(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	for name, tt := range map[string]struct{ tool, param, begin, value, end string }{
		"a list":                     {"file_editor", "view_range", "[1", strings.Repeat(" ", size), "]"},
		"a text":                     {"terminal", "command", "", strings.Repeat("x", size), "y"},
		"a text of white space":      {"terminal", "command", "a", strings.Repeat(" \n", size/2), "b"},
		"a text behind a stop word":  {"terminal", "command", "a</function>", strings.Repeat("x", size), "b"},
		"half a stop word, repeated": {"terminal", "command", "a", strings.Repeat("</func", size/6), "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value := tt.begin + tt.value + tt.end
			r := textcall.NewReader(tools(), "toolu_01", nil)
			for rest := "<function=" + tt.tool + ">\n<parameter=" + tt.param + ">" + value + "</parameter>\n</function>"; rest != ""; {
				n := min(3, len(rest))
				r.Write(rest[:n])
				rest = rest[n:]
			}
			_, call, err := r.Finish(false)
			if broken := (*textcall.Error)(nil); errors.As(err, &broken) && strings.Contains(broken.Msg, "lacks") {
				return // the other parameters are not what this is about
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(call.Arguments) < len(value) {
				t.Errorf("%d bytes of arguments, want at least %d", len(call.Arguments), len(value))
			}
		})
	}
}

func TestACallThatBreaksTheRulesIsExplained(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer string
		cut    bool
		want   string
	}{
		"unknown parameter": {
			answer: "<function=terminal>\n<parameter=cmd>ls</parameter>\n</function>",
			want:   `The tool "terminal" has no parameter "cmd". It has: security_risk, command, timeout, is_input.`,
		},
		"missing parameter": {
			answer: "<function=file_editor>\n<parameter=command>view</parameter>\n</function>",
			want:   `The call of "file_editor" lacks what it needs: path.`,
		},
		"no integer": {
			answer: "<function=file_editor>\n<parameter=line>7.5</parameter>\n</function>",
			want:   `The parameter "line" of "file_editor" must be of type integer.`,
		},
		"no number": {
			answer: "<function=terminal>\n<parameter=timeout>soon</parameter>\n</function>",
			want:   `The parameter "timeout" of "terminal" must be of type number.`,
		},
		"no boolean": {
			answer: "<function=terminal>\n<parameter=is_input>perhaps</parameter>\n</function>",
			want:   `The parameter "is_input" of "terminal" must be of type boolean.`,
		},
		"no list": {
			answer: "<function=file_editor>\n<parameter=view_range>1-20</parameter>\n</function>",
			want:   `The parameter "view_range" of "file_editor" must be of type array.`,
		},
		"no object": {
			answer: "<function=tasks>\n<parameter=extra>[1]</parameter>\n</function>",
			want:   `The parameter "extra" of "tasks" must be of type object.`,
		},
		"not allowed": {
			answer: "<function=file_editor>\n<parameter=command>edit</parameter>\n</function>",
			want:   `The parameter "command" of "file_editor" must be one of: view, create.`,
		},
		"cut at the limit": {
			answer: "<function=terminal>\n<parameter=command>rm -rf build/", cut: true,
			want: "The call was not complete when the answer reached its length limit, and did not run. Make it shorter, or do it in steps.",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= len(tt.answer); n++ {
				_, call, err := read(t, "Look: "+tt.answer, n, tt.cut)
				broken, ok := errors.AsType[*textcall.Error](err)
				if !ok || call != nil {
					t.Fatalf("pieces of %d bytes: call %v, error %v; want an Error", n, call, err)
				}
				if broken.Msg != tt.want {
					t.Fatalf("pieces of %d bytes: %q, want %q", n, broken.Msg, tt.want)
				}
			}
		})
	}
}

func TestEncodeWritesCallsAndResultsAsText(t *testing.T) {
	t.Parallel()
	history := []event.LLMMessage{
		{Role: "system", Content: []event.Content{event.Text("You are an agent."), event.Text("Today is Monday.")}},
		{Role: "user", Content: []event.Content{event.Text("Do it.")}},
		{Role: "assistant", Content: []event.Content{event.Text("I will.")}, ToolCalls: []event.ToolCall{
			{ID: "a", Name: "terminal", Arguments: `{"command":"ls\npwd","timeout":2,"env":{"A":"b"}}`},
			{ID: "b", Name: "nothing", Arguments: `{}`},
		}},
		{Role: "tool", ToolCallID: "a", Name: "terminal", Content: []event.Content{event.Text("x"), event.Images("data:image/png;base64,AA==")}},
		{Role: "tool", ToolCallID: "b", Name: "nothing", Content: []event.Content{event.Images("u")}},
		{Role: "user", Content: []event.Content{event.Text("Go on.")}},
		{Role: "assistant", Content: []event.Content{event.Text("Done.")}},
	}
	before, _ := json.Marshal(history)
	got := textcall.Encode(history, tools()[3:], false)
	after, _ := json.Marshal(history)
	if string(before) != string(after) {
		t.Error("Encode changed the history it was given")
	}
	if static := got[0].Content[0].Text; !strings.HasPrefix(static, "You are an agent.\n\n# Calling tools") || !strings.HasSuffix(static, "## nothing\n\n\n\nIt has no parameters.\n") {
		t.Errorf("static block of the system message:\n%s", static)
	}
	want := []event.LLMMessage{
		{Role: "system", Content: []event.Content{got[0].Content[0], event.Text("Today is Monday.")}},
		{Role: "user", Content: []event.Content{event.Text("Do it.")}},
		{Role: "assistant", Content: []event.Content{event.Text(
			"I will.\n\n<function=terminal>\n<parameter=command>\nls\npwd\n</parameter>\n<parameter=timeout>2</parameter>\n<parameter=env>{\"A\":\"b\"}</parameter>\n</function>")}},
		{Role: "user", Content: []event.Content{event.Text("EXECUTION RESULT of [terminal]:\nx"), event.Images("data:image/png;base64,AA==")}},
		{Role: "assistant", Content: []event.Content{event.Text("<function=nothing>\n</function>")}},
		{Role: "user", Content: []event.Content{event.Text("EXECUTION RESULT of [nothing]:\n"), event.Images("u"), event.Text("Go on.")}},
		{Role: "assistant", Content: []event.Content{event.Text("Done.")}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestToolsAreDescribedWithTheirParameters(t *testing.T) {
	t.Parallel()
	got := textcall.Encode(nil, tools(), false)[0].Content[0].Text
	for _, want := range []string{
		"## terminal\n\nRuns a command.\n\nParameters:\n- security_risk (string, required) One of: LOW, HIGH.\n- command (string, required): What to run.\n- timeout (number, optional)\n",
		"- view_range (list of integer, optional)\n- line (integer, optional)\n",
		"- list (list of object, optional)\n  - title (string, required)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the description lacks\n%s\nin\n%s", want, got)
		}
	}
}

func TestTheExampleUsesOnlyWhatIsOffered(t *testing.T) {
	t.Parallel()
	task := []event.LLMMessage{{Role: "user", Content: []event.Content{event.Text("My task.")}}, {Role: "user", Content: []event.Content{event.Text("More.")}}}
	content := textcall.Encode(task, tools(), true)[1].Content
	if len(content) != 4 || content[1].Text != "My task." || content[3].Text != "More." {
		t.Fatalf("content %v, want the example, the task, a reminder, the rest", content)
	}
	example := content[0].Text
	if !strings.Contains(example, "<function=terminal>\n<parameter=security_risk>LOW</parameter>\n<parameter=command>ls</parameter>\n</function>") {
		t.Errorf("the example shows no call of terminal:\n%s", example)
	}
	if strings.Contains(example, "finish") || strings.Contains(example, "summary") {
		t.Errorf("the example uses what there is not:\n%s", example)
	}
	if content := textcall.Encode(task, tools()[3:], true)[1].Content; len(content) != 2 {
		t.Errorf("content %v, want no example without a tool for it", content)
	}
}

func TestNextIDIsNeverInTheHistory(t *testing.T) {
	t.Parallel()
	call := func(id string) event.LLMMessage {
		return event.LLMMessage{Role: "assistant", ToolCalls: []event.ToolCall{{ID: id}}}
	}
	tests := []struct {
		history []event.LLMMessage
		want    string
	}{
		{nil, "toolu_01"},
		{[]event.LLMMessage{call("toolu_01"), call("toolu_02")}, "toolu_03"},
		{[]event.LLMMessage{call("call_x")}, "toolu_02"},
		{[]event.LLMMessage{call("toolu_41")}, "toolu_42"}, // earlier ones were condensed
		{[]event.LLMMessage{call("toolu_99")}, "toolu_100"},
	}
	for _, tt := range tests {
		if got := textcall.NextID(tt.history); got != tt.want {
			t.Errorf("after %v: %s, want %s", tt.history, got, tt.want)
		}
	}
}

// What Encode writes, a Reader reads.
func FuzzRoundTrip(f *testing.F) {
	f.Add("ls\n", "text", 3)
	f.Add("  a\n\n b </par <function", "", 1)
	f.Fuzz(func(t *testing.T, command, say string, n int) {
		if strings.Contains(command, "</parameter>") || strings.Contains(say, "<function=") || !json.Valid([]byte(`"`+say+`"`)) {
			return
		}
		args, err := wire.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		written := textcall.Encode([]event.LLMMessage{{
			Role: "assistant", Content: []event.Content{event.Text(say)},
			ToolCalls: []event.ToolCall{{Name: "terminal", Arguments: string(args)}},
		}}, tools(), false)[1].Content[0].Text
		_, call, err := read(t, written, max(1, n), false)
		if err != nil || call == nil {
			t.Fatalf("%q: call %v, error %v", written, call, err)
		}
		var got struct {
			Command string `json:"command"`
		}
		if err := json.Unmarshal([]byte(call.Arguments), &got); err != nil {
			t.Fatalf("%s: %v", call.Arguments, err)
		}
		var want string
		quoted, _ := wire.Marshal(command)
		_ = json.Unmarshal(quoted, &want) // invalid UTF-8 does not survive JSON
		if got.Command != want {
			t.Errorf("command %q, want %q", got.Command, want)
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add("a <function=terminal>\n<parameter=command>ls</parameter>\n</function>", 2, false)
	f.Add("<function=file_editor><parameter=line=x</", 1, true)
	f.Add("<function=x><parameter=y>00< ", 1, false)
	f.Add("<function=x><parameter=y>00</</function0", 1, false)
	f.Fuzz(func(t *testing.T, answer string, n int, cut bool) {
		text, call, err := read(t, answer, max(1, n), cut)
		wholeText, wholeCall, wholeErr := read(t, answer, len(answer)+1, cut)
		if text != wholeText || !cmp.Equal(call, wholeCall) || (err == nil) != (wholeErr == nil) {
			t.Errorf("in pieces %q %v %v, at once %q %v %v", text, call, err, wholeText, wholeCall, wholeErr)
		}
		if call != nil && !json.Valid([]byte(call.Arguments)) {
			t.Errorf("arguments %q are no JSON", call.Arguments)
		}
	})
}
