package storedagent

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/prompt"
)

// Condenser reads the stored condenser; others than the summarizing one do
// nothing.
func Condenser(stored Agent) condenser.Settings {
	c := stored.Object("condenser")
	if c.Text("kind") != "LLMSummarizingCondenser" {
		return condenser.Settings{}
	}
	set := condenser.Settings{MaxSize: 240, KeepFirst: 2}
	_ = json.Unmarshal(c["max_size"], &set.MaxSize)     // the defaults stay
	_ = json.Unmarshal(c["keep_first"], &set.KeepFirst) // where there is no number
	_ = json.Unmarshal(c["max_tokens"], &set.MaxTokens)
	_ = json.Unmarshal(c["minimum_progress"], &set.MinProgress)
	return set
}

// Concurrency is how many tools an agent may run at the same time.
func Concurrency(stored Agent) int {
	n := 1
	_ = json.Unmarshal(stored["tool_concurrency_limit"], &n) // the default stays
	return max(1, n)
}

// HasTasks reports whether a stored agent has sub-agents.
func HasTasks(stored json.RawMessage) bool {
	var a struct {
		Tools []Named `json:"tools"`
	}
	_ = json.Unmarshal(stored, &a) // none, then
	return slices.ContainsFunc(a.Tools, func(t Named) bool { return TaskTool(t.Name) })
}

// TaskTool reports whether a tool of that name gives tasks to sub-agents.
func TaskTool(name string) bool {
	return name == "task_tool_set" || name == "task" || name == "TaskToolSet" || name == "TaskTool"
}

// Callable reports whether an LLM object has what a call needs: a key, or the
// address of a server that may want none.
func Callable(model Agent) bool {
	for _, field := range append([]string{"base_url", "aws_profile_name", "aws_role_name"}, SecretFields()...) {
		if model.Text(field) != "" {
			return true
		}
	}
	return strings.HasPrefix(model.Text("model"), "ollama")
}

// SecretNames lists the secrets of a conversation, without their values.
func SecretNames(registry json.RawMessage) []prompt.Secret {
	var stored struct {
		Sources map[string]struct {
			Description string `json:"description"`
		} `json:"secret_sources"`
	}
	if json.Unmarshal(registry, &stored) != nil {
		return nil
	}
	list := make([]prompt.Secret, 0, len(stored.Sources))
	for _, name := range slices.Sorted(maps.Keys(stored.Sources)) {
		list = append(list, prompt.Secret{Name: name, Description: stored.Sources[name].Description})
	}
	return list
}
