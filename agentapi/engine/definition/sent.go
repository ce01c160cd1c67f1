package definition

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// sent is an AgentDefinition of OpenHands, as programs send it.
type sent struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Color       string          `json:"color"`
	Examples    []string        `json:"when_to_use_examples"`
	Prompt      string          `json:"system_prompt"`
	Model       *string         `json:"model"`
	ProfileDir  string          `json:"profile_store_dir"`
	Tools       []string        `json:"tools"`
	Skills      []string        `json:"skills"`
	Servers     json.RawMessage `json:"mcp_config"`
	Hooks       json.RawMessage `json:"hooks"`
	Permission  string          `json:"permission_mode"`
	Iterations  *int            `json:"max_iteration_per_run"`
	Budget      *float64        `json:"max_budget_per_run"`
	Condenser   json.RawMessage `json:"condenser"`
}

// Sent reads the definitions that a program sent with the start of a conversation, a
// JSON list; null is none. They count as the user's own.
func Sent(data json.RawMessage) ([]Definition, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, errors.New("it is not a list")
	}
	all := make([]Definition, 0, len(list))
	for i, item := range list {
		var s sent
		err := json.Unmarshal(item, &s)
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			err = fmt.Errorf("%s cannot be %s", cmp.Or(wrong.Field, "a definition"), wrong.Value)
		}
		if err == nil {
			err = s.check()
		}
		if err != nil {
			return nil, fmt.Errorf("number %d: %w", i+1, err)
		}
		all = append(all, s.definition())
	}
	return all, nil
}

// check names the first member that OpenHands would refuse.
func (s sent) check() error {
	switch s.Permission {
	case "", AlwaysConfirm, NeverConfirm, ConfirmRisky:
	default:
		return fmt.Errorf("permission_mode cannot be %q; use %s, %s or %s", s.Permission, AlwaysConfirm, NeverConfirm, ConfirmRisky)
	}
	switch {
	case strings.TrimSpace(s.Name) == "":
		return errors.New("it has no name")
	case s.Iterations != nil && *s.Iterations <= 0:
		return errors.New("max_iteration_per_run has to be greater than 0")
	case s.Budget != nil && !(*s.Budget > 0):
		return errors.New("max_budget_per_run has to be greater than 0")
	}
	return nil
}

func (s sent) definition() Definition {
	d := Definition{
		Name: s.Name, Description: s.Description, Color: s.Color, Examples: s.Examples, Prompt: s.Prompt, Model: Inherit, ProfileDir: s.ProfileDir,
		Tools: s.Tools, Skills: s.Skills, Servers: given(s.Servers), Hooks: given(s.Hooks), Permission: s.Permission, Condenser: given(s.Condenser), User: true,
	}
	if s.Model != nil {
		d.Model = *s.Model
	}
	if s.Iterations != nil {
		d.MaxIterations = *s.Iterations
	}
	if s.Budget != nil {
		d.MaxBudget = *s.Budget
	}
	var condenser struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(d.Condenser, &condenser) // of another form: an engine that uses it says so
	if condenser.Kind == "NoOpCondenser" {
		d.Condenser, d.NoCondenser = nil, true
	}
	return d
}

// given is an object that is there.
func given(data json.RawMessage) json.RawMessage {
	if text := string(data); text == "null" || text == "{}" {
		return nil
	}
	return data
}
