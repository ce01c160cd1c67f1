package spending_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/spending"
	"github.com/ohgw/ohgw/agentapi/event"
)

// What OpenHands has beside the sums stays where they are stored, and is in no event.
func TestListsOfCallsAreKeptAndNotPublished(t *testing.T) {
	t.Parallel()
	var s spending.Sums
	if err := s.Load(json.RawMessage(`{"usage_to_metrics":{"agent":{"model_name":"m","accumulated_cost":1,"costs":[{"cost":1}]}}}`)); err != nil {
		t.Fatal(err)
	}
	usage := event.TokenUsage{PromptTokens: 3, CompletionTokens: 2}
	s.Add(llm.Info{UsageID: "agent", Model: "m"}, llm.Response{ID: "r", Cost: 2, Usage: usage}, time.Unix(0, 0))
	stored, err := s.Stored()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(stored); !strings.Contains(text, `"accumulated_cost":3.0`) || !strings.Contains(text, `"costs":[{"cost":1}]`) {
		t.Errorf("stored is %s, want the sum of the costs as a float, and the list", text)
	}
	published, err := json.Marshal(s.Snapshot())
	if err != nil || strings.Contains(string(published), "costs") {
		t.Errorf("an event has %s, %v; want no list", published, err)
	}
	if fresh, again := s.TakeFresh(), s.TakeFresh(); len(fresh) != 1 || fresh[0].ResponseID != "r" || len(again) != 0 || s.Calls() != 1 || s.LastTurn("agent") != 5 {
		t.Errorf("fresh calls are %+v, then %+v, of %d; the last had %d tokens", fresh, again, s.Calls(), s.LastTurn("agent"))
	}
}
