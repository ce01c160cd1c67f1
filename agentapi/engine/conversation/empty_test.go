package conversation_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Attempts of a call that gave no answer are counted one by one, also where the call
// has failed in the end.
func TestAttemptsWithoutAnAnswerAreCounted(t *testing.T) {
	t.Parallel()
	lost := []llm.Response{{ID: "e1", Cost: 0.5, Usage: event.TokenUsage{PromptTokens: 7, CompletionTokens: 2}}}
	for name, tt := range map[string]struct {
		err    error
		prompt int64
		cost   float64
	}{
		"an answer comes": {nil, 17, 0.75},
		"none comes":      {&llm.Error{Code: llm.CodeNoResponse, Detail: "none"}, 7, 0.5},
	} {
		w := open(t, &model{info: llm.Info{UsageID: "agent"}, todo: []reply{func(context.Context, func(llm.Delta)) (llm.Response, error) {
			r := llm.Response{Empty: lost}
			if tt.err == nil {
				r.ID, r.Cost, r.Usage.PromptTokens = "r1", 0.25, 10
				r.Message = event.LLMMessage{Role: "assistant", Content: []event.Content{event.Text("Yes.")}}
			}
			return r, tt.err
		}}}, nil)
		var stats event.Stats
		for _, e := range w.play("Well?") {
			if u, is := e.Body.(*event.StateUpdate); is && u.Key == "stats" {
				if err := json.Unmarshal(u.Value, &stats); err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(stats.UsageToMetrics) != 1 {
			t.Errorf("%s: statistics = %+v, want one model", name, stats)
		}
		for _, m := range stats.UsageToMetrics {
			if m.AccumulatedCost != tt.cost || m.Usage.PromptTokens != tt.prompt {
				t.Errorf("%s: metrics = %+v, usage = %+v, want %d tokens, %v dollars", name, m, m.Usage, tt.prompt, tt.cost)
			}
		}
	}
}

// The attempts of other calls that have failed are counted, too.
func TestAttemptsBesideTheRunAreCounted(t *testing.T) {
	t.Parallel()
	inVain := func(context.Context, func(llm.Delta)) (llm.Response, error) {
		lost := []llm.Response{{ID: "e1", Cost: 0.5, Usage: event.TokenUsage{PromptTokens: 7}}}
		return llm.Response{Empty: lost}, &llm.Error{Code: llm.CodeNoResponse, Detail: "no answer"}
	}
	for name, do := range map[string]func(w *world){
		"a summary": func(w *world) {
			if done, err := w.conv.Condense(t.Context()); err == nil || done.Done {
				t.Errorf("Condense() = %+v, %v, want an error", done, err)
			}
		},
		"a question": func(w *world) {
			if answer, err := w.conv.Ask(t.Context(), "Which?"); err == nil {
				t.Errorf("Ask() = %q, want an error", answer)
			}
		},
		"a judge": func(w *world) {
			w.model.mu.Lock()
			w.model.todo = append([]reply{answer("r3", "Done.")}, w.model.todo...)
			w.model.mu.Unlock()
			w.pursue("all", 2)
			w.goalOver()
		},
	} {
		w := open(t, &model{info: llm.Info{UsageID: "agent"}, todo: []reply{answer("r1", "Yes."), answer("r2", "No."), inVain}}, nil)
		w.play("Well?")
		w.play("Really?")
		cost := func() float64 {
			s, err := w.conv.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return s.Stats.UsageToMetrics["agent"].AccumulatedCost
		}
		before := cost()
		do(w)
		if got := cost(); got != before+0.5 {
			t.Errorf("%s: cost = %v, want %v and 0.5 more", name, got, before)
		}
	}
}
