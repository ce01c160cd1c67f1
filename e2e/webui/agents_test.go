//go:build e2e_webui

package webui_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// inBody matches requests whose body has some words.
func inBody(words string) llmtest.Match {
	return func(r *llmtest.Request) bool { return strings.Contains(string(r.Body), words) }
}

// define writes the file of an agent or a team into a workspace.
func define(t *testing.T, workspace, kind, name, head, words string) {
	t.Helper()
	file := filepath.Join(workspace, ".agents", kind, name+".md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("---\nname: "+name+"\nmodel: seeing\n"+head+"\n---\n"+words+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAgentsAndTeamsOfTheWorkspace has an agent and a team in the list of models, and each
// answer a chat.
func TestAgentsAndTeamsOfTheWorkspace(t *testing.T) {
	workspace := t.TempDir()
	define(t, workspace, "agents", "reader", "description: Reads files.\ntools: [file_editor]", "You are the reader.")
	define(t, workspace, "agents", "runner", "description: Runs commands.\ntools: [terminal]", "You are the runner.")
	define(t, workspace, "teams", "crew", "description: Both.\nmembers: [reader, runner]\nmode: collaborate", "You join what the crew has found.")
	w := newWorld(t, "--workspace", workspace)
	w.llm.On(plainly("Generate a concise title"), llmtest.Text("```json\n{\"title\": \"A scripted title\"}\n```"))
	w.llm.On(plainly("broad tags"), llmtest.Text(`{"tags":["Testing"]}`))
	w.llm.On(plainly("send next"), llmtest.Text(`{"follow_ups":[]}`))

	t.Run("model list", func(t *testing.T) {
		w.do(t, "open", map[string]any{"path": "/?model=openhands_seeing"})
		var list struct{ Names []string }
		w.browser.Op("models", nil, &list)
		for _, want := range []string{"reader", "runner", "crew", "OpenHands (seeing)"} {
			if !slices.ContainsFunc(list.Names, func(name string) bool { return strings.Contains(name, want) }) {
				t.Errorf("%s is not in the list of models: %q", want, list.Names)
			}
		}
	})
	t.Run("an agent answers", func(t *testing.T) {
		w.do(t, "open", map[string]any{"path": "/?model=openhands_agent_runner"})
		w.send(t, `mark-1 [[tool terminal {"command":"echo 4711"}]] then [[say It said 4711.]]`)
		w.shows(t, "It said 4711.")
		w.do(t, "settle", nil)
		w.how(t, "new")
		w.isTold(t, "mark-1", "You are the runner.")
	})
	t.Run("a team answers", func(t *testing.T) {
		w.llm.On(inBody("You are the reader."), llmtest.Text("The reader has read."))
		w.llm.On(inBody("You are the runner."), llmtest.Text("The runner has run."))
		w.llm.On(inBody("You join what the crew has found."), llmtest.Text("Read and run."))
		w.do(t, "open", map[string]any{"path": "/?model=openhands_team_crew"})
		w.send(t, "mark-2 What is there?")
		w.shows(t, "Read and run.")
		w.do(t, "settle", nil)
		w.how(t, "new")
		for _, words := range []string{"You are the reader.", "You are the runner.", "The reader has read.", "The runner has run."} {
			w.isTold(t, "mark-2", words)
		}
	})
}

// isTold checks that a model was sent a mark together with some words.
func (w *world) isTold(t *testing.T, mark, words string) {
	t.Helper()
	for _, r := range w.llm.Requests() {
		if body := string(r.Body); strings.Contains(body, mark) && strings.Contains(body, words) {
			return
		}
	}
	t.Errorf("no request has %q and %q", mark, words)
}
