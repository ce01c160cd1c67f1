package conversation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// analyses are the events that say what an analyzer has found.
func analyses(events []event.Event) (list []event.Event) {
	for _, e := range events {
		if _, ok := e.Body.(*event.SecurityAnalysis); ok {
			list = append(list, e)
		}
	}
	return list
}

func TestTheLogSaysWhatTheAnalyzerFound(t *testing.T) {
	t.Parallel()
	const risky, lenient = `{"kind":"ConfirmRisky"}`, `{"kind":"ConfirmRisky","confirm_unknown":false}`
	for name, tt := range map[string]struct {
		analyzer, policy string
		calls            []event.ToolCall
		risks            []string // of the actions, in order; nil: there is no analysis
		details          string   // of each action; "": none
	}{
		"one call": {agentapi.AnalyzerLLM, lenient, []event.ToolCall{callOf("c1", "look", `{"at":"it","security_risk":"HIGH"}`)}, []string{"HIGH"}, ""},
		"a batch": {
			agentapi.AnalyzerLLM, risky,
			[]event.ToolCall{callOf("c1", "look", `{"at":"it","security_risk":"LOW"}`), look("c2")},
			[]string{"LOW", "UNKNOWN"},
			"",
		},
		"a call that does not fit beside one that does": {
			agentapi.AnalyzerLLM, lenient, []event.ToolCall{callOf("c1", "nope", `{}`), look("c2")}, []string{"UNKNOWN"}, "",
		},
		"a call and the end": {agentapi.AnalyzerLLM, lenient, []event.ToolCall{look("c1"), done("c2")}, []string{"UNKNOWN", "UNKNOWN"}, ""},
		"an analyzer that is not here": {
			`{"kind":"GraySwanAnalyzer"}`, lenient,
			[]event.ToolCall{look("c1")},
			[]string{"HIGH"},
			`{"error":"this analyzer is not available here"}`,
		},
		"an analyzer of commands": {
			`{"kind":"PolicyRailSecurityAnalyzer"}`, lenient,
			[]event.ToolCall{callOf("c1", "look", `{"at":"'rm' -rf /","security_risk":"LOW"}`), callOf("c2", "look", `{"at":"$X -rf /etc"}`), look("c3")},
			[]string{"HIGH", "UNKNOWN", "LOW"},
			"",
		},
		"nobody is asked":      {agentapi.AnalyzerLLM, agentapi.PolicyNever, []event.ToolCall{look("c1")}, nil, ""},
		"nothing but the end":  {agentapi.AnalyzerLLM, lenient, []event.ToolCall{done("c1")}, nil, ""},
		"nothing that fits":    {agentapi.AnalyzerLLM, lenient, []event.ToolCall{callOf("c1", "nope", `{}`)}, nil, ""},
		"there is no analyzer": {"", lenient, []event.ToolCall{look("c1")}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, &model{todo: []reply{answer("r1", "", tt.calls...), answer("r2", "Done.")}}, func(_ *conversation.Config, s *store.State) {
				s.ConfirmationPolicy = json.RawMessage(tt.policy)
				if tt.analyzer != "" {
					s.SecurityAnalyzer = json.RawMessage(tt.analyzer)
				}
			})
			events := w.play("go")
			found := analyses(events)
			if tt.risks == nil {
				if len(found) > 0 {
					t.Errorf("there is an analysis: %+v", found[0].Body)
				}
				return
			}
			if len(found) != 1 {
				t.Fatalf("%d analyses in %q", len(found), lines(events))
			}
			wantBody := &event.SecurityAnalysis{Risks: map[string]string{}, Details: map[string]json.RawMessage{}}
			wantBody.Analyzer, wantBody.Policy = kindOf(t, tt.analyzer), kindOf(t, tt.policy)
			last := ""
			for _, e := range events {
				a, ok := e.Body.(*event.Action)
				if !ok || len(a.Action) == 0 || len(wantBody.Risks) == len(tt.risks) {
					continue
				}
				wantBody.Risks[e.ID] = tt.risks[len(wantBody.Risks)]
				if tt.details != "" {
					wantBody.Details[e.ID] = json.RawMessage(tt.details)
				}
				last = e.ID
			}
			if diff := cmp.Diff(wantBody, found[0].Body); diff != "" {
				t.Errorf("the analysis (-want +got):\n%s", diff)
			}
			if found[0].Source != event.SourceEnvironment || found[0].ParentID != last {
				t.Errorf("source %q, parent %q, want the last action, %q", found[0].Source, found[0].ParentID, last)
			}
		})
	}
}

func kindOf(t *testing.T, data string) string {
	t.Helper()
	var v struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatal(err)
	}
	return v.Kind
}

// An analysis is in the log and in no request, also when the log is read again. An agent
// that goes round in circles is still recognised, although each circle has an analysis.
func TestNoModelIsShownAnAnalysis(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{
		answer("r1", "", look("c1")), answer("r2", "", look("c2")), answer("r3", "", look("c3")), answer("r4", "", look("c4")),
		answer("r5", "Done."),
	}}, func(_ *conversation.Config, s *store.State) {
		s.SecurityAnalyzer = json.RawMessage(agentapi.AnalyzerLLM)
		s.ConfirmationPolicy = json.RawMessage(`{"kind":"ConfirmRisky","confirm_unknown":false}`)
	})
	events := w.play("go")
	want(t, events, "SystemPromptEvent", "user says go", "status running",
		"look is called as c1", "SecurityAnalysisEvent", "c1 has a result", "look is called as c2", "SecurityAnalysisEvent", "c2 has a result",
		"look is called as c3", "SecurityAnalysisEvent", "c3 has a result", "look is called as c4", "SecurityAnalysisEvent", "c4 has a result",
		"status stuck")
	w.reopen()
	w.play("go on")
	for _, r := range w.model.requests() {
		data, err := json.Marshal(r.Messages)
		if err != nil || strings.Contains(string(data), "LLMSecurityAnalyzer") {
			t.Errorf("the model is shown %s, %v", data, err)
		}
	}
	if got := len(w.model.requests()[4].Messages); got != 11 { // system, go, 4 calls, 4 results, go on
		t.Errorf("the last request has %d messages", got)
	}
}
