// Package shape gives objects of OpenHands the members that its programs expect, where
// a client did not send them or the engine does not keep them.
package shape

import (
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
	if err := json.Unmarshal(defaultsJSON, &d); err != nil {
		return fmt.Errorf("read the defaults of an agent: %w", err)
	}
	fill(agent, d.Agent)
	fill(agent["llm"], d.LLM)
	fill(agent["agent_context"], d.Context)
	if condenser, ok := agent["condenser"].(map[string]any); ok && condenser["kind"] == "LLMSummarizingCondenser" {
		fill(condenser, d.Condenser)
		fill(condenser["llm"], d.LLM)
	}
	tools, _ := agent["tools"].([]any) // else there are none
	for _, tool := range tools {
		fill(tool, map[string]any{"params": map[string]any{}})
	}
	return nil
}

// Stats fills the numbers of a conversation in: where there were no calls, the engine
// keeps no lists of them.
func Stats(raw json.RawMessage) (json.RawMessage, error) {
	var stats map[string]any
	if err := json.Unmarshal(raw, &stats); err != nil {
		return nil, fmt.Errorf("read the statistics: %w", err)
	}
	usages, _ := stats["usage_to_metrics"].(map[string]any) // else there are none
	for _, metrics := range usages {
		fill(metrics, map[string]any{"costs": []any{}, "response_latencies": []any{}, "token_usages": []any{}, "max_budget_per_task": nil})
	}
	data, err := json.Marshal(stats)
	if err != nil {
		return nil, fmt.Errorf("encode the statistics: %w", err)
	}
	return data, nil
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
