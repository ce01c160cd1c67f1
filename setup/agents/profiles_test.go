package agents

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/optional"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

// What a conversation does not store is not lost on the way to the model.
func TestAModelIsMadeOfTheWholeEntry(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, "profiles"), 0o700); err != nil {
		t.Fatal(err)
	}
	const entry = `{"model":"openai/x","extra_headers":{"X-Key":"header"},"litellm_extra_body":{"n":1.50},"stream_idle_timeout":7}`
	if err := os.WriteFile(filepath.Join(base, "profiles", "a.json"), []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	profiles := engineProfiles{store: profile.Open(profile.Config{Base: base}), keys: secret.NewResolver(nil, nil, nil), state: t.TempDir()}
	loaded, err := profiles.Load(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := configure(loaded, llm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := &cfg.Profile
	if header, body := p.ExtraHeaders["X-Key"].Reveal(), string(p.ExtraBody.Reveal()["n"]); header != "header" || body != "1.50" {
		t.Errorf("the header is %q, the member of the body %q", header, body)
	}
	if pause := optional.Or(p.IdleTimeout, 0); pause != 7 || p.Whole() != 0 {
		t.Errorf("a pause may take %v s, an answer %v s, want 7 and no limit", pause, p.Whole())
	}
	if cfg.Name != "a" || cfg.Key == nil {
		t.Errorf("the name is %q, and the source of keys %v", cfg.Name, cfg.Key != nil)
	}
}
