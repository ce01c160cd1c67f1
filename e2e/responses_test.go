//go:build e2e

package e2e_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

const write, read = "$ echo tea > note.txt", `$ test "$(cat note.txt)" = tea`

// task is one program of a client library, or several that share one start, and
// what it prints.
type task struct {
	name    string
	command []string
	dir     string
	want    map[string]any
}

// TestResponsesOfStockLibraries runs programs of OpenAI's libraries for Python,
// Node and Go, of the Agents SDKs, of the AI SDK, LangChain, Pydantic AI and llm
// against both backends.
func TestResponsesOfStockLibraries(t *testing.T) {
	python := need(t, filepath.Join("..", ".cache", "e2e-python", "bin", "python"))
	node := nodeProgram(t)
	program := racyProgram(t)
	llm := llmtest.New(t)
	gateways := map[string]*gateway{"embedded": serveEmbedded(t, program, llm.URL), "agent-server": newStack(t, program).gateway}
	t.Run("approvals", func(t *testing.T) {
		t.Parallel()
		g := serveEmbedded(t, program, llm.URL, "--confirm", "always")
		want := map[string]any{"texts": []any{"Written.", "As you wish."}, "asked": []any{write, write}}
		g.does(t, task{"approvals", []string{python, "responses.py"}, "python", want})
		g.does(t, task{"approvals", []string{node, "agents.mjs"}, "node", want})
		want["texts"] = []any{"Written.", "You said: The user refused."} // its reason is not sent
		g.does(t, task{"approvals", []string{node, "ai-responses.mjs"}, "node", want})
	})
	tasks := slices.Concat(openaiTasks(python, node, goResponses(t)), libraryTasks(python, node), conversationTasks(python))
	for name, g := range gateways {
		for _, tc := range tasks {
			t.Run(name+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				g.does(t, tc)
			})
		}
	}
}

// openaiTasks are those of OpenAI's libraries.
func openaiTasks(python, node, golang string) []task {
	inPython := []string{python, "responses.py"}
	return []task{
		{"goes_on", inPython, "python", map[string]any{
			"texts": []any{"Written.", "Read.", "Read.", "Read."},
			"steps": []any{[]any{write}, []any{read}, []any{read}, []any{read}},
			"same":  true, "copied": true, "stored": true, "deltas": true, "metadata": map[string]any{"who": "e2e"}, "input": true, "usage": true,
		}},
		{"background", inPython, "python", map[string]any{
			"early": true, "numbers": true, "rest": true, "last": "response.completed", "text": "Written.",
			"cancelled": []any{"cancelled", "cancelled"}, "deleted": "404 None", "gone": "400 previous_response_not_found",
		}},
		{"foreign", inPython, "python", map[string]any{
			"told":  map[string]any{"404 None": 5.0, "400 previous_response_not_found": 1.0, "404 conversation_not_found": 8.0},
			"steps": []any{read},
		}},
		{"parse", inPython, "python", map[string]any{"same": []any{true, true, true}, "text": true}},
		{"fails", inPython, "python", map[string]any{"whole": "502 llm_error", "stream": "APIError server_error"}},
		{"node", []string{node, "responses.mjs"}, "node", map[string]any{
			"openai": map[string]any{
				"texts": []any{"Written.", "Read.", "Read."}, "same": true, "failed": "APIError server_error", "parsed": bugReport(),
				"input": true, "cancelled": "cancelled", "deleted": "NotFoundError null",
			},
			"conversations": map[string]any{
				"metadata": []any{"e2e", "you"}, "retrieved": "Hot.", "listed": []any{"My tea is green.", "Written."},
				"same": true, "deleted": true, "gone": "NotFoundError conversation_not_found",
			},
			"ai": map[string]any{"texts": []any{"Written.", "Read."}, "pieces": true, "reasoning": true, "usage": true, "finish": "stop"},
		}},
		{"go", []string{golang}, "go", map[string]any{
			"texts": []any{"Written.", "Read."}, "same": true, "last": "response.completed", "numbers": true, "rest": true, "stored": "Read.", "input": true,
			"cancelled": "cancelled", "failed": "502 llm_error", "deleted": "404 ",
			"metadata": []any{"e2e", "you"}, "items": []any{"My tea is green.", "Written."}, "gone": "404 conversation_not_found",
		}},
	}
}

// libraryTasks are those of libraries that are built on OpenAI's.
func libraryTasks(python, node string) []task {
	inPython := []string{python, "libraries.py"}
	threeTurns := []any{"Written.", "Read.", "Read."}
	return []task{
		{"agents_sdk", []string{python, "responses.py"}, "python", map[string]any{"texts": threeTurns, "conversations": 1.0, "events": true}},
		{"agents", []string{node, "agents.mjs"}, "node", map[string]any{
			"texts": threeTurns, "conversations": 1.0, "deltas": true, "usage": true, "structured": bugReport(), "failed": "502 llm_error",
		}},
		{"session", []string{python, "responses.py"}, "python", map[string]any{
			"sqlite":        map[string]any{"texts": threeTurns, "conversations": 1.0, "steps": []any{write, read, read}, "items": 9.0},
			"conversations": map[string]any{"texts": threeTurns, "conversations": 1.0, "steps": []any{write, read, read}, "items": 9.0},
		}},
		{"session", []string{node, "agents.mjs"}, "node", map[string]any{
			"memory":        map[string]any{"texts": threeTurns, "conversations": 1.0},
			"conversations": map[string]any{"texts": threeTurns, "conversations": 1.0},
			"popped":        []any{"Read.", 8.0},
		}},
		{"ai_whole", []string{node, "ai-responses.mjs"}, "node", map[string]any{
			"stored":     map[string]any{"texts": threeTurns, "steps": []any{write, read, read}},
			"not_stored": map[string]any{"texts": threeTurns, "steps": []any{write, read, read}},
			"structured": []any{bugReport(), bugReport(), bugReport()},
		}},
		{"langchain", inPython, "python", map[string]any{
			"texts": threeTurns, "conversations": 1.0, "steps": []any{read}, "usage": true, "structured": []any{true, true, true}, "failed": "502 llm_error",
		}},
		{"pydantic_ai", inPython, "python", map[string]any{
			"texts": []any{threeTurns, threeTurns, threeTurns}, "conversations": []any{1.0, 1.0, 1.0}, "usage": true, "structured": []any{true, true, true, true}, "failed": "502 llm_error",
		}},
		{"llm", inPython, "python", map[string]any{
			"texts": []any{[]any{"Writing.", "Written."}, []any{"Read."}}, "steps": []any{write, read}, "structured": true,
		}},
	}
}

// bugReport is the document that the programs ask for.
func bugReport() map[string]any {
	return map[string]any{"bugs": []any{map[string]any{"file": "a.go", "line": 3.0, "severity": "high"}}, "note": nil}
}

// does fails the test unless the program prints what it should.
func (g *gateway) does(t *testing.T, tc task) {
	t.Helper()
	if diff := cmp.Diff(tc.want, g.runs(t, tc.command, tc.dir, tc.name)); diff != "" {
		t.Error(diff)
	}
}

// runs gives a program a task and returns what it prints.
func (g *gateway) runs(t *testing.T, command []string, dir, task string) map[string]any {
	t.Helper()
	return g.runsWith(t, model, command, dir, task)
}

// runsWith does so with a model.
func (g *gateway) runsWith(t *testing.T, model string, command []string, dir, task string) map[string]any {
	t.Helper()
	request, err := json.Marshal(map[string]string{"base_url": g.URL + "/v1", "api_key": g.ownKey(t), "other_key": otherKey, "model": model, "task": task})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(request)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running the program: %v: %s", err, stderr.Bytes())
	}
	var result map[string]any
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("reading the output as JSON: %v: %s", err, out)
	}
	return result
}
