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

func TestEqualToolsShareTheirStoredForm(t *testing.T) {
	var shared tool.Schemas
	base := tool.Definition{
		Name: "a", Description: "one <tool>", Parameters: json.RawMessage(`{"type":"object"}`),
		ActionKind: "AAction", ObservationKind: "AObservation", Kind: "ATool",
	}
	seen := map[string]int{}
	for i, change := range []func(*tool.Definition){
		func(*tool.Definition) {},
		func(d *tool.Definition) { d.Name = "b" },
		func(d *tool.Definition) { d.Description = "two" },
		func(d *tool.Definition) { d.ActionKind = "BAction" },
		func(d *tool.Definition) { d.ObservationKind = "BObservation" },
		func(d *tool.Definition) { d.Kind = "BTool" },
		func(d *tool.Definition) { d.Annotations = &tool.Annotations{} },
		func(d *tool.Definition) { d.Annotations = &tool.Annotations{Title: "A"} },
		func(d *tool.Definition) { d.Annotations = &tool.Annotations{Destructive: true} },
		func(d *tool.Definition) { d.Client = true },
		func(d *tool.Definition) { d.Client, d.Parameters = true, json.RawMessage(`{"type":"object","a":1}`) },
		func(d *tool.Definition) { d.MCP = json.RawMessage(`{"name":"a"}`) },
		func(d *tool.Definition) { d.MCP = json.RawMessage(`{"name":"b"}`) },
	} {
		d := base
		change(&d)
		for range 2 {
			got := shared.Stored(d)
			if diff := cmp.Diff(string(d.Stored()), string(got)); diff != "" {
				t.Errorf("tool %d: %s", i, diff)
			}
		}
		if known, again := shared.Stored(d), shared.Stored(d); &known[0] != &again[0] {
			t.Errorf("tool %d is encoded each time", i)
		}
		if other, known := seen[string(shared.Stored(d))]; known {
			t.Errorf("tools %d and %d are the same", other, i)
		}
		seen[string(shared.Stored(d))] = i
	}
	if n := testing.AllocsPerRun(100, func() { shared.Stored(base) }); n != 0 {
		t.Errorf("allocations for a known tool = %.0f", n)
	}
	kept := shared.Stored(base)
	for i := range 600 { // more than are kept
		d := base
		d.Name = fmt.Sprint("t", i)
		if got := shared.Stored(d); string(got) != string(d.Stored()) {
			t.Errorf("tool %s = %s", d.Name, got)
		}
	}
	if again := shared.Stored(base); &kept[0] != &again[0] {
		t.Error("tools that come once take the place of one that comes often")
	}
	large := base
	large.Description = strings.Repeat("x", 64<<10)
	if a, b := shared.Stored(large), shared.Stored(large); &a[0] == &b[0] {
		t.Error("a large tool is kept")
	}
}
