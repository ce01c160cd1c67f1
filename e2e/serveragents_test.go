//go:build e2e

package e2e_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestResponsesOfTheAgentsOfAServer runs OpenAI's library for Python with agent profiles of a
// real agent-server: one by its model ID, and one that auto chooses.
func TestResponsesOfTheAgentsOfAServer(t *testing.T) {
	python := need(t, filepath.Join("..", ".cache", "e2e-python", "bin", "python"))
	s := newStack(t, racyProgram(t))
	for _, name := range []string{"first", "second"} {
		path := "/api/agent-profiles/" + name
		s.agents.Call(t, http.MethodPost, path, map[string]any{
			"agent_kind": "openhands", "llm_profile_ref": "scripted", "system_message_suffix": "You are the " + name + " agent.", "tools": []map[string]any{{"name": "terminal"}},
		}, nil)
		var stored struct {
			Profile struct {
				ID string `json:"id"`
			} `json:"profile"`
		}
		s.agents.Call(t, http.MethodGet, path, nil, &stored)
		s.agents.Call(t, http.MethodPost, "/api/agent-profiles/"+stored.Profile.ID+"/activate", nil, nil)
	}
	inPython := []string{python, "responses.py"}
	for _, tc := range []struct {
		task, model, told string
		want              map[string]any
	}{
		{"goes_on", "openhands_agent_first", "You are the first agent.", openaiTasks("", "", "")[0].want},
		{"by_auto", "openhands_agent_second", "You are the second agent.", map[string]any{
			"models": []any{"openhands_agent_second", "openhands_agent_second", "openhands_agent_second"},
			"texts":  []any{"Written.", "Read.", "Read."}, "steps": []any{[]any{write}, []any{read}, []any{read}},
			"same": true, "deltas": true, "listed": []any{"auto", "openhands_agent_first", "openhands_agent_second"}, "other": "409 model_mismatch",
		}},
	} {
		t.Run(tc.task, func(t *testing.T) {
			before := len(s.llm.Requests())
			if diff := cmp.Diff(tc.want, s.runsWith(t, tc.model, inPython, "python", tc.task)); diff != "" {
				t.Error(diff)
			}
			asked := s.llm.Requests()[before:]
			if len(asked) == 0 {
				t.Error("no request reached the LLM")
			}
			for _, r := range asked {
				if !strings.Contains(string(r.Body), tc.told) {
					t.Errorf("a request lacks the words of the agent: %s", r.Body)
				}
			}
		})
	}
}
