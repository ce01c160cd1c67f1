package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// Stats fills the numbers of a conversation in: where there were no calls, the engine
// keeps no lists of them.
func Stats(raw json.RawMessage) (json.RawMessage, error) { return stats(raw, true) }

// Called returns the filled-in statistics of a conversation as an agent-server has them:
// none before it has begun or called a model, and then also those of the condenser's.
func Called(raw, agent json.RawMessage, begun bool) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	var usages map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read the statistics: %w", err)
	}
	_ = json.Unmarshal(all["usage_to_metrics"], &usages) // of another form: there are none
	if len(usages) == 0 {
		return raw, nil
	}
	called := begun
	for _, usage := range usages {
		called = called || wasCalled(usage)
	}
	if !called {
		return json.RawMessage(`{"usage_to_metrics":{}}`), nil
	}
	var has struct {
		Condenser struct {
			LLM struct {
				Model string
				Usage string `json:"usage_id"`
			}
		}
	}
	_ = json.Unmarshal(agent, &has) // one of another form has none
	model := has.Condenser.LLM
	if _, known := usages[model.Usage]; known || model.Usage == "" {
		return raw, nil
	}
	metrics := map[string]any{"model_name": model.Model}
	fillMetrics(metrics, true)
	var err error
	if usages[model.Usage], err = json.Marshal(metrics); err != nil {
		return nil, fmt.Errorf("encode the statistics: %w", err)
	}
	if all["usage_to_metrics"], err = json.Marshal(usages); err != nil {
		return nil, fmt.Errorf("encode the statistics: %w", err)
	}
	return json.Marshal(all)
}

// wasCalled reports whether the numbers are those of a model that was called.
func wasCalled(raw json.RawMessage) bool {
	var m struct {
		Cost  float64 `json:"accumulated_cost"`
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
		} `json:"accumulated_token_usage"`
		Usages    []json.RawMessage `json:"token_usages"`
		Latencies []json.RawMessage `json:"response_latencies"`
	}
	err := json.Unmarshal(raw, &m)
	return err != nil || m.Cost != 0 || m.Usage.Prompt+m.Usage.Completion != 0 || len(m.Usages)+len(m.Latencies) != 0
}

// stats fills statistics in with all their members. Those of an event have no lists of
// single calls, so that a long conversation does not repeat them after each call.
func stats(raw json.RawMessage, lists bool) (json.RawMessage, error) {
	var stats map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&stats); err != nil {
		return nil, fmt.Errorf("read the statistics: %w", err)
	}
	usages, _ := stats["usage_to_metrics"].(map[string]any) // else there are none
	for _, v := range usages {
		if metrics, ok := v.(map[string]any); ok {
			fillMetrics(metrics, lists)
		}
	}
	data, err := json.Marshal(stats)
	if err != nil {
		return nil, fmt.Errorf("encode the statistics: %w", err)
	}
	return data, nil
}

// fillMetrics gives the numbers of one usage id what OpenHands' Metrics have.
func fillMetrics(metrics map[string]any, lists bool) {
	fill(metrics, map[string]any{"model_name": "default", "accumulated_cost": json.Number("0.0"), "max_budget_per_task": nil})
	if metrics["accumulated_token_usage"] == nil {
		metrics["accumulated_token_usage"] = map[string]any{}
	}
	fill(metrics["accumulated_token_usage"], map[string]any{
		"model": metrics["model_name"], "response_id": "", "prompt_tokens": 0, "completion_tokens": 0, "cache_read_tokens": 0,
		"cache_write_tokens": 0, "reasoning_tokens": 0, "context_window": 0, "per_turn_token": 0,
	})
	floats(metrics, "accumulated_cost", "max_budget_per_task")
	for name, numbers := range map[string][]string{"costs": {"cost", "timestamp"}, "response_latencies": {"latency"}, "token_usages": nil} {
		if !lists {
			delete(metrics, name)
			continue
		}
		list, _ := metrics[name].([]any) // else there were no calls
		for _, v := range list {
			if one, ok := v.(map[string]any); ok {
				floats(one, numbers...)
			}
		}
		if list == nil {
			metrics[name] = []any{}
		}
	}
}

// floats writes numbers as OpenHands does: 0.0, not 0.
func floats(object map[string]any, names ...string) {
	for _, name := range names {
		if n, ok := object[name].(json.Number); ok && !strings.ContainsAny(n.String(), ".eE") {
			object[name] = n + ".0"
		}
	}
}

// Event gives an event that tells new statistics all their members: logs that ohgw wrote
// earlier lack some. Every other event is left as it is.
func Event(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"stats"`)) {
		return raw
	}
	var event map[string]json.RawMessage
	if json.Unmarshal(raw, &event) != nil || string(event["key"]) != `"stats"` || string(event["kind"]) != `"ConversationStateUpdateEvent"` {
		return raw
	}
	value, err := stats(event["value"], false)
	if err != nil {
		return raw // another program has written it
	}
	event["value"] = value
	data, err := json.Marshal(event)
	if err != nil {
		return raw
	}
	return data
}

// Listed is an event as an agent-server lists and streams it: with its members, and
// without those that are null.
func Listed(raw json.RawMessage) json.RawMessage { return wire.WithoutNulls(Event(raw)) }
