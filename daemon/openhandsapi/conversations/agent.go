package conversations

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/daemon/openhandsapi/shape"
	"github.com/ohgw/ohgw/internal/hidden"
)

// agentOf shows an agent to clients: with all members, masked secrets null, and
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
	if err := shape.Agent(agent); err != nil {
		return nil, fmt.Errorf("show the agent: %w", err)
	}
	if context, ok := agent["agent_context"].(map[string]any); ok && !skills {
		context["skills"] = []any{}
	}
	return agent, nil
}

// unmasked is JSON with null in the place of each masked secret, for which OpenHands
// takes a mask, too. Nil is nil.
func unmasked(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // 8.0 stays 8.0
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("read a part of the state: %w", err)
	}
	return withoutMasks(v), nil
}

func withoutMasks(v any) any {
	switch v := v.(type) {
	case string:
		if v == hidden.Redacted {
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
