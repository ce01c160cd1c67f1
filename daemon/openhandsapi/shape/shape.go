// Package shape gives objects of OpenHands the members that its programs expect, where
// a client did not send them or the engine does not keep them.
package shape

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed defaults.json
var defaultsJSON []byte

// defaults are the members of an agent, its model, its context and its condenser that
// a client need not send, as OpenHands fills them in.
type defaults struct {
	Agent     map[string]any `json:"agent"`
	LLM       map[string]any `json:"llm"`
	Context   map[string]any `json:"agent_context"`
	Condenser map[string]any `json:"condenser"`
}

// Agent fills an agent in.
func Agent(agent map[string]any) error {
	if agent["kind"] == "ACPAgent" {
		return nil
	}
	var d defaults
	numbers := json.NewDecoder(bytes.NewReader(defaultsJSON))
	numbers.UseNumber() // 8.0 stays 8.0
	if err := numbers.Decode(&d); err != nil {
		return fmt.Errorf("read the defaults of an agent: %w", err)
	}
	fill(agent, d.Agent)
	fillLLM(agent["llm"], d.LLM)
	fill(agent["agent_context"], d.Context)
	if condenser, ok := agent["condenser"].(map[string]any); ok && condenser["kind"] == "LLMSummarizingCondenser" {
		fill(condenser, d.Condenser)
		fillLLM(condenser["llm"], d.LLM)
	}
	tools, _ := agent["tools"].([]any) // else there are none
	for _, tool := range tools {
		fill(tool, map[string]any{"params": map[string]any{}})
	}
	return nil
}

// fillLLM fills a model in. OpenHands has no modify_params any more, which files keep.
func fillLLM(v any, missing map[string]any) {
	fill(v, missing)
	if llm, ok := v.(map[string]any); ok {
		delete(llm, "modify_params")
	}
}

// fill adds what an object does not have.
func fill(v any, missing map[string]any) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	for name, value := range missing {
		if _, has := object[name]; !has {
			object[name] = value
		}
	}
}
