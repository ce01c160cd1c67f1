package secret_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

func fileConfig(t *testing.T, key fernet.Key) secret.FileConfig {
	t.Helper()
	return secret.FileConfig{
		Path: filepath.Join(t.TempDir(), "ohgw", "keys"),
		Key:  key,
		Now:  func() time.Time { return time.Unix(1767225600, 0) },
	}
}

func TestTheFileKeepsTheContract(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]fernet.Key{"plain": {}, "encrypted": fernet.NewKey("secret")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := fileConfig(t, key)
			secrettest.Contract(t, func(*testing.T) secret.Store { return secret.NewFile(cfg) })
		})
	}
}

func TestWithAKeyTheFileIsEncrypted(t *testing.T) {
	t.Parallel()
	cfg := fileConfig(t, fernet.NewKey("secret"))
	store := secret.NewFile(cfg)
	set(t, store, "provider/openai", fixtureKey)
	content, err := os.ReadFile(cfg.Path)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "the file", string(content))
	if info, err := os.Stat(cfg.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	if state, err := store.State(); err != nil || state != (secret.FileState{Exists: true}) {
		t.Errorf("state = %+v, %v", state, err)
	}

	for _, tt := range []struct {
		key  fernet.Key
		want error
	}{{fernet.NewKey("other"), fernet.ErrWrongKey}, {fernet.Key{}, fernet.ErrNoKey}} {
		other := cfg
		other.Key = tt.key
		if v, err := secret.NewFile(other).Get(t.Context(), "provider/openai"); !errors.Is(err, tt.want) || !v.IsZero() {
			t.Errorf("error = %v, want %v", err, tt.want)
		}
	}
}

func TestAPlainKeyThatLooksEncryptedComesBack(t *testing.T) {
	t.Parallel()
	plain := fileConfig(t, fernet.Key{})
	set(t, secret.NewFile(plain), "a", "gAAAAA-is-how-this-key-starts")
	encrypted := plain
	encrypted.Key = fernet.NewKey("secret")
	store := secret.NewFile(encrypted)
	if v, err := store.Get(t.Context(), "a"); err != nil || v.Reveal() != "gAAAAA-is-how-this-key-starts" {
		t.Errorf("Get: %v", err)
	}
	if state, err := store.State(); err != nil || state.Plain != 1 {
		t.Errorf("state = %+v, %v", state, err)
	}
	set(t, store, "a", "new")
	if state, err := store.State(); err != nil || state.Plain != 0 {
		t.Errorf("state after Set = %+v, %v", state, err)
	}
}

func TestStateTellsWhoCanRead(t *testing.T) {
	t.Parallel()
	cfg := fileConfig(t, fernet.Key{})
	store := secret.NewFile(cfg)
	if state, err := store.State(); err != nil || state != (secret.FileState{}) {
		t.Errorf("state of no file = %+v, %v", state, err)
	}
	set(t, store, "a", "key")
	if err := os.Chmod(cfg.Path, 0o640); err != nil {
		t.Fatal(err)
	}
	if state, err := store.State(); err != nil || !state.Exposed {
		t.Errorf("state = %+v, %v", state, err)
	}
	set(t, store, "b", "key")
	if state, err := store.State(); err != nil || state.Exposed {
		t.Errorf("state after a write = %+v, %v", state, err)
	}
}

func TestADamagedKeyFileIsAnErrorAndStays(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"", `{"version":1,"keys":{"a":{"plain":"` + fixtureKey, `{"version":1,"keys":"` + fixtureKey + `"}`, `{"version":2,"keys":{}}`,
	} {
		cfg := fileConfig(t, fernet.Key{})
		if err := os.MkdirAll(filepath.Dir(cfg.Path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(cfg.Path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		store := secret.NewFile(cfg)
		_, getErr := store.Get(t.Context(), "a")
		_, listErr := store.List(t.Context())
		_, stateErr := store.State()
		for _, err := range []error{getErr, listErr, stateErr, store.Set(t.Context(), "b", secret.New("x")), store.Delete(t.Context(), "a")} {
			if err == nil || errors.Is(err, secret.ErrNotFound) {
				t.Errorf("%.20q: error = %v", content, err)
				continue
			}
			check(t, "error", err.Error())
		}
		if after, err := os.ReadFile(cfg.Path); err != nil || string(after) != content {
			t.Errorf("the file is now %q", after)
		}
	}
}

func set(t *testing.T, store secret.Store, name, key string) {
	t.Helper()
	if err := store.Set(t.Context(), name, secret.New(key)); err != nil {
		t.Fatal(err)
	}
}

func TestEnvReadsTheVariablesOfLiteLLM(t *testing.T) {
	t.Parallel()
	vars := map[string]string{
		"TOGETHER_AI_API_KEY": "together", "GEMINI_API_KEY": "gemini", "GOOGLE_API_KEY": "google",
		"OPENAI_API_KEY": "", "AWS_SECRET_ACCESS_KEY": "aws", "LITELLM_PROXY_API_KEY": "proxy",
	}
	env := secret.NewEnv(secret.Providers(), func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
	for _, tt := range []struct{ provider, field, key, variable string }{
		{"together_ai", "", "together", "TOGETHER_AI_API_KEY"},
		{"gemini", "", "google", "GOOGLE_API_KEY"},
		{"openai", "", "", ""},
		{"bedrock", secret.AWSSecretAccessKey, "aws", "AWS_SECRET_ACCESS_KEY"},
		{"openai", secret.AWSSecretAccessKey, "", ""},
		{"openhands", "", "proxy", "LITELLM_PROXY_API_KEY"},
		{"litellm_proxy", "", "proxy", "LITELLM_PROXY_API_KEY"},
		{"nobody", "", "", ""},
	} {
		name := secret.ProviderEntry(tt.provider, tt.field)
		v, err := env.Get(t.Context(), name)
		if v.Reveal() != tt.key || (tt.key == "") != errors.Is(err, secret.ErrNotFound) || env.Variable(name) != tt.variable {
			t.Errorf("%s: %q from %q, %v; want %q from %q", name, v.Reveal(), env.Variable(name), err, tt.key, tt.variable)
		}
	}
	if err := env.Set(t.Context(), "provider/openai", secret.New("x")); !errors.Is(err, secret.ErrReadOnly) {
		t.Errorf("Set: %v", err)
	}
	if err := env.Delete(t.Context(), "provider/gemini"); !errors.Is(err, secret.ErrReadOnly) {
		t.Errorf("Delete: %v", err)
	}
	names, err := env.List(t.Context())
	want := "provider/bedrock/aws_secret_access_key provider/gemini provider/litellm_proxy provider/openhands provider/together_ai"
	if got := strings.Join(names, " "); err != nil || got != want {
		t.Errorf("List = %s, %v", got, err)
	}
}
