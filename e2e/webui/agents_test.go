//go:build e2e_webui

package webui_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// models are the names in the list of models, after the page is loaded again.
func (w *world) models(t *testing.T) string {
	t.Helper()
	w.do(t, "open", map[string]any{"path": "/?model=openhands_seeing"})
	var list struct{ Names []string }
	w.browser.op("models", nil, &list)
	return strings.Join(list.Names, ", ")
}

// TestAgentsAreInTheList has definitions that are saved while the gateway runs.
func TestAgentsAreInTheList(t *testing.T) {
	w := newWorld(t)
	if got := w.models(t); !strings.Contains(got, "OpenHands (seeing)") || strings.Contains(got, "runner") || strings.Contains(got, "auto") {
		t.Errorf("the list of models is %q", got)
	}
	for name, head := range map[string]string{
		"reader": "description: Reads files.\ntools: [file_editor]", "runner": "description: Runs commands.\ntools: [terminal]",
		"crew": "description: Both.\nmembers: [reader, runner]",
	} {
		file := filepath.Join(w.home, ".agents", "agents", name+".md")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("---\nname: "+name+"\nmodel: seeing\n"+head+"\n---\nYou are the "+name+".\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(3 * time.Second) // the gateway may answer with a list that is two seconds old
	got := w.models(t)
	for _, want := range []string{"reader", "runner", "crew", "OpenHands (auto)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in the list of models: %q", want, got)
		}
	}

	// It answers with its own tools and words.
	w.do(t, "open", map[string]any{"path": "/?model=openhands_agent_runner"})
	w.send(t, `mark-1 [[tool terminal {"command":"echo 4711"}]] then [[say It said 4711.]]`)
	w.shows(t, "It said 4711.")
	w.do(t, "settle", nil)
	found := false
	for _, r := range w.llm.Requests() {
		found = found || strings.Contains(string(r.Body), "You are the runner.") && strings.Contains(r.UserText(), "mark-1")
	}
	if !found {
		t.Error("the agent did not answer with its own instructions")
	}
}
