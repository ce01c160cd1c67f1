package files_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

const foreignToken = "gAAAAABpVbkAEBESExQVFhcYGRobHB0eH5-1DraCaCafjvuYRPex_vJ6vU8QRqZtByoN30WuxkHHKQcJ7bL8Uqw59OAQD4ZrNA=="

// open opens a directory with some files. key is OH_SECRET_KEY; "" for none.
func open(t testing.TB, key string, content map[string]string) (*files.Store, string) {
	t.Helper()
	return openWith(t, key, content, func(*files.Config) {})
}

// openWith is open with what change makes of the configuration.
func openWith(t testing.TB, key string, content map[string]string, change func(*files.Config)) (*files.Store, string) {
	t.Helper()
	base := filepath.Join(t.TempDir(), "base")
	for name, text := range content {
		path := filepath.Join(base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	lookup := func(name string) (string, bool) { return key, name == "OH_SECRET_KEY" && key != "" }
	ciphers := profile.FindCiphers(profile.CipherSources{LookupEnv: lookup})
	keys := keysOf(base)
	cfg := files.Config{
		Profiles: profile.Open(profile.Config{Base: base, Ciphers: ciphers}), Ciphers: ciphers, Keys: keys,
		Resolver: secret.NewResolver(keys, secret.Providers(), lookup), Now: time.Now,
	}
	change(&cfg)
	return files.New(cfg), base
}

// keysOf are the keys that ohgw itself keeps beside an opened directory.
func keysOf(base string) *secret.File {
	return secret.NewFile(secret.FileConfig{Path: filepath.Join(base, "keys.json"), Now: time.Now})
}

func read(t testing.TB, base, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(base, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func kindOf(err error) openhands.Kind {
	if e, ok := errors.AsType[*openhands.Error](err); ok {
		return e.Kind
	}
	return 0
}

// A patch changes one line: unknown members, spellings, and a secret that ohgw
// cannot decrypt stay as they are.
func TestAPatchKeepsWhatItDoesNotChange(t *testing.T) {
	t.Parallel()
	before := `{
  "later": [1.50, "ü"],
  "agent_settings": {"schema_version": 5, "llm": {"model": "openai/m", "api_key": "` + foreignToken + `", "timeout": 30, "mine": null}}
}`
	s, base := open(t, "sec", map[string]string{"settings.json": before})
	got, err := s.Settings.Patch(t.Context(), openhands.Patch{Agent: map[string]any{"llm": map[string]any{"timeout": json.Number("31")}}})
	if err != nil || got.KeySet {
		t.Fatal(got.KeySet, err)
	}
	if after := read(t, base, "settings.json"); after != strings.Replace(before, `"timeout": 30`, `"timeout": 31`, 1) {
		t.Errorf("the file is now %s", after)
	}
}

// The settings of a newer OpenHands are shown and not changed.
func TestSettingsOfANewerOpenHandsAreShownOnly(t *testing.T) {
	t.Parallel()
	before := strings.Replace(read(t, "../../profile/testdata/openhands-1.58.2", "settings.json"), `"schema_version": 9`, `"schema_version": 10`, 1)
	s, base := open(t, "ohgw-example-secret-key-0001", map[string]string{"settings.json": before})
	shown, err := s.Settings.Get(t.Context(), openhands.Masked)
	if err != nil || shown.Active == nil || *shown.Active != "work" || fmt.Sprintf("%s", shown.Conversation["max_iterations"]) != "77" {
		t.Errorf("settings = %+v, error %v", shown, err)
	}
	for name, patch := range map[string]openhands.Patch{
		"agent":        {Agent: map[string]any{"tool_concurrency_limit": json.Number("2")}},
		"conversation": {Conversation: map[string]any{"confirmation_mode": false}},
		"misc":         {Misc: map[string]any{"x": true}},
	} {
		_, err := s.Settings.Patch(t.Context(), patch)
		if kindOf(err) != openhands.Unreadable || !strings.Contains(err.Error(), "newer OpenHands") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := read(t, base, "settings.json"); after != before {
		t.Errorf("the file is now %s", after)
	}
}

// Keys are written encrypted where there is a key to encrypt with, and are then shown
// as asked.
func TestKeysAreEncryptedInFiles(t *testing.T) {
	t.Parallel()
	s, base := open(t, "sec", nil)
	const key = "sk-not-a-real-key"
	if err := s.LLMProfiles.Save(t.Context(), "a", json.RawMessage(`{"model":"openai/m","api_key":"`+key+`"}`), true); err != nil {
		t.Fatal(err)
	}
	if err := s.LLMProfiles.Activate(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Secrets.Set(t.Context(), "NAME", key, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Connections.Add(t.Context(), openhands.ConnectionChange{Name: ptr("c"), Key: ptr(key)}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"profiles/a.json", "settings.json", "secrets.json", "provider-connections/provider_connections.json"} {
		if text := read(t, base, name); strings.Contains(text, key) || !strings.Contains(text, "gAAAAA") {
			t.Errorf("%s: file = %s", name, text)
		}
	}
	found, err := s.LLMProfiles.Get(t.Context(), "a", openhands.Clear)
	if err != nil || found.Config["api_key"] != key {
		t.Error(found.Config["api_key"] == key, err)
	}
	if value, err := s.Secrets.Get(t.Context(), "NAME"); err != nil || value != key {
		t.Error(err)
	}
}

func ptr(text string) *string { return &text }

// Without a key to encrypt with, nothing is shown encrypted.
func TestWithoutAKeyNothingIsEncrypted(t *testing.T) {
	t.Parallel()
	s, _ := open(t, "", nil)
	if _, err := s.Settings.Get(t.Context(), openhands.Encrypted); kindOf(err) != openhands.NoKey {
		t.Error(err)
	}
}

// That secrets are stored in clear text is said once, and without them.
func TestSecretsInClearTextAreSaidInTheLog(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{"": 1, "a key for this test": 0} {
		var log strings.Builder
		base := t.TempDir()
		ciphers := profile.FindCiphers(profile.CipherSources{LookupEnv: func(name string) (string, bool) { return key, name == "OH_SECRET_KEY" && key != "" }})
		s := files.New(files.Config{
			Profiles: profile.Open(profile.Config{Base: base, Ciphers: ciphers}), Ciphers: ciphers, Now: time.Now,
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		for _, name := range []string{"ONE", "TWO"} {
			if err := s.Secrets.Set(t.Context(), name, "sk-not-in-the-log", nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Count(log.String(), "clear text"); got != want || strings.Contains(log.String(), "sk-not") {
			t.Errorf("key %q: the log is %s", key, &log)
		}
	}
}

// Clients get encrypted secrets without OH_SECRET_KEY, and send them back; in the files
// they are what they were.
func TestWithoutAKeyClientsGetSecretsEncryptedForThem(t *testing.T) {
	t.Parallel()
	s, base := openWith(t, "", map[string]string{"profiles/a.json": `{"model":"openai/test","api_key":"sk-test-a"}`}, func(cfg *files.Config) {
		cfg.Wire = fernet.NewKey("of this process")
	})
	config, err := s.LLMProfiles.Get(t.Context(), "a", openhands.Encrypted)
	if err != nil {
		t.Fatal(err)
	}
	token, _ := config.Config["api_key"].(string)
	if plain, err := s.Sealing.Unseal(token); !fernet.IsToken(token) || err != nil || plain != "sk-test-a" {
		t.Fatalf("%q is %q, %v", token, plain, err)
	}
	llm := []byte(`{"model":"openai/test","api_key":"` + token + `"}`)
	if err := s.LLMProfiles.Save(t.Context(), "b", llm, true); err != nil {
		t.Fatal(err)
	}
	if text := read(t, base, "profiles/b.json"); !strings.Contains(text, `"sk-test-a"`) {
		t.Errorf("the file has %s", text)
	}
}

// A key that ohgw keeps itself counts, is shown when it is asked for, and is where a
// new key of the profile goes.
func TestAKeyThatOhgwKeepsIsTheProfiles(t *testing.T) {
	t.Parallel()
	s, base := open(t, "", map[string]string{"profiles/a.json": `{"model":"openai/m"}`})
	entry := secret.ProfileEntry(base, "a", secret.APIKey)
	if err := keysOf(base).Set(t.Context(), entry, secret.New("kept-key-0123456789")); err != nil {
		t.Fatal(err)
	}
	for exposure, want := range map[openhands.Exposure]any{openhands.Masked: json.RawMessage("null"), openhands.Clear: "kept-key-0123456789"} {
		got, err := s.LLMProfiles.Get(t.Context(), "a", exposure)
		key, _ := json.Marshal(got.Config["api_key"])
		text, _ := json.Marshal(want)
		if err != nil || !got.KeySet || string(key) != string(text) {
			t.Error(exposure, got.KeySet, string(key), err)
		}
	}
	if err := s.LLMProfiles.Save(t.Context(), "a", json.RawMessage(`{"model":"openai/m","api_key":"new-key-0123456789"}`), true); err != nil {
		t.Fatal(err)
	}
	if now, err := keysOf(base).Get(t.Context(), entry); err != nil || now.Reveal() != "new-key-0123456789" {
		t.Error(err)
	}
	if strings.Contains(read(t, base, "profiles/a.json"), "new-key") {
		t.Error("the key is in the file, too")
	}
}

// missing are agent profiles that refer to what is not there, beside the LLM profile a and
// the meta-profiles "torn", of which one model is there, and "whole", and what OpenHands
// 1.58.2 answers to a start with them.
var missing = []struct {
	members map[string]any
	detail  string
}{
	{
		map[string]any{"llm_profile_ref": "gone"},
		`{"code":"unresolved_profile_references","dangling_llm_profile_ref":"gone","dangling_mcp_server_refs":[],"dangling_meta_profile_llm_refs":[],"dangling_meta_profile_ref":null,"message":"LLM profile 'gone' not found"}`,
	},
	{
		map[string]any{"llm_profile_ref": "a", "mcp_server_refs": []any{"x", "y"}},
		`{"code":"unresolved_profile_references","dangling_llm_profile_ref":null,"dangling_mcp_server_refs":["x","y"],"dangling_meta_profile_llm_refs":[],"dangling_meta_profile_ref":null,"message":"MCP server(s) not configured: x, y"}`,
	},
	{
		map[string]any{"llm_profile_ref": "a", "enable_classify_and_switch_llm_tool": true, "meta_profile_ref": "nowhere"},
		`{"code":"unresolved_profile_references","dangling_llm_profile_ref":null,"dangling_mcp_server_refs":[],"dangling_meta_profile_llm_refs":[],"dangling_meta_profile_ref":"nowhere","message":"Meta-profile 'nowhere' not found"}`,
	},
	{
		map[string]any{"llm_profile_ref": "gone", "mcp_server_refs": []any{"x"}, "enable_classify_and_switch_llm_tool": true, "meta_profile_ref": "torn"},
		`{"code":"unresolved_profile_references","dangling_llm_profile_ref":"gone","dangling_mcp_server_refs":["x"],"dangling_meta_profile_llm_refs":["b","c"],"dangling_meta_profile_ref":null,"message":"LLM profile 'gone' not found; MCP server(s) not configured: x; LLM profile(s) routed to by the meta-profile not found: b, c"}`,
	},
}

const torn = `{"classifier_model":"b","classes":[{"description":"d","model":"a"},{"description":"e","model":"c"},{"description":"f","model":"b"}]}`

// What an agent profile refers to and is not there is said.
func TestResolveSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	s, _ := open(t, "sec", map[string]string{
		"profiles/a.json": `{"model":"openai/m","api_key":"sk-not-a-real-key"}`, "meta-profiles/torn.json": torn,
	})
	id := func(members map[string]any) string {
		if err := s.AgentProfiles.Save(t.Context(), "p", members); err != nil {
			t.Fatal(err)
		}
		list, err := s.AgentProfiles.All()
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return *list[0].ID
	}
	launch, err := s.AgentProfiles.Resolve(t.Context(), id(map[string]any{"llm_profile_ref": "a"}))
	if err != nil || launch.LLM != "a" || strings.Contains(string(launch.Settings), "sk-not") {
		t.Error(launch.LLM, err)
	}
	for _, tt := range missing {
		_, err := s.AgentProfiles.ResolveAll(t.Context(), id(tt.members), "")
		failure, ok := errors.AsType[*openhands.Error](err)
		if !ok || failure.Kind != openhands.Invalid {
			t.Errorf("members %v: %v", tt.members, err)
			continue
		}
		detail, err := json.Marshal(failure.Detail)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.detail, string(detail)); diff != "" {
			t.Errorf("members %v:\n%s", tt.members, diff)
		}
	}
	if _, err := s.AgentProfiles.Resolve(t.Context(), id(map[string]any{"llm_profile_ref": "a", "enable_classify_and_switch_llm_tool": true, "meta_profile_ref": "torn"})); err != nil {
		t.Errorf("without regard to its meta-profile: %v", err)
	}
	own := id(map[string]any{"llm_profile_ref": "gone", "enable_classify_and_switch_llm_tool": false})
	if launch, err := s.AgentProfiles.ResolveAll(t.Context(), own, "a"); err != nil || launch.LLM != "a" {
		t.Errorf("another LLM profile: %q, %v", launch.LLM, err)
	}
	if _, err := s.AgentProfiles.ResolveAll(t.Context(), own, "none"); kindOf(err) != openhands.Invalid || !strings.Contains(fmt.Sprint(err), "none") {
		t.Errorf("another LLM profile that is not there: %v", err)
	}
	acp := id(map[string]any{"agent_kind": "acp", "acp_server": "claude-code"})
	if _, err := s.AgentProfiles.ResolveAll(t.Context(), acp, "a"); kindOf(err) != openhands.Invalid || !strings.Contains(fmt.Sprint(err), "only to an OpenHands Agent Profile") {
		t.Errorf("an LLM profile for an ACP agent: %v", err)
	}
	if _, err := s.AgentProfiles.Resolve(t.Context(), "00000000-0000-4000-8000-000000000000"); kindOf(err) != openhands.NotFound {
		t.Error(err)
	}
}

// Whatever a patch is, the settings can be read afterwards.
func FuzzPatch(f *testing.F) {
	f.Add(`{"llm":{"timeout":"7","api_key":"**********"}}`)
	f.Add(`{"mcp_config":{"a":{"command":"c","env":{"K":"v"}}},"agent_kind":"acp"}`)
	f.Add(`{"agent_context":{"secrets":{"A":{"kind":"LookupSecret","url":"u","headers":{"KEY":"v"}}}},"tools":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var patch map[string]any
		if json.Unmarshal([]byte(text), &patch) != nil || patch == nil {
			t.Skip()
		}
		s, _ := open(t, "sec", nil)
		after, err := s.Settings.Patch(t.Context(), openhands.Patch{Agent: patch})
		if err != nil {
			if kind := kindOf(err); kind != openhands.Invalid {
				t.Fatal(kind, err)
			}
			return
		}
		again, err := s.Settings.Get(t.Context(), openhands.Masked)
		if err != nil {
			t.Fatal(err)
		}
		// A text may be spelled in two ways: U+FFFD is "\ufffd" in one of them here.
		clean := func(settings openhands.Settings) (meaning any) {
			if context, ok := settings.Agent["agent_context"].(map[string]any); ok {
				delete(context, "current_datetime")
			}
			data, err := json.Marshal(settings)
			if err != nil {
				t.Fatal(err)
			}
			decoder := json.NewDecoder(bytes.NewReader(data))
			decoder.UseNumber()
			if err := decoder.Decode(&meaning); err != nil {
				t.Fatal(err)
			}
			return meaning
		}
		if diff := cmp.Diff(clean(after), clean(again)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A key in the environment counts. It is shown encrypted only: the agent canvas begins a
// conversation with that. One that would go to another host does not count.
func TestAKeyOfTheEnvironmentIsSet(t *testing.T) {
	t.Parallel()
	s, _ := openWith(t, "sec", map[string]string{
		"settings.json":   `{"active_profile":"a","agent_settings":{"llm":{"model":"openai/m"}}}`,
		"profiles/a.json": `{"model":"openai/m"}`, "profiles/b.json": `{"model":"openai/m","base_url":"https://elsewhere.example/v1"}`, "profiles/c.json": `{"model":"groq/m"}`,
	}, func(cfg *files.Config) {
		cfg.Resolver = secret.NewResolver(cfg.Keys, secret.Providers(), func(name string) (string, bool) {
			return map[string]string{"OPENAI_API_KEY": "sk-of-the-environment-0123456789"}[name], name == "OPENAI_API_KEY"
		})
	})
	list, err := s.LLMProfiles.List(t.Context())
	if err != nil || len(list.Profiles) != 3 {
		t.Fatal(list, err)
	}
	for _, p := range list.Profiles {
		if want := p.Name == "a"; p.KeySet != want {
			t.Errorf("%s in the list: %v, want %v", p.Name, p.KeySet, want)
		}
		for _, e := range []openhands.Exposure{openhands.Masked, openhands.Clear, openhands.Encrypted} {
			one, err := s.LLMProfiles.Get(t.Context(), p.Name, e)
			key := fmt.Sprintf("%s", one.Config["api_key"])
			if want := p.Name == "a"; err != nil || one.KeySet != want || (key != "null") != (want && e == openhands.Encrypted) || strings.Contains(key, "sk-of") {
				t.Errorf("%s alone, exposure %v: %v %s %v, want %v", p.Name, e, one.KeySet, key, err, want)
			}
		}
	}
	if got, err := s.Settings.Get(t.Context(), openhands.Masked); err != nil || !got.KeySet {
		t.Errorf("the settings: %v, %v", got.KeySet, err)
	}
}

// The settings have a key where the active profile has one for their LLM.
func TestAKeyOfTheActiveProfileIsThatOfTheSettings(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]bool{
		`{"active_profile":"a","agent_settings":{"llm":{"model":"openai/m","base_url":"http://x/v1"}}}`:     true,
		`{"active_profile":"a","agent_settings":{"llm":{"model":"openai/m","base_url":"http://y/v1"}}}`:     false,
		`{"active_profile":"a","agent_settings":{"llm":{"model":"openai/other","base_url":"http://x/v1"}}}`: false,
		`{"active_profile":"b","agent_settings":{"llm":{"model":"openai/m","base_url":"http://x/v1"}}}`:     false,
		`{"agent_settings":{"llm":{"model":"openai/m","base_url":"http://x/v1"}}}`:                          false,
	} {
		s, base := open(t, "", map[string]string{
			"settings.json": settings, "profiles/a.json": `{"model":"openai/m","base_url":"http://x/v1"}`, "profiles/b.json": `{"model":"openai/m","base_url":"http://x/v1"}`,
		})
		if err := keysOf(base).Set(t.Context(), secret.ProfileEntry(base, "a", secret.APIKey), secret.New("kept-key-0123456789")); err != nil {
			t.Fatal(err)
		}
		got, err := s.Settings.Get(t.Context(), openhands.Masked)
		if err != nil || got.KeySet != want {
			t.Errorf("%s: key set = %v, error %v", settings, got.KeySet, err)
		}
	}
}
