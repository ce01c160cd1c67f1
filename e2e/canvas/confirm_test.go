//go:build e2e_canvas

package canvas_test

import "testing"

func TestConfirmations(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	w.step(t, "confirmation mode", func() {
		w.open("/settings/verification")
		w.click(`label:has([data-testid="sdk-settings-confirmation_mode"])`)
		w.click(id("save-button"))
		w.shows("text=Settings saved")
	})
	w.step(t, "what waits", func() {
		w.click(id("sidebar-conversations-link"))
		w.say(`first [[say Looking.]] [[tool terminal {"command":"echo one > one.txt"}]] then [[say It is done.]]`)
		w.shows(id("action-confirm-button"))
		w.shows(named("interactive-chat-box", "User needed"))
		if files := w.written(t); files != "" {
			t.Errorf("before the confirmation there are the files %s", files)
		}
	})
	w.step(t, "continue", func() {
		w.click(id("action-confirm-button"))
		w.answered("It is done.")
		w.gone(id("action-confirm-button"))
		if files := w.written(t); files != "one.txt" {
			t.Errorf("after the confirmation there are the files %q", files)
		}
	})
	w.step(t, "cancel", func() {
		w.say(`second [[tool terminal {"command":"echo two > two.txt"}]] then [[say Never said.]]`)
		w.click(id("action-reject-button"))
		w.gone(id("action-reject-button"))
	})
	w.step(t, "a message after cancel", func() {
		w.say("third [[say An answer without a call.]]")
		w.answered("An answer without a call.")
		if files := w.written(t); files != "one.txt" {
			t.Errorf("after the rejection there are the files %q", files)
		}
	})
}
