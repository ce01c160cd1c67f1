package setup_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/servers"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/setuptest"
)

// brokenKeyring fails whatever it is asked.
type brokenKeyring struct{}

var errBroken = errors.New("broken")

func (brokenKeyring) Get(string, string) (string, error) { return "", errBroken }
func (brokenKeyring) Set(string, string, string) error   { return errBroken }
func (brokenKeyring) Delete(string, string) error        { return errBroken }

// settingsWith are the settings with a kind of key store.
func settingsWith(t *testing.T, kind string) *config.Settings {
	t.Helper()
	s, err := config.Load(config.Source{Getenv: func(string) string { return "" }, Flags: map[string][]string{"key-store": {kind}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hintOf is the hint of an error for people.
func hintOf(t *testing.T, err error) string {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		t.Fatalf("not an error for people: %v", err)
	}
	return f.Hint
}

// The key store of servers is that of LLM keys, and its faults say what to do about the
// keys of servers.
func TestTheFaultsOfAKeyStoreAreAboutItsKeys(t *testing.T) {
	t.Parallel()
	env := setuptest.New(t, nil)
	env.Keyring = brokenKeyring{}
	s := settingsWith(t, config.KeyringStore)
	stored, err := env.Servers(s)
	if err != nil {
		t.Fatal(err)
	}
	server := servers.Server{Name: "work", URL: "https://hands.example"}
	_, keyErr := stored.Key(t.Context(), server)
	_, forgetErr := stored.Forget(t.Context(), server)
	for name, err := range map[string]error{
		"reach": env.Reach(t.Context(), stored.KeyStore), "key": keyErr, "keep": stored.Keep(t.Context(), server, secret.New("k")), "forget": forgetErr,
	} {
		if hint := hintOf(t, err); hint != "set a variable such as OHGW_CLOUD_API_KEY, or use a private file: --key-store file" {
			t.Errorf("%s: hint = %q", name, hint)
		}
	}
	keys, err := env.OpenKeyStore(s, secret.PatienceForMachines)
	if err != nil {
		t.Fatal(err)
	}
	if hint := hintOf(t, env.Reach(t.Context(), keys)); !strings.Contains(hint, "ohgw keys set NAME --key-store file") {
		t.Errorf("LLM keys: %q", hint)
	}
}

func TestAnEncryptedKeyIsStoredAgainByTheCommandOfItsKind(t *testing.T) {
	t.Parallel()
	secretKey := "the first"
	env := setuptest.New(t, nil)
	env.Getenv = func(name string) string {
		if name == "OH_SECRET_KEY" {
			return secretKey
		}
		return ""
	}
	s := settingsWith(t, config.FileStore)
	server := servers.Server{Name: "work", URL: "https://hands.example"}
	open := func() setup.Servers {
		t.Helper()
		stored, err := env.Servers(s)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	if err := open().Keep(t.Context(), server, secret.New("k")); err != nil {
		t.Fatal(err)
	}
	secretKey = "another"
	_, err := open().Key(t.Context(), server)
	if hint := hintOf(t, err); !strings.HasSuffix(hint, "store the key again: ohgw server add NAME --replace") {
		t.Errorf("hint = %q", hint)
	}
}
