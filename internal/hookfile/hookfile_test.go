package hookfile_test

import (
	"testing"

	"github.com/ohgw/ohgw/internal/hookfile"
)

func TestMatchersNameTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		matcher, tool string
		want          bool
	}{
		{"*", "terminal", true},
		{"", "terminal", true},
		{"*", "", true},
		{"terminal", "", false},
		{"terminal", "terminal", true},
		{"term", "terminal", false},
		{"terminal|grep", "grep", true},
		{"terminal|grep", "agrep", false},
		{"/term.*/", "terminal", true},
		{"/(/", "(", false},
		{"(", "(", true},
		{"browser_.*", "browser_click", true},
	} {
		config := hookfile.Config{hookfile.PreToolUse: {{Matcher: c.matcher, Hooks: []hookfile.Hook{{Command: "x"}}}}}
		if got := len(config.For(hookfile.PreToolUse, c.tool)) == 1; got != c.want {
			t.Errorf("%q matches %q: %v", c.matcher, c.tool, got)
		}
	}
}

func TestHooksAreReadInBothForms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"hooks":{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"x","timeout":5,"async":true}]}]}}`,
		`{"pre_tool_use":[{"matcher":"terminal","hooks":[{"command":"x","timeout":5,"async_":true}]}]}`,
	} {
		config, err := hookfile.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		hooks := config.For(hookfile.PreToolUse, "terminal")
		if len(hooks) != 1 || hooks[0].Command != "x" || hooks[0].Timeout != 5 || !hooks[0].Async || hooks[0].Type != hookfile.TypeCommand {
			t.Errorf("%s: hooks = %+v", text, hooks)
		}
	}
	for _, text := range []string{
		`[]`, `{"Nope":[]}`, `{"stop":[{"hooks":[{"type":"command"}]}]}`, `{"stop":[{"hooks":[1]}]}`, `{"stop":1}`,
		// OpenHands refuses these, too.
		`{"stop":[{"hooks":[{"type":"prompt"}]}]}`, `{"stop":[{"hooks":[{"type":"prompt","prompt":""}]}]}`,
		`{"stop":[{"hooks":[{"type":"prompt","prompt":"p","command":"x"}]}]}`, `{"stop":[{"hooks":[{"type":"agent","command":"x"}]}]}`,
		`{"stop":[{"hooks":[{"type":"prompt","prompt":"p","async":true}]}]}`, `{"stop":[{"hooks":[{"type":"agent","async":true}]}]}`,
		`{"stop":[{"hooks":[{"type":"mcp","command":"x"}]}]}`,
	} {
		if config, err := hookfile.Parse([]byte(text)); err == nil {
			t.Errorf("%s: config = %+v", text, config)
		}
	}
	if config, err := hookfile.Parse([]byte(`{"stop":[]}`)); config != nil || err != nil {
		t.Error(config, err)
	}
}
