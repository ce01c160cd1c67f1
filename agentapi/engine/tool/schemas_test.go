package tool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

func TestEqualToolsShareTheirSchemas(t *testing.T) {
	t.Parallel()
	var shared tool.Schemas
	const own = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`
	offer := func(d tool.Definition) json.RawMessage {
		t.Helper()
		got, err := shared.Offer(d)
		if err != nil {
			t.Fatal(err)
		}
		want, err := d.Offer()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Error(diff)
		}
		return got
	}
	writes := tool.Definition{Name: "a", Description: "one", Parameters: json.RawMessage(own)}
	reads := tool.Definition{Name: "b", Parameters: json.RawMessage(own), Annotations: &tool.Annotations{ReadOnly: true}}
	first := offer(writes)
	if again := offer(tool.Definition{Name: "c", Description: "two", Parameters: json.RawMessage(own)}); &first[0] != &again[0] {
		t.Error("equal parameters have two schemas in memory")
	}
	offer(reads)
	if _, err := shared.Offer(tool.Definition{Name: "bad", Parameters: json.RawMessage(`[]`)}); err == nil {
		t.Error("a schema that is not an object is offered")
	}
	for i := range 300 { // more than are kept
		offer(tool.Definition{Parameters: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"p%d":{"type":"string"}}}`, i))})
	}
	large := `{"type":"object","properties":{"p":{"type":"string","description":"` + strings.Repeat("x", 64<<10) + `"}}}`
	if a, b := offer(tool.Definition{Parameters: json.RawMessage(large)}), offer(tool.Definition{Parameters: json.RawMessage(large)}); &a[0] == &b[0] {
		t.Error("a large schema is kept")
	}
}

func TestAKnownSchemaAllocatesNothing(t *testing.T) {
	var shared tool.Schemas
	d := tool.Definition{Parameters: json.RawMessage(`{"type":"object"}`)}
	if n := testing.AllocsPerRun(100, func() { _, _ = shared.Offer(d) }); n != 0 {
		t.Errorf("a known schema costs %.0f allocations", n)
	}
}
