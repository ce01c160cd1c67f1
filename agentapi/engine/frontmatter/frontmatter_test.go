package frontmatter_test

import (
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/frontmatter"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	type parts struct {
		head, body string
		first      int
		closed     bool
	}
	for text, want := range map[string]parts{
		"":                                      {"", "", 0, true},
		"text":                                  {"", "text", 0, true},
		"a\n---\nb\n---\nc":                     {"", "a\n---\nb\n---\nc", 0, true},
		"---\nname: x\n---\nbody\n":             {"\nname: x\n", "body", 1, true},
		"---\r\nname: x\r\n---\r\nbody\r\nb":    {"\nname: x\n", "body\nb", 1, true},
		"---\rname: x\r---\rbody":               {"\nname: x\n", "body", 1, true},
		"\ufeff---\nname: x\n---\nbody":         {"\nname: x\n", "body", 1, true},
		"\n\n---\nname: x\n---\nbody":           {"\nname: x\n", "body", 3, true},
		"-----  \nname: x\n----\t\nbody":        {"\nname: x\n", "body", 1, true},
		"---\n---\nbody":                        {"\n", "body", 1, true},
		"---\nname: x\n---":                     {"\nname: x\n", "", 1, true},
		"---\nname: x\n---\na\n---\nb":          {"\nname: x\n", "a\n---\nb", 1, true},
		"---\nname: x\nbody":                    {"", "---\nname: x\nbody", 0, false},
		"--- # not a line of dashes\nname: x\n": {"", "--- # not a line of dashes\nname: x", 0, true},
	} {
		head, body, first, closed := frontmatter.Split([]byte(text))
		if got := (parts{string(head), string(body), first, closed}); got != want {
			t.Errorf("Split(%q) = %+v, want %+v", text, got, want)
		}
	}
}
