//go:build e2e_canvas

package canvas_test

import (
	"net/http"
	"strings"
	"testing"
)

// start adds ohgw to the canvas, with a wrong key first.
func (w *world) start(t *testing.T) {
	t.Helper()
	w.step(t, "a backend with a wrong key", func() {
		w.open("/")
		w.fill(id("onboarding-backend-host"), w.gateway)
		w.fill(id("onboarding-backend-api-key"), "sk-wrong")
		w.click(id("onboarding-backend-next"))
		w.shows(named("onboarding-backend-error", "Could not connect"))
		if all := w.troubles(); len(all) != 1 || all[0].Status != http.StatusUnauthorized || !strings.HasSuffix(all[0].URL, "/api/settings") {
			t.Errorf("a wrong key gave %v, want 401 for the settings", all)
		}
	})
	w.step(t, "a backend", func() {
		w.fill(id("onboarding-backend-api-key"), gatewayKey)
		w.click(id("onboarding-backend-next"))
		w.click(`input[name="analytics"]`)
		w.click(id("confirm-telemetry-preferences"))
		w.gone(id("confirm-telemetry-preferences"))
		w.click(id("onboarding-skip"))
		w.shows(id("home-chat-launcher"))
		w.shows(named("chat-input-llm-profile", "scripted"))
	})
}
