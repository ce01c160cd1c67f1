package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// deep is a value of many lists in each other.
var deep = strings.Repeat("[", 1100) + strings.Repeat("]", 1100)

// One tool that is not as MCP says costs neither the server nor its other tools.
func TestAToolThatCannotBeReadLeavesTheOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ odd, left, told string }{
		"null":                       {`null`, "", `"": it is not an object`},
		"a text":                     {`"odd"`, "", `"": it is not an object`},
		"a list":                     {`[{"name":"odd"}]`, "", `"": it is not an object`},
		"a name that is a number":    {`{"name":5,"inputSchema":{}}`, "", `"5": its name is not a text`},
		"a name that is a list":      {`{"name":["odd"],"inputSchema":{}}`, "", `its name is not a text`},
		"a schema without an end":    {`{"name":"odd","inputSchema":{"x":` + deep + `}}`, "", `"odd": it is nested too deeply`},
		"a description that is none": {`{"name":"odd","description":false}`, "odd", ""},
		"a description in lines":     {`{"name":"odd","description":["Reads.","Writes."]}`, "odd", ""},
		"hints in words":             {`{"name":"odd","annotations":{"readOnlyHint":"true","openWorldHint":"No"}}`, "odd", `"odd": annotations.openWorldHint`},
		"hints in numbers":           {`{"name":"odd","annotations":{"destructiveHint":0,"title":7}}`, "odd", ""},
		"annotations in a text":      {`{"name":"odd","annotations":"readonly"}`, "odd", `"odd": annotations`},
		"_meta of PHP":               {`{"name":"odd","_meta":[],"annotations":[]}`, "odd", ""},
		"_meta in a list":            {`{"name":"odd","_meta":[1]}`, "odd", `"odd": _meta`},
		"one icon":                   {`{"name":"odd","icons":{"src":"x"},"title":{"en":"Odd"}}`, "odd", `"odd": icons`},
		"many members":               {`{"name":"odd","description":5` + manyMembers() + `}`, "", `"odd": it cannot be read`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := `[` + test.odd + `,{"name":"ok","inputSchema":{"type":"object"}}]`
			for way, settings := range (raw{Tools: list}).everyWay(t) {
				c := connect(t, config(`{"srv":`+settings+`}`))
				want := []string{"ok"}
				if test.left != "" {
					want = []string{test.left, "ok"}
				}
				if diff := cmp.Diff(want, toolNames(c)); diff != "" {
					t.Fatalf("%s: %s", way, diff)
				}
				if reason := c.Status()[0].Reason; !strings.Contains(reason, test.told) || test.told == "" && reason != "" {
					t.Errorf("%s: the status says %q", way, reason)
				}
				if (len(c.Partial()) > 0) != (test.left == "") {
					t.Errorf("%s: Partial = %v", way, c.Partial())
				}
				for _, called := range want {
					if got, isError := call(t, c, called, `{}`); isError || got != "[result of "+called+"]|"+called {
						t.Errorf("%s: result = %s", way, got)
					}
				}
				if strings.Contains(string(find(t, c, want[0]).Definition().MCP), "ohgw") {
					t.Errorf("%s: definition = %s", way, find(t, c, want[0]).Definition().MCP)
				}
			}
		})
	}
}

func manyMembers() string {
	var b strings.Builder
	for i := range 150 {
		fmt.Fprintf(&b, `,"x%d":0`, i)
	}
	return b.String()
}

// Nor does the rest of what a server says of itself.
func TestAPageOrAGreetingThatIsOddIsRead(t *testing.T) {
	t.Parallel()
	const tools = `"tools":` + oneTool
	for name, r := range map[string]raw{
		"no cursor":               {Page: `{` + tools + `,"nextCursor":null}`},
		"a cursor that is a list": {Page: `{"nextCursor":[7],` + tools + `}`},
		"_meta of a page":         {Page: `{"_meta":"x",` + tools + `,"ttlMs":"soon"}`},
		"capabilities of PHP":     {Tools: oneTool, Hello: `{"protocolVersion":"2025-06-18","capabilities":{"tools":[],"logging":[],"experimental":[]},"serverInfo":{"name":"raw","version":"1"}}`},
		"a version in numbers":    {Tools: oneTool, Hello: `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":"false"}},"serverInfo":{"name":"raw","version":1.2,"icons":"x"},"instructions":["Be","brief"]}`},
		"no list of tools":        {Page: `{"tools":{"get":{}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, settings := range r.everyWay(t) {
				c := connect(t, config(`{"srv":`+settings+`}`))
				if len(c.Warnings()) > 0 {
					t.Errorf("%s: warnings = %v", way, c.Warnings())
					continue
				}
				if name == "no list of tools" {
					if reason := c.Status()[0].Reason; len(c.Tools()) > 0 || !strings.Contains(reason, "its list of tools is not a list") {
						t.Errorf("%s: the status says %q", way, reason)
					}
				} else if got, isError := call(t, c, "get", `{}`); isError || got != "[result of get]|get" {
					t.Errorf("%s: result = %s", way, got)
				}
			}
		})
	}
}

// A part of a result that cannot be read is told, with the other parts.
func TestAPartThatCannotBeReadIsToldWithTheOthers(t *testing.T) {
	t.Parallel()
	const sent = "[a part of the result, as the server sent it]\n"
	for name, test := range map[string]struct{ content, want string }{
		"an unknown type":          {`[{"type":"json","json":{"a": "hunter2-hunter2"}}]`, sent + `{"type":"json","json":{"a":"<secret-hidden>"}}`},
		"no type":                  {`[{"text":"x"}]`, sent + `{"text":"x"}`},
		"null":                     {`[null]`, sent + `null`},
		"a plain text":             {`["plain <b>"]`, "plain <b>"},
		"a text alone":             {`"alone"`, "alone"},
		"a part alone":             {`{"type":"text","text":"alone"}`, "alone"},
		"a text that is an object": {`[{"type":"text","text":{"n":1}}]`, `{"n":1}`},
		"a text that is a number":  {`[{"type":"text","text":12.50}]`, `12.50`},
		"annotations":              {`[{"type":"text","text":"x","annotations":{"priority":"high","audience":"user"}}]`, "x"},
		"the size of a link":       {`[{"type":"resource_link","uri":"a:b","name":"n","size":"12"}]`, "[link to a resource: n, a:b, 12 bytes]"},
		"no picture":               {`[{"type":"image","mimeType":"image/png","data":"!!"}]`, `[A part of the result is left out: type "image", image/png, 51 bytes, it cannot be read. Only texts and pictures can be shown.]`},
		"a picture as data URL":    {`[{"type":"image","mimeType":"x","data":"data:text/plain;base64,aGk_"}]`, "[A picture of the result is left out: x, 3 bytes. Only texts and pictures can be shown.]"},
		"a blob of no bytes":       {`[{"type":"resource","resource":{"uri":"x://b","blob":{"a":1}}}]`, `[A part of the result is left out: type "resource", x://b, 61 bytes, it cannot be read. Only texts and pictures can be shown.]`},
		"a resource in a text":     {`[{"type":"resource","resource":"x://b"}]`, sent + `{"type":"resource","resource":"x://b"}`},
		"a resource of an object":  {`[{"type":"resource","resource":{"uri":"x://j","text":{"a":[1]}}}]`, "[resource x://j]\n" + `{"a":[1]}`},
		"deep":                     {`[{"type":"odd","x":` + deep + `}]`, `[A part of the result is left out: type "odd", 2219 bytes, it cannot be read. Only texts and pictures can be shown.]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := test.content
			want := "[result of get]|" + test.want
			if strings.HasPrefix(content, "[") {
				content = `[{"type":"text","text":"before"},` + content[1:len(content)-1] + `,{"type":"text","text":"after"}]`
				want = "[result of get]|before|" + test.want + "|after"
			}
			for way, settings := range (raw{Tools: oneTool, Result: `{"content":` + content + `,"_meta":[1]}`}).everyWay(t) {
				c := connect(t, config(`{"srv":`+settings+`}`))
				if got, isError := call(t, c, "get", `{}`); got != want || isError {
					t.Errorf("%s: result = %.500q, want %.500q", way, got, want)
				}
			}
		})
	}
}

// Whether a result is an error is read from every form of it.
func TestAResultSaysInEachFormThatItIsAnError(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]bool{`"true"`: true, `"False"`: false, `1`: true, `0`: false, `null`: false, `"no"`: false, `[]`: false} {
		for way, settings := range (raw{Tools: oneTool, Result: `{"isError":` + form + `,"content":[{"type":"text","text":"x"}]}`}).everyWay(t) {
			c := connect(t, config(`{"srv":`+settings+`}`))
			if got, isError := call(t, c, "get", `{}`); isError != want || got != "[result of get]|x" {
				t.Errorf("%s, %s: is an error: %v, result %s", form, way, isError, got)
			}
		}
	}
}
