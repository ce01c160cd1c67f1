//go:build e2e_canvas

package canvas_test

import (
	"strings"
	"testing"
)

// id is the selector of what the canvas has named for tests, where it is visible.
func id(name string) string { return `[data-testid="` + name + `"] >> visible=true` }

// named is an element of that kind with a text in it.
func named(name, text string) string { return `[data-testid="` + name + `"]:has-text("` + text + `")` }

// step is a part of a journey, which begins where the one before it ends. At its end the
// page has caused no trouble, and is photographed. It is not a subtest, because a subtest
// would be run again without the steps before it.
func (w *world) step(t *testing.T, name string, do func()) {
	t.Helper()
	t.Log(name)
	do()
	w.browser.Screenshot(strings.ReplaceAll(name, " ", "-"))
	w.quiet(t)
	if t.Failed() {
		t.FailNow()
	}
}

func (w *world) op(name, selector string) {
	w.browser.Op(name, map[string]any{"selector": selector}, nil)
}

func (w *world) open(path string)      { w.browser.Op("goto", map[string]any{"path": path}, nil) }
func (w *world) click(selector string) { w.op("click", selector) }
func (w *world) shows(selector string) { w.op("shown", selector) }
func (w *world) gone(selector string)  { w.op("gone", selector) }

func (w *world) fill(selector, text string) {
	w.browser.Op("fill", map[string]any{"selector": selector, "text": text}, nil)
}

// say writes a message and sends it.
func (w *world) say(text string) {
	w.browser.Op("insert", map[string]any{"selector": id("chat-input"), "text": text}, nil)
	w.click(id("submit-button"))
}

// answered waits for an answer of the agent.
func (w *world) answered(text string) { w.shows(named("agent-message", text)) }

func (w *world) texts(selector string) string {
	var found struct{ Texts []string }
	w.browser.Op("texts", map[string]any{"selector": selector}, &found)
	return strings.Join(found.Texts, "\n")
}

func (w *world) path() string {
	var at struct{ Path string }
	w.browser.Op("address", nil, &at)
	return at.Path
}
