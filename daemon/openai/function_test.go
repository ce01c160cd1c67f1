package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ohgw/ohgw/daemon/openai"
)

// tool is a function as each of the APIs has it.
func tool(flat bool, members string) string {
	if flat {
		return `{"type":"function",` + members + `}`
	}
	return `{"type":"function","function":{` + members + `}}`
}

// asked is what both APIs read of a request with these tools and this choice.
func asked(flat bool, tools, choice string, more ...string) (*openai.ChatRequest, error) {
	more = append([]string{`"tools":[` + tools + `]`, `"tool_choice":` + choice}, more...)
	if !flat {
		return openai.ParseChat([]byte(body(user(`"hi"`), more...)), limits)
	}
	r, err := openai.ParseResponse([]byte(`{"model":"m","input":"hi",`+strings.Join(more, ",")+`}`), limits)
	if err != nil {
		return nil, err
	}
	if diff := cmp.Diff(r.Format, r.Echo.Format(), cmpopts.IgnoreFields(openai.Format{}, "Param")); diff != "" {
		return nil, fmt.Errorf("the response repeats another format: %s", diff)
	}
	return &r.ChatRequest, nil
}

// choose is a choice of a function, and of one from a list.
func choose(flat bool, name string) string { return tool(flat, `"name":"`+name+`"`) }

func allow(flat bool, mode, tools string) string {
	if flat {
		return `{"type":"allowed_tools","mode":"` + mode + `","tools":[` + tools + `]}`
	}
	return `{"type":"allowed_tools","allowed_tools":{"mode":"` + mode + `","tools":[` + tools + `]}}`
}

func TestAForcedFunctionIsAFormat(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["a"]}`
	for _, flat := range []bool{false, true} {
		f, g := tool(flat, `"name":"final_result","description":"d","strict":true,"parameters":`+schema), tool(flat, `"name":"g"`)
		path := "parameters"
		if !flat {
			path = "function.parameters"
		}
		required := func(schema string, i int) *openai.Format {
			return &openai.Format{Schema: json.RawMessage(schema), Param: fmt.Sprintf("tools[%d].%s", i, path), Function: "final_result", Finish: "tool_calls"}
		}
		named := *required(schema, 1)
		named.Finish = "stop"
		other := named
		other.Function, other.Schema, other.Param = "g", json.RawMessage(`{"type":"object","properties":{}}`), "tools[0]."+path
		for name, tc := range map[string]struct {
			tools, choice string
			want          *openai.Format
			ignored       bool
		}{
			"none":                      {f, `"none"`, nil, true},
			"auto":                      {f, `"auto"`, nil, true},
			"required":                  {f, `"required"`, required(schema, 0), false},
			"required of other tools":   {`{"type":"web_search"},` + f, `"required"`, required(schema, 1), false},
			"named":                     {g + "," + f, choose(flat, "final_result"), &named, false},
			"no parameters":             {g, choose(flat, "g"), &other, false},
			"allowed":                   {g + "," + f, allow(flat, "required", choose(flat, "final_result")), required(schema, 1), false},
			"one may be called":         {f, allow(flat, "auto", choose(flat, "final_result")), nil, true},
			"parameters without a type": {tool(flat, `"name":"final_result","parameters":{"required":["a"]}`), `"required"`, required(`{"type":"object","required":["a"]}`, 0), false},
		} {
			r, err := asked(flat, tc.tools, tc.choice)
			if err != nil {
				t.Errorf("%s (flat %t): %v", name, flat, err)
				continue
			}
			if diff := cmp.Diff(tc.want, r.Format); diff != "" {
				t.Errorf("%s (flat %t): %s", name, flat, diff)
			}
			if slices.Contains(r.Ignored, "tools") != tc.ignored {
				t.Errorf("%s (flat %t): ignored %v", name, flat, r.Ignored)
			}
		}
	}
}

func TestChoicesThatForceNoSingleFunction(t *testing.T) {
	t.Parallel()
	for _, flat := range []bool{false, true} {
		f, g := tool(flat, `"name":"final_result"`), tool(flat, `"name":"g"`)
		path, format, schema := "tools[0].", "text.format", `"text":{"format":{"type":"json_object"}}`
		if !flat {
			path, format, schema = "tools[0].function.", "response_format", `"response_format":{"type":"json_object"}`
		}
		for name, tc := range map[string]struct{ tools, choice, code, param, more string }{
			"a function of the client":  {g, `"required"`, openai.CodeUnsupportedValue, "tool_choice", `"a":1`},
			"one of them allowed":       {f + "," + g, allow(flat, "required", choose(flat, "g")), openai.CodeUnsupportedValue, "tool_choice", `"a":1`},
			"several":                   {f + "," + g, `"required"`, openai.CodeUnsupportedValue, "tool_choice", `"a":1`},
			"several allowed":           {f + "," + g, allow(flat, "required", choose(flat, "final_result")+","+choose(flat, "g")), openai.CodeUnsupportedValue, "tool_choice", `"a":1`},
			"none allowed":              {f, allow(flat, "required", ""), openai.CodeUnsupportedValue, "tool_choice", `"a":1`},
			"an odd mode":               {f, allow(flat, "maybe", choose(flat, "final_result")), openai.CodeUnsupportedValue, "tool_choice", `"a":1`},
			"no tools":                  {"", `"required"`, openai.CodeUnsupportedValue, "tool_choice", `"a":1`},
			"no function":               {`{"type":"web_search"},1`, `"required"`, openai.CodeUnsupportedValue, "tool_choice", `"a":1`},
			"an unknown name":           {f, choose(flat, "h"), openai.CodeUnsupportedValue, "tool_choice", `"a":1`},
			"no name":                   {f, `{"type":"function"}`, openai.CodeUnsupportedValue, "tool_choice", `"a":1`},
			"another tool":              {f, `{"type":"web_search"}`, openai.CodeUnsupportedValue, "tool_choice", `"a":1`},
			"a long name":               {tool(flat, `"name":"`+strings.Repeat("n", 129)+`"`), choose(flat, strings.Repeat("n", 129)), openai.CodeInvalidValue, path + "name", `"a":1`},
			"a name with a space":       {tool(flat, `"name":"f f"`), choose(flat, "f f"), openai.CodeInvalidValue, path + "name", `"a":1`},
			"parameters of a list":      {tool(flat, `"name":"final_result","parameters":[]`), `"required"`, openai.CodeInvalidType, path + "parameters", `"a":1`},
			"parameters of a text":      {tool(flat, `"name":"final_result","parameters":{"type":"string"}`), `"required"`, openai.CodeInvalidValue, path + "parameters.type", `"a":1`},
			"strict of a text":          {tool(flat, `"name":"final_result","strict":"yes"`), `"required"`, openai.CodeInvalidType, path + "strict", `"a":1`},
			"a description of a number": {tool(flat, `"name":"final_result","description":1`), `"required"`, openai.CodeInvalidType, path + "description", `"a":1`},
			"a format as well":          {f, `"required"`, openai.CodeUnsupportedValue, format, schema},
		} {
			_, err := asked(flat, tc.tools, tc.choice, tc.more)
			got, ok := errors.AsType[*openai.RequestError](err)
			if !ok || got.Code != tc.code || got.Param != tc.param {
				t.Errorf("%s (flat %t): %+v, want %s at %q", name, flat, err, tc.code, tc.param)
			}
			if ok && len(got.Message) > 300 {
				t.Errorf("message %q", got.Message)
			}
		}
		if r, err := asked(flat, f, `"required"`, `"response_format":{"type":"text"},"text":{"format":{"type":"text"}}`); err != nil || r.Format.Function != "final_result" {
			t.Errorf("with the format text: %v", err)
		}
		other := `"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{"type":"object", "properties":{}}}},"text":{"format":{"type":"json_schema","name":"f","schema":{"properties":{},"type":"object"}}}`
		if r, err := asked(flat, f, `"required"`, other); err != nil || r.Format.Function != "final_result" {
			t.Errorf("with the same schema: %v", err)
		}
		other = strings.ReplaceAll(other, `"properties":{}`, `"properties":{"a":{}}`)
		if _, err := asked(flat, f, `"required"`, other); err == nil {
			t.Error("two schemas are accepted")
		}
	}
}

// The arguments of a call that ohgw made are what the assistant said; those of
// others, and the results of calls, are left out.
func TestCallsInTheHistory(t *testing.T) {
	t.Parallel()
	id := openai.CallID("chatcmpl-"+strings.Repeat("0a", 16), "")
	for name, tc := range map[string]struct {
		id, arguments string
		want          []openai.Turn
	}{
		"ours":       {id, `{ \"a\": 1 }`, []openai.Turn{{Role: "user", Text: "one"}, {Role: "assistant", Text: `{"a":1}`}}},
		"another":    {"call_abc", `{}`, []openai.Turn{{Role: "user", Text: "one"}}},
		"not JSON":   {id, `{`, []openai.Turn{{Role: "user", Text: "one"}}},
		"of nothing": {"", `{}`, []openai.Turn{{Role: "user", Text: "one"}}},
	} {
		for _, content := range []string{"", `"content":null,`, `"content":"",`} {
			r, err := openai.ParseChat([]byte(body(`[{"role":"user","content":"one"},{"role":"assistant",`+content+`"tool_calls":[{"id":"`+tc.id+
				`","type":"function","function":{"name":"f","arguments":"`+tc.arguments+`"}}]},{"role":"tool","tool_call_id":"`+tc.id+`","content":"done"},{"role":"user","content":"two"}]`)), limits)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, r.History); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		r, err := openai.ParseResponse([]byte(`{"model":"m","input":[{"role":"user","content":"one"},{"type":"function_call","call_id":"`+tc.id+`","name":"f","arguments":"`+tc.arguments+
			`"},{"type":"function_call_output","call_id":"`+tc.id+`","output":"done"},{"role":"user","content":"two"}]}`), limits)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, r.History); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestACallFitsTheSchema(t *testing.T) {
	t.Parallel()
	c := openai.Completion{ID: "chatcmpl-1", Model: "m", Created: 1, Content: `{"a":"` + "\u2028" + `"}`, Function: "final_result", Finish: openai.FinishToolCalls}
	v := valid(t, schema(t, "chat-completion"), c.Append(nil))["choices"].([]any)[0].(map[string]any)
	message := v["message"].(map[string]any)
	want := []any{map[string]any{"id": "call_1", "type": "function", "function": map[string]any{"name": "final_result", "arguments": c.Content}}}
	if diff := cmp.Diff(want, message["tool_calls"]); diff != "" || message["content"] != nil || v["finish_reason"] != "tool_calls" {
		t.Errorf("the choice: %v %s", v, diff)
	}
	chunks := openai.NewChunks("chatcmpl-1", "m", 1, false)
	long := strings.Repeat("\x01", 3*openai.MaxFrame)
	joined := ""
	for _, chunk := range chunks.CallOf("call_1", "f", long) {
		if len(chunk) > openai.MaxFrame {
			t.Fatalf("a frame of %d bytes", len(chunk))
		}
		delta := valid(t, schema(t, "chat-completion-chunk"), chunk)["choices"].([]any)[0].(map[string]any)["delta"].(map[string]any)
		joined += delta["tool_calls"].([]any)[0].(map[string]any)["function"].(map[string]any)["arguments"].(string)
	}
	if joined != long {
		t.Errorf("%d bytes of arguments, want %d", len(joined), len(long))
	}
}
