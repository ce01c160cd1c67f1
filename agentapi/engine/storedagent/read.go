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
	var c struct {
		Kind        json.RawMessage `json:"kind"`
		MaxSize     json.RawMessage `json:"max_size"`
		KeepFirst   json.RawMessage `json:"keep_first"`
		MaxTokens   json.RawMessage `json:"max_tokens"`
		MinProgress json.RawMessage `json:"minimum_progress"`
	}
	_ = json.Unmarshal(stored["condenser"], &c) // anything else has no kind
	if textOf(c.Kind) != "LLMSummarizingCondenser" {
		return condenser.Settings{}
	}
	set := condenser.Settings{MaxSize: 240, KeepFirst: 2}
	_ = json.Unmarshal(c.MaxSize, &set.MaxSize)     // the defaults stay
	_ = json.Unmarshal(c.KeepFirst, &set.KeepFirst) // where there is no number
	_ = json.Unmarshal(c.MaxTokens, &set.MaxTokens)
	_ = json.Unmarshal(c.MinProgress, &set.MinProgress)
	return set
}

// Concurrency is how many tools an agent may run at the same time.
func Concurrency(stored Agent) int {
	n := 1
	_ = json.Unmarshal(stored["tool_concurrency_limit"], &n) // the default stays
	return max(1, n)
}

// HasTasks reports whether a stored agent has sub-agents.
func HasTasks(stored Agent) bool {
	var tools []Named
	_ = json.Unmarshal(stored["tools"], &tools) // none, then
	return slices.ContainsFunc(tools, func(t Named) bool { return TaskTool(t.Name) })
}

// ModelName is the model of a stored agent, as its statistics name it.
func ModelName(stored Agent) string {
	var model struct {
		Name json.RawMessage `json:"model"`
	}
	_ = json.Unmarshal(stored["llm"], &model) // without a name it is a model all the same
	return textOf(model.Name)
}

// ToolsOf are the members of a stored agent that say which tools it has.
func ToolsOf(stored Agent) Agent {
	return Agent{"tools": stored["tools"], "include_default_tools": stored["include_default_tools"]}
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
