//go:build e2e_canvas

package canvas_test

import (
	"strings"
	"testing"
)

// saved waits for the page's word that it has stored something.
func (w *world) saved() { w.shows("text=Settings saved") }

func TestSettings(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	w.step(t, "condenser", func() {
		w.open("/settings/condenser")
		w.shows(named("condenser-settings-screen", "Enable Memory Condensation"))
		w.click(id("sdk-section-all-toggle"))
		w.shows(named("condenser-settings-screen", "Max"))
	})
	w.step(t, "agent context", func() {
		w.open("/settings/agent-context")
		w.click(named("agent-context-settings-screen", "Persistent Agent Memory") + " >> label")
		w.click(id("save-button"))
		w.saved()
	})
	w.step(t, "application", func() {
		w.open("/settings/app")
		w.fill(id("git-user-name-input"), "Ann")
		w.fill(id("git-user-email-input"), "ann@example.com")
		w.click(id("submit-button"))
		w.saved()
		w.open("/settings/app")
		w.shows(`[data-testid="git-user-name-input"][value="Ann"]`)
	})
	w.step(t, "a secret", func() {
		w.open("/settings/secrets")
		w.shows(id("secrets-empty"))
		w.click(id("add-secret-button"))
		w.fill(id("name-input"), "MY_SECRET")
		w.fill(id("value-input"), "a secret value")
		w.click(id("submit-button"))
		w.shows(named("secret-item", "MY_SECRET"))
	})
	w.llmProfiles(t)
	w.agentProfiles(t)
	w.step(t, "the agent has the secret and the settings", func() {
		w.open("/")
		w.say(`first [[tool terminal {"command":"echo \"<$MY_SECRET>\" > secret.txt; git config user.email > mail.txt"}]] then [[say It is written.]]`)
		w.answered("It is written.")
		if files := w.written(t); files != "mail.txt secret.txt" {
			t.Errorf("the agent has written %q", files)
		}
		if text := w.read(t, "secret.txt"); text != "<a secret value>\n" {
			t.Errorf("the secret is %q", text)
		}
	})
}

func (w *world) llmProfiles(t *testing.T) {
	t.Helper()
	w.step(t, "lists of models", func() {
		w.open("/settings/llm")
		w.shows(named("profile-row", "scripted"))
		w.click(id("add-llm-profile"))
		w.click(id("sdk-section-basic-toggle"))
		w.click(id("llm-provider-input"))
		w.shows(`[role="option"]:has-text("Mistral AI")`)
		if n := len(strings.Split(w.texts(`[role="option"]`), "\n")); n < 30 {
			t.Errorf("the page offers %d providers", n)
		}
		w.browser.Screenshot("providers")
		w.browser.Op("press", map[string]any{"key": "Escape"}, nil)
	})
	w.step(t, "a new profile", func() {
		w.click(id("sdk-section-advanced-toggle"))
		w.fill(id("llm-custom-model-input"), "openai/other")
		w.fill(id("base-url-input"), w.llm.URL)
		w.fill(id("llm-api-key-input"), "sk-llm-of-the-page")
		w.fill(id("profile-name-input"), "added")
		w.click(id("save-profile-btn"))
		w.shows(named("profile-row", "added"))
	})
	w.step(t, "another default", func() {
		w.click(named("profile-row", "added") + ` >> [data-testid="profile-menu-trigger"]`)
		w.click(id("profile-set-active"))
		w.shows(named("profile-row", "added") + `:has([data-testid="profile-active-badge"])`)
	})
	w.step(t, "an answer of its model", func() {
		w.click(id("sidebar-conversations-link"))
		w.shows(named("chat-input-llm-profile", "added"))
		w.say("hello [[say I am the other one.]]")
		w.answered("I am the other one.")
		last := w.asked()
		if last.Model != "other" || last.Header.Get("Authorization") != "Bearer sk-llm-of-the-page" {
			t.Errorf("the LLM was asked for %q with %q", last.Model, last.Header.Get("Authorization"))
		}
	})
	w.step(t, "a deleted profile", func() {
		w.open("/settings/llm")
		w.click(named("profile-row", "scripted") + ` >> [data-testid="profile-menu-trigger"]`)
		w.click(id("profile-set-active"))
		w.shows(named("profile-row", "scripted") + `:has([data-testid="profile-active-badge"])`)
		w.click(named("profile-row", "added") + ` >> [data-testid="profile-menu-trigger"]`)
		w.click(id("profile-delete"))
		w.click(id("delete-profile-confirm"))
		w.gone(named("profile-row", "added"))
	})
}

func (w *world) agentProfiles(t *testing.T) {
	t.Helper()
	w.step(t, "agents", func() {
		w.open("/settings/agents")
		w.shows(named("agent-profile-row", "default"))
		w.click(id("add-agent-profile"))
		w.shows(id("agent-settings-secrets-mode"))
		w.fill(id("agent-profile-name-input"), "second")
		w.browser.Screenshot("an-agent")
		w.click(id("save-agent-profile-btn"))
		w.shows(named("agent-profile-row", "second"))
	})
	w.step(t, "list of agents", func() {
		w.click(id("sidebar-conversations-link"))
		w.click(id("chat-plus-button"))
		w.op("hover", id("switch-agent-profile-button"))
		w.shows(id("chat-input-agent-profile-option-default"))
		w.browser.Screenshot("agents-of-a-new-chat")
		w.click(id("chat-input-agent-profile-option-second"))
		w.say("hello [[say I am the second agent.]]")
		w.answered("I am the second agent.")
	})
}
