//go:build e2e && linux

package browser_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

// described is a tool of OpenHands.
type described struct {
	Name        string           `json:"name"`
	Kind        string           `json:"kind"`
	Action      string           `json:"action"`
	Annotations tool.Annotations `json:"annotations"`
	Schema      map[string]any   `json:"schema"`
}

// sameTools compares our tools with those of OpenHands, all but their words.
func sameTools(t *testing.T, ours []tool.Tool, theirs []described) {
	t.Helper()
	want := map[string]described{}
	for _, d := range theirs {
		d.Schema = wordless(d.Schema)
		want[d.Name] = d
	}
	got := map[string]described{}
	for _, one := range ours {
		d := one.Definition()
		var schema map[string]any
		if err := json.Unmarshal(d.Parameters, &schema); err != nil {
			t.Fatal(err)
		}
		got[d.Name] = described{d.Name, d.Kind, d.ActionKind, *d.Annotations, wordless(schema)}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-theirs +ours):\n%s", diff)
	}
}

// wordless returns a schema without its descriptions, and without what OpenHands leaves out of
// the schemas for models: defaults and limits.
func wordless(schema map[string]any) map[string]any {
	plain := map[string]any{}
	for name, value := range schema {
		if slices.Contains([]string{"description", "additionalProperties", "title", "default", "minimum"}, name) {
			continue
		}
		if inner, ok := value.(map[string]any); ok {
			value = wordless(inner)
		}
		plain[name] = value
	}
	return plain
}
