package mcp_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp"
)

func toolNames(c *mcp.Client) []string {
	var names []string
	for _, t := range c.Tools() {
		names = append(names, t.Definition().Name)
	}
	return names
}

func listOf(t *testing.T, names ...string) string {
	t.Helper()
	var list []map[string]any
	for _, name := range names {
		list = append(list, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Each name can be called, and means one tool: the server hears its own name.
func TestNamesAreMadeToFit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("l", 65)
	for name, test := range map[string]struct {
		lists map[string][]string // by server
		want  []string            // "*" is a mark
	}{
		"as they are":           {map[string][]string{"s": {"ok", "a-b"}}, []string{"ok", "a-b"}},
		"too long":              {map[string][]string{"s": {"ok", long}}, []string{"ok", long[:55] + "_*"}},
		"long and alike":        {map[string][]string{"s": {long + "1", long + "2"}}, []string{long[:55] + "_*", long[:55] + "_*"}},
		"no name":               {map[string][]string{"s": {"ok", ""}}, []string{"ok", "tool"}},
		"one has the other's":   {map[string][]string{"s": {"a.b", "a_b", "a b"}}, []string{"a_b_*", "a_b", "a_b_*"}},
		"other scripts":         {map[string][]string{"s": {"天気", "時刻"}}, []string{"__", "___*"}},
		"too long with prefix":  {map[string][]string{"s": {long[:60]}, "second": {"ok"}}, []string{("s_" + long)[:62], "second_ok"}},
		"longer with prefix":    {map[string][]string{"a server": {long[:60]}, "second": {""}}, []string{("a_server_" + long)[:55] + "_*", "second_tool"}},
		"servers alike":         {map[string][]string{"a.b": {"x.y"}, "a_b": {"x y"}}, []string{"a_b_x_y", "a_b_x_y_*"}},
		"a server like another": {map[string][]string{"a": {"b_c"}, "a_b": {"c", "d"}}, []string{"a_b_c", "a_b_c_*", "a_b_d"}},
		"dotted like MCP":       {map[string][]string{"s": {"admin.tools.list", "admin/tools/list"}}, []string{"admin_tools_list", "admin_tools_list_*"}},
		"with another's mark":   {map[string][]string{"s": {"x.y", "x_y", "x_y_a15cbd34"}}, []string{"x_y_*", "x_y", "x_y_a15cbd34"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := map[string]json.RawMessage{}
			for server, list := range test.lists {
				settings[server] = json.RawMessage(raw{Tools: listOf(t, list...)}.settings(t))
			}
			data, err := json.Marshal(settings)
			if err != nil {
				t.Fatal(err)
			}
			c := connect(t, config(string(data)))
			got := toolNames(c)
			for i, want := range test.want {
				pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\*`, "[0-9a-f]{8}") + "$"
				if i >= len(got) || !regexp.MustCompile(pattern).MatchString(got[i]) || len(got[i]) > 64 {
					t.Fatalf("tool names = %q, want %q", got, test.want)
				}
			}
			if len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(test.want) {
				t.Errorf("%q has other names than %q, or one twice", got, test.want)
			}
			if again := toolNames(connect(t, config(string(data)))); !slices.Equal(again, got) {
				t.Errorf("the names are %q, and then %q", got, again)
			}
			heard := map[string]bool{}
			for _, called := range got {
				text, isError := call(t, c, called, `{}`)
				if isError || heard[text[strings.Index(text, "|"):]] {
					t.Errorf("%s: result = %s", called, text)
				}
				heard[text[strings.Index(text, "|"):]] = true
			}
		})
	}
}

// A tool that is odd does not take the others away.
func TestAnOddToolLeavesTheOthers(t *testing.T) {
	t.Parallel()
	const plain = `{"type":"object"}`
	big := `{"$defs":{"a":{"type":"object","properties":{"x":{"$ref":"#/$defs/b"},"y":{"$ref":"#/$defs/b"}}}`
	for c := 'b'; c < 'p'; c++ {
		big += fmt.Sprintf(`,"%c":{"type":"object","properties":{"x":{"$ref":"#/$defs/%c"},"y":{"$ref":"#/$defs/%c"}}}`, c, c+1, c+1)
	}
	big += `,"p":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`
	for name, test := range map[string]struct{ schema, want, told string }{
		"true":              {`true`, plain, ""},
		"null":              {`null`, plain, ""},
		"false":             {`false`, plain, "is not that of an object"},
		"a list":            {`[{"type":"object"}]`, plain, "is not that of an object"},
		"a text":            {`"object"`, plain, "is not that of an object"},
		"a number":          {`7`, plain, "is not that of an object"},
		"too big":           {big, "", "too big"},
		"of a text":         {`{"type":"string"}`, plain, ""},
		"required a text":   {`{"type":"object","required":"a"}`, plain, ""},
		"required numbers":  {`{"type":"object","required":[1]}`, plain, ""},
		"required null":     {`{"type":"object","required":null}`, plain, ""},
		"properties a list": {`{"type":"object","properties":["a"]}`, plain, ""},
		"other types": {
			`{"properties":{"a":{"type":"str"},"b":{"type":["int","null","Integer"]},"c":{"type":"any"},"d":{"type":5},"e":{"type":"file"},"f":{"type":[]}}}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":["integer","null"]},"c":{},"d":{},"e":{},"f":{}},"type":"object"}`, "",
		},
		"members": {
			`{"properties":{"a":7,"b":{"required":true,"description":["x"],"enum":"y"},"c":{"enum":[]},"d":{"type":"array","items":"string"}}}`,
			`{"properties":{"a":{},"b":{},"c":{},"d":{"type":"array"}},"type":"object"}`, "",
		},
		"alternatives": {
			`{"properties":{"a":{"anyOf":{"type":"string"}},"b":{"oneOf":[7,{"type":"str"}]},"c":{"allOf":[]}}}`,
			`{"properties":{"a":{},"b":{"oneOf":[{},{"type":"string"}]},"c":{}},"type":"object"}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := `[{"name":"odd","inputSchema":` + test.schema + `},{"name":"ok","inputSchema":{"type":"object"}}]`
			c := connect(t, config(`{"srv":`+raw{Tools: list, Result: `{"content":[]}`}.settings(t)+`}`))
			want := []string{"odd", "ok"}
			if test.want == "" {
				want = want[1:]
			}
			if diff := cmp.Diff(want, toolNames(c)); diff != "" {
				t.Fatal(diff)
			}
			if reason := c.Status()[0].Reason; !strings.Contains(reason, test.told) || test.told == "" && strings.Contains(reason, "schema") {
				t.Errorf("the status says %q", reason)
			}
			if (len(c.Partial()) > 0) != (test.want == "") {
				t.Error(c.Partial())
			}
			if test.want == "" {
				return
			}
			d := find(t, c, "odd").Definition()
			if got := string(d.Parameters); got != test.want {
				t.Errorf("parameters = %s, want %s", got, test.want)
			}
			var stored struct {
				InputSchema map[string]any `json:"inputSchema"`
			}
			if err := json.Unmarshal(d.MCP, &stored); err != nil || stored.InputSchema == nil {
				t.Errorf("%s: %v", d.MCP, err)
			}
		})
	}
}

func TestOfTooManyToolsOrEqualOnesSomeAreLeftOut(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 520 {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	for want, list := range map[string][]string{
		"those after its first 512":                  names,
		`"twice": the server has two of that name`:   {"twice", "once", "twice"},
		`"t": the server has two of that name; "t":`: {"t", "t", "t"},
		`; and 2 more`: {"t", "t", "t", "t", "t", "t", "t", "t"},
		`"hides <secret-hidden>": the server has two `: {"hides hunter2-hunter2", "hides hunter2-hunter2"},
	} {
		c := connect(t, config(`{"srv":`+raw{Tools: listOf(t, list...)}.settings(t)+`}`))
		if n := len(c.Tools()); n != min(512, len(slices.Compact(slices.Sorted(slices.Values(list))))) {
			t.Errorf("%s: %d tools", want, n)
		}
		if p := c.Partial(); len(p) != 1 || !strings.Contains(p[0].Error(), want) || !strings.Contains(c.Status()[0].Reason, want) {
			t.Errorf("the partial tools: %v, the reason %+v; want %s", p, c.Status()[0].Reason, want)
		}
	}
}
