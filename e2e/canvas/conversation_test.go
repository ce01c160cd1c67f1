//go:build e2e_canvas

package canvas_test

import (
	"strings"
	"testing"
)

func TestAConversation(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	w.step(t, "an answer", func() {
		w.say(`first [[say Looking.]] [[tool terminal {"command":"echo one > one.txt"}]] then [[say Hello from the agent.]]`)
		w.answered("Hello from the agent.")
		if said := w.texts(id("agent-message")); said != "Looking.\nHello from the agent." {
			t.Errorf("the page shows %q", said)
		}
		w.keyed(t, storedKey)
	})
	w.step(t, "what the model is told", func() {
		last := w.asked()
		if body := string(last.Body); strings.Contains(body, `\u003e`) || !strings.Contains(body, `echo one > one.txt\"}"`) {
			t.Errorf("the history has no call as the model has written it:\n%.3000s", body)
		}
		w.gone(`text="Your LLM isn't set up yet"`)
	})
	w.step(t, "changes", func() {
		w.click(id("right-panel-toggle"))
		w.click(named("file-tree-file-one.txt", "one.txt"))
		w.shows(`[data-testid="files-tab-content"]:has-text("one")`)
		w.click(id("conversation-tab-commits"))
		w.shows(named("uncommitted-changes-count", "1 file"))
	})
	w.step(t, "other tabs", func() {
		w.click(id("conversation-tab-planner"))
		w.shows(id("planner-tab-build-button"))
		w.click(id("conversation-tab-browser"))
		w.shows(id("browser-chrome-bar"))
	})
	w.step(t, "terminal", func() {
		w.click(id("conversation-tab-terminal"))
		w.say(`more [[tool terminal {"command":"printf '%s\\n' in-the-terminal"}]] then [[say It is printed.]]`)
		w.answered("It is printed.")
		w.shows(`.xterm-rows:has-text("in-the-terminal")`)
	})
	w.usage(t)
	w.stop(t)
	w.dialogs(t)
	w.remove(t)
}

// usage keeps the tab open during an answer, and after the page has been loaded again.
func (w *world) usage(t *testing.T) {
	t.Helper()
	w.step(t, "usage", func() {
		w.click(id("conversation-tab-usage"))
		w.shows(named("usage-panel", "Context Window"))
		w.say("second [[say The second answer.]] [[usage 4321 7]]")
		w.answered("The second answer.")
		w.shows(named("context-meter", "4,328"))
		w.shows(named("usage-panel", "$0.0000"))
	})
	w.step(t, "usage of a page that was loaded again", func() {
		w.browser.Op("reload", nil, nil)
		w.click(`[data-testid="right-panel-toggle"][aria-label="Show panel"]`)
		w.shows(named("usage-panel", "Context Window"))
		w.answered("The second answer.")
		w.say("third [[say The third answer.]]")
		w.answered("The third answer.")
		w.shows(named("usage-panel", "4,921"))
	})
	w.step(t, "costs on the wire", func() {
		events := w.get(t, "/api/conversations/"+w.conversation()+"/events/search?limit=100")
		for _, want := range []string{`"max_budget_per_task":null`, `"accumulated_cost":0.0`, `"response_id":`} {
			if !strings.Contains(events, want) {
				t.Errorf("the events have no %s", want)
			}
		}
	})
}

func (w *world) stop(t *testing.T) {
	t.Helper()
	w.step(t, "stop", func() {
		w.say("slow [[slow 600 100ms]]")
		w.answered("word5 ")
		w.click(id("stop-button"))
		w.shows(named("interactive-chat-box", "Stopped"))
		w.shows(id("play-button"))
	})
	w.step(t, "a message after stop", func() {
		w.say("go on [[say After the stop.]]")
		w.answered("After the stop.")
		w.gone(named("interactive-chat-box", "Stopped"))
	})
}

// option chooses from the menu beside the conversation's title.
func (w *world) option(name string) {
	w.click(`[data-testid="chat-pane-header"] [data-testid="ellipsis-button"]`)
	w.click(id(name))
}

func (w *world) dialogs(t *testing.T) {
	t.Helper()
	w.step(t, "skills of a conversation", func() {
		w.option("show-skills-button")
		w.shows(named("skills-modal", "Available Skills"))
		w.shows(named("skills-modal", "code-review"))
		w.browser.Screenshot("skills-of-a-conversation-open")
		w.click(id("close-skills-modal"))
	})
	w.step(t, "tools of a conversation", func() {
		w.option("show-agent-tools-button")
		w.shows(named("system-message-modal", "Available Tools"))
		w.browser.Screenshot("tools-of-a-conversation-open")
		w.click(id("close-system-message-modal"))
	})
}

func (w *world) remove(t *testing.T) {
	t.Helper()
	w.step(t, "a deleted conversation", func() {
		w.browser.Op("listen", map[string]any{
			"url": strings.Replace(w.gateway, "http", "ws", 1) + "/sockets/events/" + w.conversation() + "?session_api_key=" + gatewayKey,
		}, nil)
		w.option("delete-button")
		w.click(`button:has-text("Confirm Delete")`)
		w.shows(id("home-chat-launcher"))
		w.gone(id("conversation-card"))
		var end struct {
			Code   int
			Reason string
		}
		w.browser.Op("ended", nil, &end)
		if end.Code != 4004 {
			t.Errorf("the WebSocket of a deleted conversation ended with %+v", end)
		}
	})
}
