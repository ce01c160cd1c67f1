package shape_test

import (
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi/shape"
)

func TestAnAgentIsFilledIn(t *testing.T) {
	t.Parallel()
	agent := map[string]any{"kind": "Agent", "llm": map[string]any{"model": "m", "timeout": 5.0, "modify_params": false}, "tools": []any{map[string]any{"name": "terminal"}}}
	if err := shape.Agent(agent); err != nil {
		t.Fatal(err)
	}
	llm, _ := agent["llm"].(map[string]any)
	if llm["timeout"] != 5.0 || llm["num_retries"] != json.Number("5") || llm["retry_multiplier"] != json.Number("8.0") || agent["tool_concurrency_limit"] != json.Number("1") {
		t.Errorf("the agent: %v", agent)
	}
	if v, has := llm["modify_params"]; has {
		t.Errorf("modify_params is %v; OpenHands has no such option any more", v)
	}
	data, err := json.Marshal(agent["tools"])
	if err != nil || string(data) != `[{"name":"terminal","params":{}}]` {
		t.Errorf("the tools = %s, %v", data, err)
	}
	other := map[string]any{"kind": "ACPAgent"}
	if err := shape.Agent(other); err != nil || len(other) != 1 {
		t.Error(other, err)
	}
}
