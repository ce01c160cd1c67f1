package prompt_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/prompt"
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
