package firstrun

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/modelcheck"
	"github.com/ohgw/ohgw/setup/setuptest"
)

// newSetup is a Setup in an empty home, with these variables more.
func newSetup(t *testing.T, more map[string]string) (*Setup, *setup.Env, string) {
	t.Helper()
	base := t.TempDir()
	variables := map[string]string{"OH_PERSISTENCE_DIR": base}
	for name, value := range more {
		variables[name] = value
	}
	env := setuptest.New(t, variables)
	settings, err := env.Settings(nil)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := env.OpenKeyStore(settings, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := env.ProfileStore(0)
	if err != nil {
		t.Fatal(err)
	}
	return New(env, profiles, keys, time.Minute), env, base
}

func TestTheFirstProfileBecomesTheActiveOne(t *testing.T) {
	t.Parallel()
	s, _, _ := newSetup(t, nil)
	for _, tt := range []struct {
		name   string
		opts   SaveOptions
		active bool
	}{
		{"first", SaveOptions{}, true},
		{"second", SaveOptions{}, false},
		{"first", SaveOptions{Replace: true}, true}, // The settings have a copy of it.
		{"third", SaveOptions{Use: true}, true},
		{"first", SaveOptions{Replace: true}, false},
	} {
		plan := Plan{Name: tt.name, Provider: "openai", Model: "x", Key: secret.New("FIXTURE-0123456789")}
		got, err := s.Save(t.Context(), tt.name, plan.Draft(), tt.opts)
		if err != nil || got.Active != tt.active || len(got.Keys) != 1 {
			t.Errorf("%s, %+v: saved = %+v, error %v; want it active: %t", tt.name, tt.opts, got, err, tt.active)
		}
	}
	if got := s.FreeName("first"); got != "first-2" {
		t.Errorf("a free name is %q", got)
	}
	if _, err := s.Save(t.Context(), "second", Plan{Model: "openai/y"}.Draft(), SaveOptions{}); !errors.Is(err, profile.ErrExists) {
		t.Errorf("the second again: %v", err)
	}
}

// The LLM in OpenHands' settings may be the only copy that there is.
func TestTheLLMOfTheSettingsIsNotReplaced(t *testing.T) {
	t.Parallel()
	s, _, base := newSetup(t, nil)
	settings := filepath.Join(base, "settings.json")
	before := `{"schema_version": 2, "agent_settings": {"schema_version": 5, "llm": {"model": "openai/mine"}}}`
	if err := os.WriteFile(settings, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := s.Save(t.Context(), "first", Plan{Model: "openai/y"}.Draft(), SaveOptions{})
	if err != nil || got.Active {
		t.Errorf("Save = %+v, %v; want it not active", got, err)
	}
	if after, err := os.ReadFile(settings); err != nil || string(after) != before {
		t.Errorf("the settings are %s, %v", after, err)
	}
}

func TestAPlanIsTriedBeforeItIsStored(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t)
	server.RequireKey("FIXTURE-0123456789-good")
	s, _, base := newSetup(t, nil)
	plan := Plan{Name: "work", Provider: "openai", BaseURL: server.URL}
	for key, want := range map[string]modelcheck.Outcome{"FIXTURE-0123456789-good": modelcheck.Answered, "FIXTURE-0123456789-bad": modelcheck.KeyRefused} {
		plan.Key, plan.Model = secret.New(key), ""
		models, err := s.Models(t.Context(), plan, nil)
		if (err == nil) != (want == modelcheck.Answered) || err == nil && (len(models) != 1 || models[0] != "test") {
			t.Errorf("Models with …%s = %v, %v", key[len(key)-4:], models, err)
		}
		plan.Model = "test"
		if got, err := s.Try(t.Context(), plan, nil); err != nil || got.Outcome != want {
			t.Errorf("Try with …%s = %+v, %v; want %s", key[len(key)-4:], got, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(base, "profiles")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was stored: %v", err)
	}
}

func TestTheOriginOfAKeyIsFound(t *testing.T) {
	t.Parallel()
	s, env, _ := newSetup(t, map[string]string{"ANTHROPIC_API_KEY": "FIXTURE-0123456789"})
	if _, err := env.KeepKey(t.Context(), s.KeyStore(), secret.ParseEntry(secret.ProviderEntry("groq", secret.APIKey)), secret.New("FIXTURE-0123456789"), false); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		plan Plan
		want secret.OriginKind
	}{
		{Plan{Provider: "anthropic"}, secret.FromEnvironment},
		{Plan{Provider: "anthropic", BaseURL: "https://elsewhere.example/v1"}, secret.FromNowhere},
		{Plan{Provider: "groq"}, secret.FromProviderEntry},
		{Plan{Provider: "openai"}, secret.FromNowhere},
	} {
		if got := s.KeyOrigin(t.Context(), tt.plan); got.Kind != tt.want {
			t.Errorf("the key for %+v comes from %v, want %s", tt.plan, got, tt.want)
		}
	}
}
