package definition

import (
	"cmp"
	"encoding/json"

	"github.com/ohgw/ohgw/internal/optional"
)

// encoded is a definition in OpenHands' form, without what starts programs.
type encoded struct {
	Name          string   `json:"name"`
	Description   string   `json:"description"`
	Model         string   `json:"model"`
	Color         *string  `json:"color"`
	Tools         []string `json:"tools"`
	Skills        []string `json:"skills"`
	Prompt        string   `json:"system_prompt"`
	Source        *string  `json:"source"`
	Examples      []string `json:"when_to_use_examples"`
	Permission    *string  `json:"permission_mode"`
	MaxIterations *int     `json:"max_iteration_per_run"`
	MaxBudget     *float64 `json:"max_budget_per_run"`
	MaxTokens     int64    `json:"max_tokens_per_run,omitempty"` // OpenHands does not know it
}

// Encode is a definition as OpenHands has it in a request; [Decode] reads it. Its MCP
// servers, hooks and condenser are left out.
func Encode(d Definition) (json.RawMessage, error) {
	return json.Marshal(encoded{
		Name: d.Name, Description: d.Description, Model: cmp.Or(d.Model, Inherit), Color: optional.Of(d.Color), Tools: listed(d.Tools), Skills: listed(d.Skills),
		Prompt: d.Prompt, Source: optional.Of(d.Path), Examples: listed(d.Examples), Permission: optional.Of(d.Permission),
		MaxIterations: optional.Of(d.MaxIterations), MaxBudget: optional.Of(d.MaxBudget), MaxTokens: d.MaxTokens,
	})
}

// Decode reads a definition of a request; ok reports whether it is a definition.
func Decode(raw json.RawMessage) (d Definition, ok bool) {
	var e encoded
	if json.Unmarshal(raw, &e) != nil || e.Name == "" {
		return Definition{}, false
	}
	return Definition{
		Name: e.Name, Description: e.Description, Model: cmp.Or(e.Model, Inherit), Color: optional.Value(e.Color), Tools: e.Tools, Skills: e.Skills,
		Prompt: e.Prompt, Path: optional.Value(e.Source), Examples: e.Examples, Permission: optional.Value(e.Permission),
		MaxIterations: optional.Value(e.MaxIterations), MaxBudget: optional.Value(e.MaxBudget), MaxTokens: e.MaxTokens,
	}, true
}

func listed(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
