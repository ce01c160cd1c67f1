package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestOfferPutsRiskAndSummaryInFront(t *testing.T) {
	t.Parallel()
	const own = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`
	for name, test := range map[string]struct {
		def  tool.Definition
		want []string
	}{
		"writes":       {tool.Definition{Parameters: json.RawMessage(own)}, []string{"security_risk", "summary", "path"}},
		"reads":        {tool.Definition{Parameters: json.RawMessage(own), Annotations: &tool.Annotations{ReadOnly: true}}, []string{"summary", "path"}},
		"own summary":  {tool.Definition{Parameters: json.RawMessage(`{"type":"object","properties":{"summary":{"type":"string"},"b":{}}}`)}, []string{"security_risk", "summary", "b"}},
		"own risk":     {tool.Definition{Parameters: json.RawMessage(`{"properties":{"a":{},"security_risk":{"type":"integer"}},"type":"object"}`)}, []string{"security_risk", "summary", "a"}},
		"no parameter": {tool.Definition{Parameters: json.RawMessage(`{"type":"object"}`)}, []string{"security_risk", "summary"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			offer, err := test.def.Offer()
			if err != nil {
				t.Fatal(err)
			}
			o, err := object.Parse(offer)
			if err != nil {
				t.Fatal(err)
			}
			props, err := object.Parse(o.Get("properties"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, props.Names()); diff != "" {
				t.Error(diff)
			}
			if risk := string(props.Get("security_risk")); strings.Contains(risk, "integer") {
				t.Error("the tool's own security_risk is offered")
			}
			if strings.Contains(string(o.Get("required")), "summary") || strings.Contains(string(o.Get("required")), "risk") {
				t.Error("an added parameter is required")
			}
		})
	}
}

func TestOfferReducesTheSchema(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ schema, want string }{
		"bounds and titles go": {
			`{"title":"T","type":"object","additionalProperties":false,"properties":{"n":{"title":"N","type":"integer","minimum":0,"default":3,"description":"d"}}}`,
			`{"n":{"type":"integer","description":"d"}}`,
		},
		"union with null": {
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"string"}],"description":"d"},"b":{"type":["null","number"]}}}`,
			`{"a":{"type":"string","description":"d"},"b":{"type":"number"}}`,
		},
		"references": {
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"mine"}},"$defs":{"A":{"type":"array","description":"theirs","items":{"$ref":"#/$defs/B"}},"B":{"type":"string","enum":["x"]}}}`,
			`{"a":{"type":"array","description":"mine","items":{"type":"string","enum":["x"]}}}`,
		},
		"circle": {
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","description":"d","properties":{"next":{"$ref":"#/$defs/A"}}}}}`,
			`{"a":{"type":"object","description":"d","properties":{"next":{"type":"object"}}}}`,
		},
		"array of anything": {
			`{"type":"object","properties":{"a":{"type":"array"},"b":true,"c":{"type":"array","items":false}}}`,
			`{"a":{"type":"array","items":{}},"b":{},"c":{"type":"array","items":{}}}`,
		},
		"nested required": {
			`{"type":"object","properties":{"a":{"type":"object","properties":{"z":{},"b":{}},"required":["z"]}}}`,
			`{"a":{"type":"object","properties":{"z":{},"b":{}},"required":["z"]}}`,
		},
		"reference out of the schema": {
			`{"type":"object","properties":{"a":{"$ref":"https://example.com/x","description":"d"}}}`,
			`{"a":{"description":"d"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			offer, err := tool.Definition{Parameters: json.RawMessage(test.schema), Annotations: &tool.Annotations{ReadOnly: true}}.Offer()
			if err != nil {
				t.Fatal(err)
			}
			o, err := object.Parse(offer)
			if err != nil {
				t.Fatal(err)
			}
			props, err := object.Parse(o.Get("properties"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(props.Without("summary").JSON())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Each definition refers twice to the next: written out, the schema would have
// a million nodes.
func TestOfferRefusesASchemaThatExplodes(t *testing.T) {
	t.Parallel()
	var defs []string
	for i := range 20 {
		next := string(rune('a' + i + 1))
		defs = append(defs, `"`+string(rune('a'+i))+`":{"type":"object","properties":{"l":{"$ref":"#/$defs/`+next+`"},"r":{"$ref":"#/$defs/`+next+`"}}}`)
	}
	schema := `{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{` + strings.Join(defs, ",") + `}}`
	if _, err := (tool.Definition{Name: "bomb", Parameters: json.RawMessage(schema)}).Offer(); err == nil {
		t.Error("no error")
	}
}

func TestActionHasTheFormOfItsKind(t *testing.T) {
	t.Parallel()
	args := object.Object{{Name: "kind", Value: json.RawMessage(`"mine"`)}, {Name: "a", Value: json.RawMessage("1")}}
	for kind, want := range map[string]string{
		"TerminalAction": `{"kind":"TerminalAction","a":1}`,
		"MCPToolAction":  `{"data":{"kind":"mine","a":1},"kind":"MCPToolAction"}`,
	} {
		def := tool.Definition{ActionKind: kind}
		action := def.Action(args)
		if got := string(action); got != want {
			t.Errorf("action = %s, want %s", got, want)
		}
		back, err := def.Args(action)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"TerminalAction": `{"a":1}`, "MCPToolAction": `{"kind":"mine","a":1}`}[kind]; string(back) != want {
			t.Errorf("Args: %s, want %s", back, want)
		}
	}
}

func TestNewResultOrdersItsMembers(t *testing.T) {
	t.Parallel()
	got, err := tool.NewResult("XObservation", []event.Content{event.Text("hi")}, true, struct {
		A string  `json:"a"`
		B *string `json:"b,omitempty"`
	}{A: "x"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"content":[{"cache_prompt":false,"type":"text","text":"hi"}],"is_error":true,"a":"x","kind":"XObservation"}`
	if string(got.Observation) != want || !got.IsError {
		t.Errorf("observation = %s", got.Observation)
	}
	empty, err := tool.NewResult("X", nil, false, nil)
	if err != nil || string(empty.Observation) != `{"content":[],"is_error":false,"kind":"X"}` {
		t.Errorf("observation = %s, error %v", empty.Observation, err)
	}
}

func TestTruncateKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300) + "\n" + strings.Repeat("x", 1000) + strings.Repeat("ü", 300)
	for _, limit := range []int{1, 10, 200, 201, 500, 1599} {
		got, err := tool.Truncate(long, limit, "", "terminal")
		if err != nil {
			t.Fatal(err)
		}
		if n := utf8.RuneCountInString(got); n > limit || !utf8.ValidString(got) {
			t.Errorf("limit %d: %d characters, valid: %v", limit, n, utf8.ValidString(got))
		}
		if limit < 200 {
			continue
		}
		head, tail := strings.Count(got, "é"), strings.Count(got, "ü")
		if head-tail < 0 || head-tail > 1 && tail < 300 || head == 0 {
			t.Errorf("limit %d: %d characters of the head, %d of the tail", limit, head, tail)
		}
	}
	if got, err := tool.Truncate(long, 1601, "", ""); err != nil || got != long {
		t.Error("a text within the limit is changed")
	}
}

func TestTruncateSavesTheWholeAndSaysWhereTheCutIs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "observations")
	long := strings.Repeat("line\n", 1000)
	got, err := tool.Truncate(long, 1000, dir, "terminal")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "terminal_output_????????.txt"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	saved, err := os.ReadFile(files[0])
	if err != nil || string(saved) != long {
		t.Errorf("saved %d bytes of %d, %v", len(saved), len(long), err)
	}
	head, _, found := strings.Cut(got, "\n[... ")
	if !found {
		t.Fatal(got)
	}
	want := tool.CutNotice(files[0], strings.Count(head, "\n")+1)
	if !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	if _, err := tool.Truncate(long, 1000, dir, "terminal"); err != nil {
		t.Error("saving it again:", err)
	}
}

func TestTruncateCutsWhatItCannotSave(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := tool.Truncate(strings.Repeat("x", 5000), 1000, filepath.Join(file, "observations"), "terminal")
	if err == nil || utf8.RuneCountInString(got) > 1000 || strings.Contains(got, "observations") {
		t.Errorf("%d characters, %v", len(got), err)
	}
}
