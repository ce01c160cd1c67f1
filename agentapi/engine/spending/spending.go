// Package spending counts what the calls of models in a conversation take and cost, in the
// form in which OpenHands stores it. It neither calls a model nor writes a file. A [Sums]
// belongs to one goroutine.
package spending

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// Sums are the totals of a conversation by usage id. The lists of single
// calls that OpenHands keeps beside them are kept as they were read and do not
// grow: they would make each step of a long conversation slower than the last.
// New calls are in a file of their own.
type Sums struct {
	usages map[string]*metrics
	calls  int           // since the conversation was opened
	took   budget.Amount // by these calls, without those of sub-agents
	fresh  []store.Call  // that are not in the file yet
}

// metrics are the totals of one usage id as OpenHands stores them.
type metrics struct {
	ModelName string          `json:"model_name"`
	Cost      dollars         `json:"accumulated_cost"`
	MaxBudget json.RawMessage `json:"max_budget_per_task"`
	Usage     usage           `json:"accumulated_token_usage"`
	Costs     json.RawMessage `json:"costs,omitempty"`
	Latencies json.RawMessage `json:"response_latencies,omitempty"`
	Usages    json.RawMessage `json:"token_usages,omitempty"`
}

// dollars are written as OpenHands writes them: 0.0, not 0.
type dollars float64

// MarshalJSON implements json.Marshaler.
func (d dollars) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(float64(d))
	if err == nil && !bytes.ContainsAny(data, ".e") {
		data = append(data, ".0"...)
	}
	return data, err
}

type usage struct {
	Model string `json:"model"`
	event.TokenUsage
	ResponseID string `json:"response_id"`
}

type statsJSON struct {
	UsageToMetrics map[string]*metrics `json:"usage_to_metrics"`
}

// Load reads what [Sums.Stored] has written, or OpenHands.
func (s *Sums) Load(data json.RawMessage) error {
	var stored statsJSON
	if len(data) > 0 {
		if err := json.Unmarshal(data, &stored); err != nil {
			return err
		}
	}
	s.usages = make(map[string]*metrics)
	for id, m := range stored.UsageToMetrics {
		if m != nil {
			s.usages[id] = m
		}
	}
	return nil
}

// Begin has zeros for the agent's model until its first answer, as OpenHands does. model is
// its name; without one it is a model all the same.
func (s *Sums) Begin(usageID, model string) {
	if usageID == "" || s.usages[usageID] != nil {
		return
	}
	s.usages[usageID] = &metrics{ModelName: model, Usage: usage{Model: model}}
}

// Stored are the sums as OpenHands stores them.
func (s *Sums) Stored() (json.RawMessage, error) {
	return plainjson.Marshal(statsJSON{s.usages})
}

// Add counts one call, which has just ended.
func (s *Sums) Add(info llm.Info, r llm.Response, now time.Time) {
	s.AddEmpty(info, r, now)
	s.calls++
	s.took = s.took.Plus(budget.Amount{Cost: r.Cost, Tokens: r.Usage.PromptTokens + r.Usage.CompletionTokens})
	one := r.Usage
	one.ContextWindow, one.PerTurnToken = info.ContextWindow, r.Usage.PromptTokens+r.Usage.CompletionTokens
	s.fresh = append(s.fresh, store.Call{
		UsageID: info.UsageID, Model: info.Model, ResponseID: r.ID, At: float64(now.UnixMicro()) / 1e6,
		Latency: r.Latency.Seconds(), Cost: r.Cost, Usage: one,
	})
	m := s.usages[info.UsageID]
	if m == nil {
		m = &metrics{ModelName: info.Model}
		s.usages[info.UsageID] = m
	}
	m.Cost += dollars(r.Cost)
	u := &m.Usage
	u.Model = info.Model
	u.PromptTokens += r.Usage.PromptTokens
	u.CompletionTokens += r.Usage.CompletionTokens
	u.CacheReadTokens += r.Usage.CacheReadTokens
	u.CacheWriteTokens += r.Usage.CacheWriteTokens
	u.ReasoningTokens += r.Usage.ReasoningTokens
	u.ContextWindow = max(u.ContextWindow, info.ContextWindow)
	u.PerTurnToken = r.Usage.PromptTokens + r.Usage.CompletionTokens
}

// Snapshot is what an event has of the statistics: all but the lists of single calls.
func (s *Sums) Snapshot() any {
	told := statsJSON{make(map[string]*metrics, len(s.usages))}
	for id, m := range s.usages {
		sums := *m
		sums.Costs, sums.Latencies, sums.Usages = nil, nil, nil
		told.UsageToMetrics[id] = &sums
	}
	return told
}

// AddEmpty counts the attempts that gave no answer.
func (s *Sums) AddEmpty(info llm.Info, r llm.Response, now time.Time) {
	for _, empty := range r.Empty {
		s.Add(info, empty, now)
	}
}

// Totals are the statistics as the seam knows them.
func (s *Sums) Totals() event.Stats {
	t := event.Stats{UsageToMetrics: make(map[string]event.Metrics, len(s.usages))}
	for id, m := range maps.All(s.usages) {
		u := m.Usage.TokenUsage
		t.UsageToMetrics[id] = event.Metrics{ModelName: m.ModelName, AccumulatedCost: float64(m.Cost), Usage: &u}
	}
	return t
}

// Cost is what the conversation has cost over all models.
func (s *Sums) Cost() float64 {
	var sum float64
	for _, m := range s.usages {
		sum += float64(m.Cost)
	}
	return sum
}

// Of returns the statistics of one key.
func (s *Sums) Of(key string) event.Stats {
	t := event.Stats{UsageToMetrics: make(map[string]event.Metrics)}
	if m, ok := s.Totals().UsageToMetrics[key]; ok {
		t.UsageToMetrics[key] = m
	}
	return t
}

// Replace makes the sum of other statistics those of a key.
func (s *Sums) Replace(key string, others ...event.Stats) {
	s.calls++
	sum := &metrics{}
	for _, other := range others {
		for _, m := range other.UsageToMetrics {
			sum.add(m)
		}
	}
	s.usages[key] = sum
}

// add adds the totals of a conversation that belongs to this one.
func (m *metrics) add(other event.Metrics) {
	m.ModelName, m.Usage.Model = other.ModelName, other.ModelName
	m.Cost += dollars(other.AccumulatedCost)
	if other.Usage == nil {
		return
	}
	m.Usage.PromptTokens += other.Usage.PromptTokens
	m.Usage.CompletionTokens += other.Usage.CompletionTokens
	m.Usage.CacheReadTokens += other.Usage.CacheReadTokens
	m.Usage.CacheWriteTokens += other.Usage.CacheWriteTokens
	m.Usage.ReasoningTokens += other.Usage.ReasoningTokens
	m.Usage.ContextWindow = max(m.Usage.ContextWindow, other.Usage.ContextWindow)
}

// Calls is how many calls were counted since the conversation was opened.
func (s *Sums) Calls() int { return s.calls }

// Took is what the calls of the conversation's own models have taken since it was opened.
func (s *Sums) Took() budget.Amount { return s.took }

// TakeFresh returns the calls since the last time, and starts another list.
func (s *Sums) TakeFresh() []store.Call {
	fresh := s.fresh
	s.fresh = nil
	return fresh
}

// LastTurn is how many tokens the last call with a usage id had; 0: unknown.
func (s *Sums) LastTurn(usageID string) int64 {
	if m := s.usages[usageID]; m != nil {
		return m.Usage.PerTurnToken
	}
	return 0
}
