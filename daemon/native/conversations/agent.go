package conversations

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

// secretMask is what stands in the place of a secret.
const secretMask = "**********"

// agentOf is an agent as clients see it: with all members, masked secrets null, and
// without its skills unless they are asked for.
func agentOf(raw json.RawMessage, skills bool) (any, error) {
	v, err := unmasked(raw)
	if err != nil {
		return nil, err
	}
	agent, ok := v.(map[string]any)
	if !ok {
		return v, nil
	}
	var d defaults
	if err := json.Unmarshal(defaultsJSON, &d); err != nil {
		return nil, fmt.Errorf("read the defaults of an agent: %w", err)
	}
	if agent["kind"] == "ACPAgent" {
		return agent, nil
	}
	fill(agent, d.Agent)
	fill(agent["llm"], d.LLM)
	fill(agent["agent_context"], d.Context)
	if condenser, ok := agent["condenser"].(map[string]any); ok && condenser["kind"] == "LLMSummarizingCondenser" {
		fill(condenser, d.Condenser)
		fill(condenser["llm"], d.LLM)
	}
	if context, ok := agent["agent_context"].(map[string]any); ok && !skills {
		context["skills"] = []any{}
	}
	return agent, nil
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

// unmasked is JSON with null in the place of each masked secret, for which OpenHands
// takes a mask, too. Nil is nil.
func unmasked(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("read a part of the state: %w", err)
	}
	return withoutMasks(v), nil
}

func withoutMasks(v any) any {
	switch v := v.(type) {
	case string:
		if v == secretMask {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = withoutMasks(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withoutMasks(v[name])
		}
	}
	return v
}
