package profile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

func TestAddWritesAsOpenHandsDoes(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	must(t, s.Add(t.Context(), "mine.json", profile.NewDraft("openai/gpt-5.5", "https://h.example/v1"), profile.AddOptions{}))
	s.want("profiles/mine.json", "{\n  \"model\": \"openai/gpt-5.5\",\n  \"base_url\": \"https://h.example/v1\",\n  \"schema_version\": 1\n}")
	for rel, mode := range map[string]os.FileMode{"profiles/mine.json": 0o600, "profiles": 0o700, ".": 0o700} {
		if info, err := os.Stat(s.path(rel)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode = %v, error %v", rel, info.Mode(), err)
		}
	}
}

func TestAddTakesADraftInAnyForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, want, key string }{
		{"an old form", `{"base_url":"` + proxyURL + `","model":"litellm_proxy/gpt-5.6"}`, "{\n  \"model\": \"openhands/gpt-5.6\",\n  \"schema_version\": 1\n}", ""},
		{"a version", `{"schema_version":0,"model":"x"}`, "{\n  \"schema_version\": 0,\n  \"model\": \"x\"\n}", ""},
		{"other letters", `{"model":"x","note":"ü测🔑"}`, "{\n  \"model\": \"x\",\n  \"note\": \"\\u00fc\\u6d4b\\ud83d\\udd11\",\n  \"schema_version\": 1\n}", ""},
		{"numbers and objects", `{"model":"x","temperature":1.50,"litellm_extra_body":{"a":[1,{"b":2}]}}`, "{\n  \"model\": \"x\",\n  \"temperature\": 1.50,\n  \"litellm_extra_body\": {\n    \"a\": [\n      1,\n      {\n        \"b\": 2\n      }\n    ]\n  },\n  \"schema_version\": 1\n}", ""},
		{"a key in clear", `{"model":"x","api_key":" ` + fixtureKey + ` "}`, "{\n  \"model\": \"x\",\n  \"schema_version\": 1\n}", fixtureKey},
		{"an encrypted key", `{"model":"x","api_key":"` + fixtureToken + `"}`, "{\n  \"model\": \"x\",\n  \"api_key\": \"" + fixtureToken + "\",\n  \"schema_version\": 1\n}", ""},
		{"a mask", `{"model":"x","api_key":"**********"}`, "{\n  \"model\": \"x\",\n  \"schema_version\": 1\n}", ""},
		{"no key", `{"model":"x","api_key":null}`, "{\n  \"model\": \"x\",\n  \"schema_version\": 1\n}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, nil)
			draft, err := profile.ParseDraft([]byte(tt.src))
			must(t, err)
			if got := draft.Keys[secret.APIKey].Reveal(); got != tt.key {
				t.Errorf("key = %q", got)
			}
			noKey(t, "the draft", fmt.Sprintf("%v %+v %#v", draft, draft.Keys, struct{ d profile.Draft }{draft}))
			must(t, s.Add(t.Context(), "a", draft, profile.AddOptions{}))
			s.want("profiles/a.json", tt.want)
		})
	}
}

func TestDraftsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		``, `[]`, `{"model":"x"`, `{"model":"x","model":"y"}`, `{"temperature":NaN}`,
		`{"api_key":"two\nlines"}`, `{"api_key":"` + fixtureKey + `"`,
	} {
		_, err := profile.ParseDraft([]byte(src))
		if err == nil {
			t.Errorf("%s is taken", src)
			continue
		}
		noKey(t, "the error", err.Error())
	}
	s := newStore(t, nil)
	for src, want := range map[string]string{
		`{}`:           string(canon.ErrorModel),
		`{"model":""}`: string(canon.ErrorModel),
		`{"model":"openhands/x","base_url":"https://[::1"}`: string(canon.ErrorBadURL),
		`{"model":"x","base_url":5}`:                        string(canon.ErrorSchema),
		`{"model":"x","timeout":"soon"}`:                    "timeout",
		`{"model":"x","schema_version":2}`:                  string(canon.ErrorNewer),
	} {
		draft, err := profile.ParseDraft([]byte(src))
		must(t, err)
		err = s.Add(t.Context(), "a", draft, profile.AddOptions{})
		got := fmt.Sprint(err)
		if e, ok := errors.AsType[*profile.EntryError](err); ok {
			got = string(e.Action)
		}
		if action, ok := document.ActionOf(err); ok {
			got = string(action)
		}
		if err == nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
	}
	s.gone("profiles/a.json")
}

func TestAddRefusesNamesAndNumbers(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/taken.json": "{}"})
	must(t, os.Symlink("taken.json", s.path("profiles/link.json")))
	draft := profile.NewDraft("x", "")
	for _, name := range []string{"", "a/b", "../a", "con", "COM1.x", "lpt9", "a b", ".a"} {
		if err := s.Add(t.Context(), name, draft, profile.AddOptions{}); !errors.Is(err, profile.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := s.Add(t.Context(), "taken", draft, profile.AddOptions{}); !errors.Is(err, profile.ErrExists) {
		t.Errorf("taken: %v", err)
	}
	must(t, s.Add(t.Context(), "taken", draft, profile.AddOptions{Replace: true}))
	s.want("profiles/taken.json", "{\n  \"model\": \"x\",\n  \"schema_version\": 1\n}")
	if err := s.Add(t.Context(), "link", draft, profile.AddOptions{Replace: true}); err == nil {
		t.Error("it is written through a link")
	}
	must(t, os.Remove(s.path("profiles/link.json")))
	for i := range profile.MaxProfiles - 1 {
		must(t, s.Add(t.Context(), fmt.Sprintf("p%d", i), draft, profile.AddOptions{}))
	}
	if err := s.Add(t.Context(), "one-more", draft, profile.AddOptions{}); !errors.Is(err, profile.ErrLimit) {
		t.Errorf("over the limit: %v", err)
	}
	must(t, s.Add(t.Context(), "one-more", draft, profile.AddOptions{NoLimit: true}))
	must(t, s.Add(t.Context(), "taken", draft, profile.AddOptions{Replace: true}))
}

const existingSettings = `{
  "schema_version": 2,
  "agent_settings": {
    "schema_version": 3,
    "agent_kind": "openhands",
    "llm": {
      "model": "old"
    },
    "unknown": 1.50
  },
  "active_profile": null,
  "misc_settings": {"x": [1, 2]}
}
`

func TestUseCopiesTheEntryIntoTheSettings(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"settings.json": existingSettings,
		"profiles/a.json": `{"model":"litellm_proxy/gpt-5.6","base_url":"` + proxyURL + `","api_key":"` + fixtureToken +
			`","litellm_extra_body":{"a":1.0},"schema_version":1}`,
	})
	done, err := s.Use(t.Context(), "a", now())
	must(t, err)
	if done.Name != "a" || !done.Changed || done.Key != profile.KeyEncrypted || done.Left != nil {
		t.Errorf("Use = %+v", done)
	}
	want := strings.Replace(existingSettings, `"model": "old"`, `"model": "openhands/gpt-5.6",
      "api_key": "`+fixtureToken+`",
      "litellm_extra_body": {
        "a": 1.0
      }`, 1)
	s.want("settings.json", strings.Replace(want, `"active_profile": null`, `"active_profile": "a"`, 1))
	if active, err := s.Active(); err != nil || active != "a" {
		t.Errorf("active = %q, %v", active, err)
	}
	if done, err := s.Use(t.Context(), "a", now()); err != nil || done.Changed {
		t.Errorf("a second time: %+v, %v", done, err)
	}
	s.want("profiles/a.json", s.read("profiles/a.json"))
}

func TestUseMakesSettingsThatEveryReleaseReads(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": `{"model":"openai/x"}`})
	_, err := s.Use(t.Context(), "a", now())
	must(t, err)
	s.want("settings.json", `{
  "agent_settings": {
    "agent_kind": "openhands",
    "llm": {
      "model": "openai/x"
    }
  },
  "active_profile": "a"
}`)
	if info, err := os.Stat(s.path("settings.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestUseResolvesTheConnection(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"provider-connections/provider_connections.json": `{"connections":[{"id":"c","api_key":"` + fixtureToken + `","base_url":"https://c.example"}]}`,
		"profiles/a.json": `{"model":"anthropic/x","provider_connection_id":"c"}`,
	})
	_, err := s.Use(t.Context(), "a", now())
	must(t, err)
	for _, part := range []string{`"provider_connection_id": "c"`, `"api_key": "` + fixtureToken + `"`, `"base_url": "https://c.example"`} {
		if got := s.read("settings.json"); !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
}

func TestUseOfASubscriptionCopiesNoKey(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": `{"model":"gpt-5.5","auth_type":"subscription","api_key":"k","base_url":"https://x.example","extra_headers":{"a":"b"}}`})
	_, err := s.Use(t.Context(), "a", now())
	must(t, err)
	for _, part := range []string{"api_key\":", "base_url", "extra_headers"} {
		if got := s.read("settings.json"); strings.Contains(got, `"`+part) {
			t.Errorf("%s in %s", part, got)
		}
	}
}

func TestAPlainKeyIsEncryptedOnlyWithTheSecretOfTheServer(t *testing.T) {
	t.Parallel()
	plain := `{"model":"openai/x","api_key":"` + fixtureKey + `"}`
	for name, tt := range map[string]struct {
		files map[string]string
		want  profile.KeyState
	}{
		"a token of another profile":  {map[string]string{"profiles/b.json": `{"model":"x","api_key":"` + fixtureToken + `"}`}, profile.KeyEncrypted},
		"a token in the settings":     {map[string]string{"settings.json": settingsWith(`{"model":"x","api_key":"` + fixtureToken + `"}`)}, profile.KeyEncrypted},
		"a token of a connection":     {map[string]string{"provider-connections/provider_connections.json": `{"connections":[{"id":"c","api_key":"` + fixtureToken + `"}]}`}, profile.KeyEncrypted},
		"a token of another secret":   {map[string]string{"profiles/b.json": `{"model":"x","api_key":"` + foreignToken + `"}`}, profile.KeyNone},
		"nothing to compare it with":  {nil, profile.KeyNone},
		"only keys that are in clear": {map[string]string{"profiles/b.json": plain}, profile.KeyNone},
		"settings in clear text":      {map[string]string{"settings.json": settingsWith(`{"model":"x","api_key":"other"}`)}, profile.KeyPlain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, tt.files)
			write(t, s.path("profiles/a.json"), plain)
			done, err := s.Use(t.Context(), "a", now())
			must(t, err)
			if done.Key != tt.want || strings.Contains(s.read("settings.json"), fixtureKey) != (tt.want == profile.KeyPlain) {
				t.Errorf("key is %s: %s", done.Key, s.read("settings.json"))
			}
			if left := len(done.Left) == 1; left != (tt.want == profile.KeyNone) {
				t.Errorf("left out: %v", done.Left)
			}
			if done, err := s.UseWithKey(t.Context(), "a", now()); err != nil || (done.Key == profile.KeyNone) {
				t.Errorf("with the key: %+v, %v", done, err)
			}
			s.want("profiles/a.json", plain)
		})
	}
}

func settingsWith(llm string) string { return `{"agent_settings":{"llm":` + llm + `}}` }

func TestUseRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ settings, profile string }{
		"a profile that is not there":        {existingSettings, ""},
		"a profile that is not loaded":       {existingSettings, `{"model":"x","timeout":"soon"}`},
		"a profile with two models":          {existingSettings, `{"model":"x","model":"y"}`},
		"a connection that is not there":     {existingSettings, `{"model":"x","provider_connection_id":"gone"}`},
		"newer settings than all known ones": {`{"schema_version":7}`, `{"model":"x"}`},
		"damaged settings":                   {`{"a":`, `{"model":"x"}`},
		"settings of the first OpenHands":    {`{"llm_model":"x"}`, `{"model":"x"}`},
		"settings with no object in them":    {`{"agent_settings":[]}`, `{"model":"x"}`},
		"settings that have a member twice":  {`{"agent_settings":{},"x":1,"x":2}`, `{"model":"x"}`},
	} {
		s := newStore(t, map[string]string{"settings.json": tt.settings})
		if tt.profile != "" {
			write(t, s.path("profiles/a.json"), tt.profile)
		}
		_, err := s.Use(t.Context(), "a", now())
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if strings.Contains(name, "first OpenHands") && !errors.Is(err, profile.ErrLegacy) {
			t.Errorf("%s: %v", name, err)
		}
		s.want("settings.json", tt.settings)
	}
}

const agentProfile = "{\n  \"name\": \"agent\",\n  \"llm_profile_ref\": \"a\",\n  \"revision\": 3\n}"

func TestRenameFollowsEveryReference(t *testing.T) {
	t.Parallel()
	const content = `{"model":"x", "api_key":"` + fixtureToken + `"}`
	s := newStore(t, map[string]string{
		"profiles/a.json":         content,
		"agent-profiles/one.json": agentProfile,
		"agent-profiles/two.json": strings.Replace(agentProfile, `"a"`, `"other"`, 1),
		"agent-profiles/acp.json": `{"agent_kind":"acp","llm_profile_ref":"a"}`,
		"agent-profiles/bad.json": `{`,
		"settings.json":           strings.Replace(existingSettings, `"active_profile": null`, `"active_profile": "a"`, 1),
	})
	done, err := s.Rename(t.Context(), "a", "b.json")
	must(t, err)
	if diff := cmp.Diff(profile.Renaming{Old: "a", New: "b", Active: true, AgentProfiles: []string{"one"}, MetaProfiles: []string{}}, done); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.gone("profiles/a.json")
	s.want("profiles/b.json", content)
	s.want("agent-profiles/one.json", strings.Replace(agentProfile, `"a"`, `"b"`, 1))
	s.want("agent-profiles/two.json", strings.Replace(agentProfile, `"a"`, `"other"`, 1))
	s.want("agent-profiles/acp.json", `{"agent_kind":"acp","llm_profile_ref":"a"}`)
	s.want("settings.json", strings.Replace(existingSettings, `"active_profile": null`, `"active_profile": "b"`, 1))
}

func TestRenameRefuses(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": "{}", "profiles/b.json": "{}", "agent-profiles/one.json": agentProfile})
	must(t, os.Mkdir(s.path("profiles/dir.json"), 0o700))
	for _, tt := range []struct {
		from, to string
		want     error
	}{
		{"a", "b", profile.ErrExists},
		{"nobody", "c", profile.ErrNotFound},
		{"a", "../c", profile.ErrName},
		{"a", "con", profile.ErrName},
		{"../a", "c", profile.ErrName},
		{"dir", "c", nil},
	} {
		_, err := s.Rename(t.Context(), tt.from, tt.to)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s to %s: %v, want %v", tt.from, tt.to, err, tt.want)
		}
	}
	if done, err := s.Rename(t.Context(), "a", "a"); err != nil || len(done.AgentProfiles) != 0 {
		t.Errorf("the same name: %+v, %v", done, err)
	}
	s.want("agent-profiles/one.json", agentProfile)
}

func TestAnInvisibleProfileCanBeRenamedAndRemoved(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/with space.json": "{}", "profiles/профиль.json": "{}"})
	_, err := s.Rename(t.Context(), "with space", "with-space")
	must(t, err)
	s.want("profiles/with-space.json", "{}")
	s.gone("profiles/with space.json")
	_, err = s.Remove(t.Context(), "профиль")
	must(t, err)
	s.gone("profiles/профиль.json")
}

func TestRemove(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"profiles/a.json": "{}", "profiles/b.json": "not even JSON", "agent-profiles/one.json": agentProfile,
		"settings.json": strings.Replace(existingSettings, `"active_profile": null`, `"active_profile": "b"`, 1),
	})
	_, err := s.Remove(t.Context(), "a")
	inUse, ok := errors.AsType[*profile.InUseError](err)
	if !ok || !errors.Is(err, profile.ErrInUse) || inUse.By[0] != "one" {
		t.Errorf("in use: %v", err)
	}
	s.want("profiles/a.json", "{}")
	done, err := s.Remove(t.Context(), "b")
	if err != nil || done != (profile.Removal{Name: "b", Active: true}) {
		t.Errorf("Remove = %+v, error %v", done, err)
	}
	s.gone("profiles/b.json")
	s.want("settings.json", existingSettings)
	if _, err := s.Remove(t.Context(), "b"); !errors.Is(err, profile.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	if _, err := s.Remove(t.Context(), "../settings"); !errors.Is(err, profile.ErrName) {
		t.Errorf("a name with slashes: %v", err)
	}
	s.gone("profiles/agent-profiles")
}

// Every change waits for the lock of its store and gives up in time.
func TestChangesWaitForTheLocks(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/a.json": `{"model":"x"}`, "settings.json": existingSettings, "agent-profiles/one.json": "{}"})
	busy := profile.Open(profile.Config{Base: s.base, Locking: document.Locking{Timeout: time.Millisecond}})
	add := func(ctx context.Context) error {
		return busy.Add(ctx, "c", profile.NewDraft("x", ""), profile.AddOptions{})
	}
	use := func(ctx context.Context) error { _, err := busy.Use(ctx, "a", now()); return err }
	rename := func(ctx context.Context) error { _, err := busy.Rename(ctx, "a", "b"); return err }
	remove := func(ctx context.Context) error { _, err := busy.Remove(ctx, "a"); return err }
	for lockFile, changes := range map[string][]func(context.Context) error{
		"profiles/.profiles.lock":             {add, rename, remove},
		"agent-profiles/.agent-profiles.lock": {rename, remove},
		".settings.lock":                      {use},
	} {
		lock, err := filelock.Acquire(t.Context(), s.path(lockFile), filelock.Options{})
		must(t, err)
		for i, change := range changes {
			if err := change(t.Context()); !document.IsLockError(err) {
				t.Errorf("%s, change %d: %v", lockFile, i, err)
			}
		}
		must(t, lock.Release())
	}
	s.want("profiles/a.json", `{"model":"x"}`)
	s.want("settings.json", existingSettings)
	s.gone("profiles/c.json")
}

func TestLegacySettingsBecomeADraft(t *testing.T) {
	t.Parallel()
	token, err := fernet.NewKey(fixtureSecret).Encrypt([]byte(fixtureKey), now(), strings.NewReader("0123456789abcdef"))
	must(t, err)
	for name, tt := range map[string]struct{ settings, want, key string }{
		"a model of OpenHands": {`{"llm_model":"openhands/x","llm_api_key":"` + fixtureKey + `","llm_base_url":"` + proxyURL + `"}`, "{\n  \"model\": \"openhands/x\",\n  \"schema_version\": 1\n}", fixtureKey},
		"another provider":     {`{"llm_model":"openai/x","llm_api_key":null,"llm_base_url":"https://h.example"}`, "{\n  \"model\": \"openai/x\",\n  \"base_url\": \"https://h.example\",\n  \"schema_version\": 1\n}", ""},
		"an encrypted key":     {`{"llm_model":"openai/x","llm_api_key":"` + token + `"}`, "{\n  \"model\": \"openai/x\",\n  \"schema_version\": 1\n}", fixtureKey},
		"a foreign key":        {`{"llm_model":"openai/x","llm_api_key":"` + foreignToken + `"}`, "{\n  \"model\": \"openai/x\",\n  \"schema_version\": 1\n}", ""},
	} {
		s := newStore(t, map[string]string{"settings.json": tt.settings})
		draft, err := s.SettingsDraft()
		if err != nil || draft.Keys[secret.APIKey].Reveal() != tt.key || !draft.Legacy {
			t.Errorf("%s: %v", name, err)
		}
		must(t, s.Add(t.Context(), "a", draft, profile.AddOptions{}))
		s.want("profiles/a.json", tt.want)
		s.want("settings.json", tt.settings)
	}
}

func TestSettingsOfTodayBecomeADraft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ settings, want, key string }{
		"nulls are left out": {
			`{"schema_version":2,"agent_settings":{"llm":{"model":"openai/x","base_url":null,"seed":null,"top_p":0.50,"litellm_extra_body":{"a":null}}}}`,
			"{\n  \"model\": \"openai/x\",\n  \"top_p\": 0.50,\n  \"litellm_extra_body\": {\n    \"a\": null\n  },\n  \"schema_version\": 1\n}", "",
		},
		"an encrypted key stays": {
			`{"agent_settings":{"llm":{"model":"openai/x","api_key":"` + fixtureToken + `"}}}`,
			"{\n  \"model\": \"openai/x\",\n  \"api_key\": \"" + fixtureToken + "\",\n  \"schema_version\": 1\n}", "",
		},
		"one in clear does not": {
			`{"agent_settings":{"llm":{"model":"openai/x","api_key":"` + fixtureKey + `"}}}`,
			"{\n  \"model\": \"openai/x\",\n  \"schema_version\": 1\n}", fixtureKey,
		},
	} {
		s := newStore(t, map[string]string{"settings.json": tt.settings})
		draft, err := s.SettingsDraft()
		if err != nil || draft.Keys[secret.APIKey].Reveal() != tt.key || draft.Legacy {
			t.Errorf("%s: %v", name, err)
		}
		must(t, s.Add(t.Context(), "a", draft, profile.AddOptions{}))
		s.want("profiles/a.json", tt.want)
		s.want("settings.json", tt.settings)
	}
	if _, err := newStore(t, nil).SettingsDraft(); !errors.Is(err, profile.ErrNotFound) {
		t.Errorf("no settings: %v", err)
	}
	for _, settings := range []string{`{"schema_version":2}`, `{"schema_version":9}`, `{`, `{"agent_settings":{"llm":{"seed":1}}}`, `{"a":1,"a":2,"agent_settings":{"llm":{"model":"x"}}}`} {
		if _, err := newStore(t, map[string]string{"settings.json": settings}).SettingsDraft(); err == nil {
			t.Errorf("%s: a draft", settings)
		}
	}
}

func TestADraftHasNoSecretOfAWSInClear(t *testing.T) {
	t.Parallel()
	draft, err := profile.ParseDraft([]byte(`{"model":"bedrock/x","aws_access_key_id":"AKIAEXAMPLE","aws_secret_access_key":"` + fixtureKey + `","aws_session_token":"` + fixtureToken + `"}`))
	must(t, err)
	if draft.Keys[secret.AWSAccessKeyID].Reveal() != "AKIAEXAMPLE" || draft.Keys[secret.AWSSecretAccessKey].Reveal() != fixtureKey || len(draft.Keys) != 2 {
		t.Errorf("%d keys", len(draft.Keys))
	}
	s := newStore(t, nil)
	must(t, s.Add(t.Context(), "a", draft, profile.AddOptions{}))
	s.want("profiles/a.json", "{\n  \"model\": \"bedrock/x\",\n  \"aws_session_token\": \""+fixtureToken+"\",\n  \"schema_version\": 1\n}")
}

func TestAnUnwritableStoreIsAnErrorAndStays(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	s := newStore(t, map[string]string{"profiles/a.json": `{"model":"x"}`, "settings.json": existingSettings})
	for _, rel := range []string{"profiles", "."} {
		must(t, os.Chmod(s.path(rel), 0o500))
		t.Cleanup(func() { _ = os.Chmod(s.path(rel), 0o700) })
	}
	if err := s.Add(t.Context(), "b", profile.NewDraft("x", ""), profile.AddOptions{}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("Add: %v", err)
	}
	if _, err := s.Use(t.Context(), "a", now()); !errors.Is(err, os.ErrPermission) {
		t.Errorf("Use: %v", err)
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("List: %v, %v", list, err)
	}
	s.want("settings.json", existingSettings)
	if entries, err := filepath.Glob(s.path("*.tmp")); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// Another program makes another profile the active one while we wait for the
// settings: its choice stays.
func TestAChoiceThatIsMadeMeanwhileStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		active := func(name string) string {
			return strings.Replace(existingSettings, `"active_profile": null`, `"active_profile": "`+name+`"`, 1)
		}
		s := newStore(t, map[string]string{"profiles/a.json": "{}", "settings.json": active("a")})
		lock, err := filelock.Acquire(t.Context(), s.path(".settings.lock"), filelock.Options{})
		must(t, err)
		waiting := profile.Open(profile.Config{Base: s.base, Locking: document.Locking{OnWait: func(filelock.Holder) {
			write(t, s.path("settings.json"), active("other"))
			must(t, lock.Release())
		}}})
		if done, err := waiting.Rename(t.Context(), "a", "b"); err != nil || done.New != "b" {
			t.Errorf("Rename = %+v, error %v", done, err)
		}
		s.want("settings.json", active("other"))
	})
}
