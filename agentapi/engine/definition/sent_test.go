package definition_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
)

func TestDefinitionsThatAProgramSends(t *testing.T) {
	t.Parallel()
	got, err := definition.Sent(json.RawMessage(`[
		{"name":"bare"},
		{"name":"full","description":"d","model":"small","color":null,"tools":["grep"],"skills":[],"system_prompt":"p","source":null,"level":"programmatic",
		 "when_to_use_examples":["e"],"hooks":null,"permission_mode":"confirm_risky","max_iteration_per_run":3,"max_budget_per_run":0.5,
		 "mcp_config":{"s":{"url":"http://x"}},"profile_store_dir":null,"condenser":{"kind":"NoOpCondenser"},"metadata":{"a":1}}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []definition.Definition{
		{Name: "bare", Model: definition.Inherit, User: true},
		{
			Name: "full", Description: "d", Model: "small", Tools: []string{"grep"}, Skills: []string{}, Prompt: "p", Examples: []string{"e"}, Permission: definition.ConfirmRisky,
			MaxIterations: 3, MaxBudget: 0.5, Servers: json.RawMessage(`{"s":{"url":"http://x"}}`), NoCondenser: true, User: true,
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(definition.Definition{})); diff != "" {
		t.Error(diff)
	}
	for _, none := range []string{"", "null", "[]"} {
		if got, err := definition.Sent(json.RawMessage(none)); err != nil || len(got) > 0 {
			t.Errorf("%q: %v, %v", none, got, err)
		}
	}
}

func TestDefinitionsThatOpenHandsRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                                 "it is not a list",
		`[5]`:                                "number 1: a definition cannot be number",
		`[{"name":"a"},{"description":"x"}]`: "number 2: it has no name",
		`[{"name":5}]`:                       "number 1: name cannot be number",
		`[{"name":"a","tools":"grep"}]`:      "number 1: tools cannot be string",
		`[{"name":"a","permission_mode":"maybe"}]`: "permission_mode",
		`[{"name":"a","max_iteration_per_run":0}]`: "max_iteration_per_run",
		`[{"name":"a","max_budget_per_run":-1}]`:   "max_budget_per_run",
	} {
		if _, err := definition.Sent(json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
