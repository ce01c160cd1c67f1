package mcp

import (
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// OpenHands 1.58 reads both spellings of a tool, and writes that of the
// specification. 1.49 reads that one only.
func TestAToolIsStoredInTheSpellingOfTheSpecification(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool sdk.Tool
		want string
	}{
		"all": {
			sdk.Tool{
				Name: "t", InputSchema: json.RawMessage(`{"properties":{"read_only":{}}}`), OutputSchema: json.RawMessage(`{"type":"object"}`),
				Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}, Icons: []sdk.Icon{{Source: "data:,", MIMEType: "image/png"}}, Meta: sdk.Meta{"a_b": 1},
			},
			`{"_meta":{"a_b":1},"annotations":{"idempotentHint":false,"readOnlyHint":true},"inputSchema":{"properties":{"read_only":{}}},"name":"t",` +
				`"outputSchema":{"type":"object"},"icons":[{"src":"data:,","mimeType":"image/png"}]}`,
		},
		"no schema": {sdk.Tool{Name: "t"}, `{"inputSchema":{"type":"object"},"name":"t"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, _, err := newTool(&member{name: "m"}, &tt.tool, tt.tool.Name)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(made.Definition().MCP); got != tt.want {
				t.Errorf("stored as\n%s, want\n%s", got, tt.want)
			}
		})
	}
}
