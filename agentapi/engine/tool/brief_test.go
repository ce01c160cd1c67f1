package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

// briefOf is what a model with a small context is told of a tool.
func briefOf(t *testing.T, d tool.Definition) (tool.Short, bool) {
	t.Helper()
	offer, err := d.Offer()
	if err != nil {
		t.Fatal(err)
	}
	short, ok, err := d.Brief(offer)
	if err != nil {
		t.Fatal(err)
	}
	return short, ok
}

func TestBriefToolsKeepTheirParameters(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["command"],"properties":{"command":{"type":"string","description":"The command for bash. Empty: wait.","enum":["a","b"]},` +
		`"rows":{"type":"array","items":{"type":"object","properties":{"at":{"type":"string","description":"Where it is, with much else to say about that and about all that is near it. Really."}}}},` +
		`"summary":{"type":"string","description":"Its own."}}}`
	for name, tt := range map[string]struct {
		def  tool.Definition
		text string
		want string
	}{
		"ours": {
			tool.Definition{Name: "terminal", Description: "long", Parameters: json.RawMessage(schema)},
			"Runs a command in a bash",
			`{"type":"object","properties":{"command":{"type":"string","enum":["a","b"]},"rows":{"type":"array","items":{"type":"object","properties":{"at":{"type":"string"}}}},"summary":{"type":"string"}},"required":["command"]}`,
		},
		"of a server": {
			tool.Definition{Name: "terminal", Description: strings.Repeat("It runs what it is given. ", 20), Parameters: json.RawMessage(schema), MCP: json.RawMessage(`{}`)},
			"It runs what it is given. ",
			`{"type":"object","properties":{"command":{"type":"string","description":"The command for bash. Empty: wait.","enum":["a","b"]},"rows":{"type":"array","items":{"type":"object","properties":{"at":{"type":"string","description":"Where it is, with much else to say about that and about all that is near it."}}}},"summary":{"type":"string","description":"Its own."}},"required":["command"]}`,
		},
		"without parameters": {tool.Definition{Name: "ping", Description: "Pings.", Parameters: json.RawMessage(`{"type":"object"}`)}, "Pings.", `{"type":"object","properties":{}}`},
	} {
		got, ok := briefOf(t, tt.def)
		var same, want any
		if json.Unmarshal(got.Parameters, &same) != nil || json.Unmarshal([]byte(tt.want), &want) != nil {
			t.Fatalf("%s: parameters = %s", name, got.Parameters)
		}
		a, b := mustMarshal(t, same), mustMarshal(t, want)
		if !ok || a != b || !strings.HasPrefix(got.Description, tt.text) || len(got.Description) > 400 {
			t.Errorf("%s: description = %q, schema %s\nwant %s", name, got.Description, a, b)
		}
	}
}

func mustMarshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestToolsThatASmallModelIsSpared(t *testing.T) {
	t.Parallel()
	think := tool.Definition{Name: "think", Description: "Thinks.", Parameters: json.RawMessage(`{"type":"object","properties":{"thought":{"type":"string"}}}`)}
	if _, ok := briefOf(t, think); ok {
		t.Error("a small model is offered think")
	}
	think.MCP = json.RawMessage(`{}`)
	if _, ok := briefOf(t, think); !ok {
		t.Error("the tool think of a server is gone")
	}
}

// A description is cut in a sentence only where the first one is too long.
func TestBriefDescriptionsAreCutBetweenSentences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Short.":                     "Short.",
		"One.\n\nTwo " + long(240):   "One.",
		long(500):                    "",
		"":                           "",
		"Größe " + long(150) + " ä…": "",
	} {
		got, _ := briefOf(t, tool.Definition{Name: "x", Description: text, Parameters: json.RawMessage(`{"type":"object"}`)})
		if want != "" && got.Description != want || len(got.Description) > 250 || strings.ContainsRune(got.Description, '�') {
			t.Errorf("%q became %q", text, got.Description)
		}
	}
}

func long(n int) string { return strings.Repeat("wörd ", n/5) }
