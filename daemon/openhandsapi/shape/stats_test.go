package shape_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi/shape"
)

// noTokens are the counts of a usage id without any.
const noTokens = `"cache_read_tokens":0,"cache_write_tokens":0,"completion_tokens":0,"context_window":0,`

func TestStatisticsAreFilledIn(t *testing.T) {
	t.Parallel()
	got, err := shape.Stats(json.RawMessage(`{"usage_to_metrics":{"agent":{"accumulated_cost":1,"max_budget_per_task":5,"model_name":"m",` +
		`"costs":[{"cost":2,"timestamp":3}],"response_latencies":[{"latency":1}],"accumulated_token_usage":{"prompt_tokens":123456789012}}}}`))
	const want = `{"usage_to_metrics":{"agent":{"accumulated_cost":1.0,"accumulated_token_usage":{` + noTokens +
		`"model":"m","per_turn_token":0,"prompt_tokens":123456789012,"reasoning_tokens":0,"response_id":""},` +
		`"costs":[{"cost":2.0,"timestamp":3.0}],"max_budget_per_task":5.0,"model_name":"m","response_latencies":[{"latency":1.0}],"token_usages":[]}}}`
	if err != nil || string(got) != want {
		t.Errorf("the statistics = %s, %v, want %s", got, err, want)
	}
	if _, err := shape.Stats(nil); err == nil {
		t.Error("no statistics are no error")
	}
}

func TestAnEventOfStatisticsIsFilledIn(t *testing.T) {
	t.Parallel()
	const empty = `"accumulated_token_usage":{` + noTokens + `"model":"default","per_turn_token":0,"prompt_tokens":0,"reasoning_tokens":0,"response_id":""}`
	for old, want := range map[string]string{
		`{"accumulated_cost":0}`:              `{"accumulated_cost":0.0,` + empty + `,"max_budget_per_task":null,"model_name":"default"}`,
		`{"accumulated_cost":2.5e-7}`:         `{"accumulated_cost":2.5e-7,` + empty + `,"max_budget_per_task":null,"model_name":"default"}`,
		`{"accumulated_token_usage":null}`:    `{"accumulated_cost":0.0,` + empty + `,"max_budget_per_task":null,"model_name":"default"}`,
		`{"costs":[1],"token_usages":[{}]}`:   `{"accumulated_cost":0.0,` + empty + `,"max_budget_per_task":null,"model_name":"default"}`,
		`null`:                                `null`,
		`{"model_name":"default","extra":[]}`: `{"accumulated_cost":0.0,` + empty + `,"extra":[],"max_budget_per_task":null,"model_name":"default"}`,
	} {
		event := `{"id":"e","key":"stats","kind":"ConversationStateUpdateEvent","parent_id":null,"value":{"usage_to_metrics":{"a":` + old + `}}}`
		filled := strings.Replace(event, `{"a":`+old, `{"a":`+want, 1)
		if got := shape.Event(json.RawMessage(event)); string(got) != filled {
			t.Errorf("%s: event = %s, want %s", old, got, filled)
		}
		if got, want := string(shape.Listed(json.RawMessage(event))), strings.Replace(filled, `"parent_id":null,`, "", 1); got != want {
			t.Errorf("%s listed: %s, want %s", old, got, want)
		}
	}
	for _, other := range []string{
		`{"key":"stats","kind":"MessageEvent","value":{"usage_to_metrics":{"a":{}}}}`,
		`{"key":"tags","kind":"ConversationStateUpdateEvent","value":{"stats":"stats"}}`,
		`{"key":"stats","kind":"ConversationStateUpdateEvent","value":"stats"}`,
		`{"stats" torn`,
	} {
		if got := shape.Event(json.RawMessage(other)); string(got) != other {
			t.Errorf("%s became %s", other, got)
		}
	}
}

// An agent-server of version 1.58.2 has no statistics before the first call, and then also
// zeros for the model of the condenser.
func TestStatisticsBeginWithTheFirstCall(t *testing.T) {
	t.Parallel()
	const agent = `{"llm":{"model":"m"},"condenser":{"kind":"LLMSummarizingCondenser","llm":{"model":"small","usage_id":"sums"}}}`
	const none = `{"usage_to_metrics":{}}`
	for name, tc := range map[string]struct{ stats, agent, want, lacks string }{
		"nothing":             {none, agent, none, "sums"},
		"zeros":               {`{"usage_to_metrics":{"agent":{"accumulated_cost":0.0},"title":{}}}`, agent, none, "agent"},
		"called":              {`{"usage_to_metrics":{"agent":{"accumulated_token_usage":{"completion_tokens":1}}}}`, agent, `"sums":{"accumulated_cost":0.0,`, "nothing"},
		"its model":           {`{"usage_to_metrics":{"agent":{"accumulated_cost":0.5}}}`, agent, `"model_name":"small","response_latencies":[],"token_usages":[]`, "nothing"},
		"latency only":        {`{"usage_to_metrics":{"agent":{"response_latencies":[{"latency":1}]}}}`, agent, `"sums"`, "nothing"},
		"has summed up":       {`{"usage_to_metrics":{"sums":{"accumulated_cost":7.0}}}`, agent, `{"sums":{"accumulated_cost":7.0}}`, "small"},
		"no condenser":        {`{"usage_to_metrics":{"agent":{"accumulated_cost":7.0}}}`, `{"condenser":null}`, `7.0`, "sums"},
		"an odd agent":        {`{"usage_to_metrics":{"agent":{"accumulated_cost":7.0}}}`, `{"condenser":[]}`, `7.0`, "sums"},
		"of another program":  {`{"usage_to_metrics":{"agent":"odd"}}`, agent, `"agent":"odd"`, "nothing"},
		"of another form":     {`{"usage_to_metrics":[]}`, agent, `{"usage_to_metrics":[]}`, "sums"},
		"with another member": {`{"more":1,"usage_to_metrics":{"agent":{"accumulated_cost":7.0}}}`, agent, `"more":1`, "nothing"},
	} {
		got, err := shape.Called(json.RawMessage(tc.stats), json.RawMessage(tc.agent), false)
		if err != nil || !strings.Contains(string(got), tc.want) || strings.Contains(string(got), tc.lacks) {
			t.Errorf("%s: statistics = %s, %v, want %s and no %s", name, got, err, tc.want, tc.lacks)
		}
	}
	const zeros = `{"usage_to_metrics":{"agent":{"accumulated_cost":0.0}}}`
	if got, err := shape.Called(json.RawMessage(zeros), json.RawMessage(agent), true); err != nil || !strings.Contains(string(got), `"agent":{"accumulated_cost":0.0}`) || !strings.Contains(string(got), `"sums"`) {
		t.Errorf("begun, and not called: %s %v", got, err)
	}
	if _, err := shape.Called(json.RawMessage("[]"), nil, true); err == nil {
		t.Error("a list is no error")
	}
}
