//go:build e2e_canvas

package canvas_test

import (
	"strings"
	"testing"
)

func TestCustomize(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	w.step(t, "MCP servers", func() {
		w.click(id("sidebar-skills-link"))
		w.shows(id("mcp-installed-empty"))
	})
	w.step(t, "plugins", func() {
		w.open("/plugins")
		w.shows(id("plugins-empty"))
	})
	w.step(t, "apps", func() {
		w.open("/apps")
		w.shows(id("canvas-extensions-screen"))
		w.gone("text=does not support Apps")
	})
	w.step(t, "a skill", func() {
		w.open("/skills")
		w.shows(named("skills-result-summary", "result"))
		w.fill(id("skills-search-input"), "flarglebargle")
		w.click(`[data-testid="skill-toggle-flarglebargle"][aria-label="Enable skill"]`)
		w.shows(`[data-testid="skill-toggle-flarglebargle"][aria-label="Disable skill"]`)
	})
	w.step(t, "the agent has the skill", func() {
		w.click(id("sidebar-conversations-link"))
		w.say("flarglebargle [[say You have said it.]]")
		w.answered("You have said it.")
		events := w.get(t, "/api/conversations/"+w.conversation()+"/events/search?limit=100")
		if !strings.Contains(events, `"activated_skills":["flarglebargle"]`) {
			t.Errorf("the message has activated no skill:\n%.3000s", events)
		}
		if last := w.llm.Requests()[len(w.llm.Requests())-1]; !strings.Contains(last.UserText(), "<EXTRA_INFO>") {
			t.Errorf("the model was told %q", last.UserText())
		}
	})
}
