package agents

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

const storedKey = "sk-stored-for-work"

// withKey stores a key for the profile work.
func withKey(t *testing.T, env *setup.Env, s *config.Settings) {
	t.Helper()
	store, err := env.OpenKeyStore(s, secret.PatienceForMachines)
	if err != nil {
		t.Fatal(err)
	}
	places, err := env.Places()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Set(t.Context(), secret.ProfileEntry(places.Stores[0].Base, "work", secret.APIKey), secret.New(storedKey)); err != nil {
		t.Fatal(err)
	}
}

// given are the keys that the server of adopted would get for the profile work.
func given(t *testing.T, env *setup.Env, s *config.Settings, adopted *adoption) int {
	t.Helper()
	secrets, err := llmSecrets(env, s, adopted, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	got, err := secrets(t.Context(), agentserver.LLMProfile{Name: "work", Model: "openai/gpt-5"})
	if err != nil {
		t.Fatal(err)
	}
	return len(got)
}

func TestAServerThatWasFoundGetsNoKeyBeforeTheUserHasSaidSo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		named   bool
		person  bool
		answer  bool
		keys    int
		asked   int
		notes   string // of the only one; "" for none
		noStore bool
	}{
		"named":                {named: true, keys: 1},
		"named, with a person": {named: true, person: true, keys: 1},
		"found by a script":    {notes: "to name it, set OHGW_AGENT_SERVER_URL=http://127.0.0.1:"},
		"found, refused":       {person: true, asked: 2},
		"found, agreed to":     {person: true, answer: true, asked: 1, keys: 1},
		"no key is stored":     {person: true, noStore: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, notes, address := besideServer(t)
			asked := 0
			env.CanAsk = func() bool { return tt.person }
			env.Ask = func(_ context.Context, question, _ string) bool {
				asked++
				if !strings.Contains(question, "(process ") || !strings.Contains(question, strings.TrimPrefix(address, "http://")) {
					t.Errorf("asked %q", question)
				}
				return tt.answer
			}
			s := settingsOf(t, "", nil, map[string][]string{"key-store": {"file"}})
			if !tt.noStore {
				withKey(t, env, s)
			}
			var last *adoption
			for range 2 { // the answer is kept
				var err error
				if last, err = newAdoption(env, address, tt.named); err != nil {
					t.Fatal(err)
				}
				given(t, env, s, last)
				last.offer(t.Context(), env, "1.58.2")
			}
			if got := given(t, env, s, last); got != tt.keys || asked != tt.asked {
				t.Errorf("%d keys, asked %d times; want %d and %d", got, asked, tt.keys, tt.asked)
			}
			if tt.notes == "" && len(notes.notes) > 0 || tt.notes != "" && !strings.Contains(strings.Join(notes.notes, "\n"), tt.notes) {
				t.Errorf("said %q", notes.notes)
			}
		})
	}
}

// What takes the port later is another program than the one that was agreed to.
func TestAgreementIsToAProgramAndNotToAnAddress(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{
		"another program": `{"identity":"0123456789abcdef"}`,
		"no identity":     `{"identity":""}` + "\n" + `{"address":"http://127.0.0.1:8000"}`,
		"damaged":         `{"identity":`,
	} {
		env, _, address := besideServer(t)
		s := settingsOf(t, "", nil, map[string][]string{"key-store": {"file"}})
		withKey(t, env, s)
		a, err := newAdoption(env, address, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(a.agreed.Path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(a.agreed.Path, []byte(lines+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := given(t, env, s, a); got != 0 {
			t.Errorf("%s: %d keys", name, got)
		}
	}
}

func TestTheKeyOfAModelIsNotForAServerThatWasFound(t *testing.T) {
	t.Parallel()
	env, _, address := besideServer(t)
	getenv := env.Getenv
	env.Getenv = func(name string) string {
		if name == "OHGW_AGENT_SERVER_LLM_KEY" {
			return storedKey
		}
		return getenv(name)
	}
	s := settingsOf(t, "[agent_server.llm]\nmodel = \"openai/gpt-5\"\n", nil, nil)
	for named, want := range map[bool]string{true: storedKey, false: ""} {
		a, err := newAdoption(env, address, named)
		if err != nil {
			t.Fatal(err)
		}
		llm, err := serverLLM(env, s, a, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if got := llm.Key(); got != want {
			t.Errorf("named %v: the key %q", named, got)
		}
	}
}
