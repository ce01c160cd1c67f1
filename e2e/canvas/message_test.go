//go:build e2e_canvas

package canvas_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// red is a PNG of one pixel.
const red = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

func (w *world) attach(name, kind, text string) {
	w.browser.Op("attach", map[string]any{"name": name, "type": kind, "text": text}, nil)
}

// TestMessages is in a directory that the user has chosen.
func TestMessages(t *testing.T) {
	w := newWorld(t)
	w.llm.On(func(r *llmtest.Request) bool {
		return len(r.Tools) == 0 && strings.HasPrefix(r.UserText(), "<events>")
	}, llmtest.Text("A summary."))
	repo := filepath.Join(w.home, "repo")
	if err := os.MkdirAll(repo, 0o700); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	w.step(t, "a workspace", func() {
		w.click(id("open-workspace-button"))
		w.click(id("workspace-dropdown"))
		w.click(id("add-workspaces-button"))
		w.click(id("folder-browser-entry-repo"))
		w.shows(`[data-testid="folder-browser-current-path"]:has-text("/repo")`)
		w.click(id("folder-browser-use"))
		w.gone(id("folder-browser-modal"))
		w.click(id("workspace-launch-button"))
		w.gone(id("open-workspace-dialog-body"))
		w.say(`first [[tool terminal {"command":"echo here > here.txt"}]] then [[say I have worked in the repository.]]`)
		w.answered("I have worked in the repository.")
		if _, err := os.Stat(filepath.Join(repo, "here.txt")); err != nil {
			t.Error(err)
		}
	})
	w.step(t, "a file", func() {
		w.attach("up.txt", "text/plain", base64.StdEncoding.EncodeToString([]byte("UPLOADED")))
		w.say(`with a file [[tool terminal {"command":"cat $(find . -name up.txt)"}]] then [[say I have read it.]]`)
		w.answered("I have read it.")
		if last := w.asked(); !strings.Contains(last.Last().Text, "UPLOADED") {
			t.Errorf("the agent has read %q", last.Last().Text)
		}
	})
	w.step(t, "an image", func() {
		w.attach("dot.png", "image/png", red)
		w.say("with an image [[say Never said.]]")
		w.answered("I cannot see images")
	})
	w.step(t, "an error of the LLM", func() {
		w.say("an error [[fail 401 wrong key]]")
		w.shows("text=Your LLM API key appears to be invalid")
		w.shows(named("interactive-chat-box", "Error"))
	})
	w.step(t, "a message after the error", func() {
		w.say("once more [[say It works again.]]")
		w.answered("It works again.")
		w.gone(`[data-testid="interactive-chat-box"]:has-text("Error")`)
	})
	w.step(t, "a smaller context", func() {
		w.click(id("right-panel-toggle"))
		w.click(id("conversation-tab-usage"))
		w.click(id("compact-context-button"))
		w.shows("text=Context compacted")
	})
	w.step(t, "another name", func() {
		w.option("rename-button")
		w.browser.Op("press", map[string]any{"key": "ControlOrMeta+a"}, nil)
		w.browser.Op("type", map[string]any{"text": "A chosen name"}, nil)
		w.browser.Op("press", map[string]any{"key": "Enter"}, nil)
		w.shows(named("conversation-card", "A chosen name"))
	})
}
