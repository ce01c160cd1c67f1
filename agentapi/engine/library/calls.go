package library

import (
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// callUsage is what a call has used as OpenHands tells it.
type callUsage struct {
	Model string `json:"model"`
	event.TokenUsage
	ResponseID string `json:"response_id"`
}

// withCalls adds to statistics a list of all calls beside their sums. What cannot be
// read as such stays what it is.
func withCalls(stats json.RawMessage, calls []store.Call) json.RawMessage {
	var all map[string]json.RawMessage
	var usages map[string]map[string]json.RawMessage
	if len(calls) == 0 || json.Unmarshal(stats, &all) != nil || json.Unmarshal(all["usage_to_metrics"], &usages) != nil {
		return stats
	}
	lists := make(map[string]map[string][]any)
	add := func(c store.Call, name string, v any) {
		if lists[c.UsageID] == nil {
			lists[c.UsageID] = make(map[string][]any)
		}
		lists[c.UsageID][name] = append(lists[c.UsageID][name], v)
	}
	for _, c := range calls {
		if c.Cost > 0 {
			add(c, "costs", map[string]any{"model": c.Model, "cost": c.Cost, "timestamp": c.At})
		}
		add(c, "response_latencies", map[string]any{"model": c.Model, "latency": c.Latency, "response_id": c.ResponseID})
		add(c, "token_usages", callUsage{c.Model, c.Usage, c.ResponseID})
	}
	for usage, named := range lists {
		metrics := usages[usage]
		if metrics == nil {
			continue
		}
		for name, list := range named {
			var before []any // those that an agent-server has written
			_ = json.Unmarshal(metrics[name], &before)
			metrics[name], _ = json.Marshal(append(before, list...)) // of numbers and strings
		}
	}
	all["usage_to_metrics"], _ = json.Marshal(usages) // it was JSON
	data, err := json.Marshal(all)
	if err != nil {
		return stats
	}
	return data
}
