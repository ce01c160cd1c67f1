//go:build e2e

package e2e_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestResponsesOfStockLibraries runs programs of OpenAI's libraries for Python and
// Node, of the Agents SDK and of the AI SDK against both backends.
func TestResponsesOfStockLibraries(t *testing.T) {
	python, err := filepath.Abs(need(t, filepath.Join("..", ".cache", "e2e-python", "bin", "python")))
	if err != nil {
		t.Fatal(err)
	}
	node := nodeProgram(t)
	program := racyProgram(t)
	llm := llmtest.New(t)
	gateways := map[string]*gateway{"embedded": serveEmbedded(t, program, llm.URL), "agent-server": newStack(t, program).gateway}
	t.Run("approvals", func(t *testing.T) {
		t.Parallel()
		g := serveEmbedded(t, program, llm.URL, "--confirm", "always")
		want := map[string]any{"texts": []any{"Written.", "As you wish."}, "asked": []any{"$ echo tea > note.txt", "$ echo tea > note.txt"}}
		if diff := cmp.Diff(want, g.runs(t, []string{python, "responses.py"}, "python", "approvals")); diff != "" {
			t.Error(diff)
		}
	})
	const write, read = "$ echo tea > note.txt", `$ test "$(cat note.txt)" = tea`
	for name, g := range gateways {
		for _, tc := range []struct {
			task    string
			command []string
			dir     string
			want    map[string]any
		}{
			{"goes_on", []string{python, "responses.py"}, "python", map[string]any{
				"texts": []any{"Written.", "Read.", "Read.", "Read."},
				"steps": []any{[]any{write}, []any{read}, []any{read}, []any{read}},
				"same":  true, "copied": true, "stored": true, "deltas": true, "metadata": map[string]any{"who": "e2e"}, "input": true, "usage": true,
			}},
			{"background", []string{python, "responses.py"}, "python", map[string]any{
				"early": true, "numbers": true, "rest": true, "last": "response.completed", "text": "Written.",
				"cancelled": []any{"cancelled", "cancelled"}, "deleted": "404 None", "gone": "400 previous_response_not_found",
			}},
			{"fails", []string{python, "responses.py"}, "python", map[string]any{"whole": "502 llm_error", "stream": "APIError server_error"}},
			{"agents_sdk", []string{python, "responses.py"}, "python", map[string]any{"texts": []any{"Written.", "Read.", "Read."}, "conversations": 1.0, "events": true}},
			{"node", []string{node, "responses.mjs"}, "node", map[string]any{
				"openai": map[string]any{"texts": []any{"Written.", "Read.", "Read."}, "same": true, "failed": "APIError server_error"},
				"ai":     map[string]any{"texts": []any{"Written.", "Read."}, "pieces": true, "reasoning": true, "usage": true, "finish": "stop"},
			}},
		} {
			t.Run(name+"/"+tc.task, func(t *testing.T) {
				t.Parallel()
				if diff := cmp.Diff(tc.want, g.runs(t, tc.command, tc.dir, tc.task)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// runs gives a program a task and returns what it prints.
func (g *gateway) runs(t *testing.T, command []string, dir, task string) map[string]any {
	t.Helper()
	request, err := json.Marshal(map[string]string{"base_url": g.URL + "/v1", "api_key": gatewayKey, "model": "openhands_scripted", "task": task})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(request)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	var result map[string]any
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return result
}
