package prompt_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/prompt"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
)

func TestTheSmallPromptLeavesRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "AGENTS.md", "Use tabs.\n"+strings.Repeat("Täglich wird geprüft, was neu ist.\n", 400))
	p := prompt.New(prompt.Config{Workspace: dir, Now: now, Suffix: "Be kind.", Sandboxed: true, Open: []string{"network: @packages"}})
	static, dynamic := p.Small(nil, "openai/x")
	const bytesPerToken = 4
	if n := (len(static) + len(dynamic)) / bytesPerToken; n > 900 {
		t.Errorf("about %d tokens:\n%s\n%s", n, static, dynamic)
	}
	for _, want := range []string{"Use tabs.", "(cut here; the rest is in " + filepath.Join(dir, "AGENTS.md") + ")", "Be kind.", "<SANDBOX>", dir} {
		if !strings.Contains(dynamic, want) {
			t.Errorf("%q is not in %s", want, dynamic)
		}
	}
	if strings.ContainsRune(dynamic, '�') {
		t.Error("a character was cut")
	}
	if whole, full := p.System(nil, "openai/x"); len(whole) < 4*len(static) || strings.Contains(full, "(cut here") {
		t.Error("the full prompt is small, too")
	}
	if static, _ := prompt.New(prompt.Config{Workspace: dir, Now: now, Static: "mine"}).Small(nil, "openai/x"); static != "mine" {
		t.Errorf("the agent's own prompt became %q", static)
	}
}

// The user's own words are the first of a small prompt, too, as far as there is room.
func TestASmallPromptSaysWhoTheAgentIs(t *testing.T) {
	t.Parallel()
	const ours, rule = "You are OpenHands", "* Do what the user asks"
	for name, tt := range map[string]struct{ persona, soul, first string }{
		"ohgw's own":     {"", "", ours},
		"a persona":      {" You are a pirate.\n", "You are a monk.", "You are a pirate.\n\n"},
		"SOUL.md":        {"", "You are a monk.\n", "<SOUL>\nYou are a monk.\n</SOUL>\n\n"},
		"an empty one":   {" \n", "\n", ours},
		"a long persona": {strings.Repeat("Ho ho. ", 1000), "", "Ho ho. "},
		"a long SOUL.md": {"", strings.Repeat("Sei still und höre.\n", 900), "<SOUL>\nSei still"},
	} {
		base := t.TempDir()
		write(t, base, "SOUL.md", tt.soul)
		p := prompt.New(prompt.Config{Workspace: t.TempDir(), Now: now, Persona: tt.persona, User: skill.User{Base: base}})
		static, _ := p.Small(nil, "openai/x")
		if !strings.HasPrefix(static, tt.first) || !strings.Contains(static, "\n\n"+rule) {
			t.Errorf("%s: static prompt = %s", name, static)
		}
		if strings.Contains(static, ours) != (tt.first == ours) {
			t.Errorf("%s is two: %s", name, static)
		}
		if long := strings.HasPrefix(name, "a long"); strings.Contains(static, "(cut here") != long || len(static) > 4000 {
			t.Errorf("%s has %d bytes: %s", name, len(static), static)
		}
	}
}
