package agents

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/setuptest"
)

func TestUsable(t *testing.T) {
	t.Parallel()
	status := func(kind error) agentapi.Status {
		if kind == nil {
			return agentapi.Status{}
		}
		return agentapi.Status{Address: "http://h", Err: &agentapi.Error{Kind: kind, Msg: "The reason.", Err: errors.New("private")}}
	}
	tests := []struct {
		name  string
		kind  error
		named bool
		want  fault.Code
	}{
		{"a healthy server", nil, false, 0},
		{"a named server may come later", agentapi.ErrUnavailable, true, 0},
		{"none was named and none answers", agentapi.ErrUnavailable, false, fault.Unreachable},
		{"something else is at the default address", agentapi.ErrRefused, false, fault.Unreachable},
		{"a key that is not taken, named", agentapi.ErrUnauthorized, true, fault.Credential},
		{"a key that is not taken, found", agentapi.ErrUnauthorized, false, fault.Credential},
		{"something else is at the named address", agentapi.ErrRefused, true, fault.Failed},
		{"too old", agentapi.ErrUnsupported, true, fault.Failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := usable(t.Context(), status(tt.kind), tt.named)
			if got := fault.CodeOf(err); got != tt.want {
				t.Errorf("usable = %v, code %d, want %d", err, got, tt.want)
			}
			if err == nil {
				return
			}
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Hint == "" || f.Err.Error() != "The reason." || !strings.Contains(f.Msg, "http://h") {
				t.Errorf("usable = %+v", err)
			}
		})
	}
}

func TestAVariableWithoutAUsableKeyIsNamed(t *testing.T) {
	t.Parallel()
	for variable, text := range map[string]string{
		"OHGW_AGENT_SERVER_KEY": "Bearer sk-secret", "OH_SESSION_API_KEYS_0": "sk-secret\nsk-secret", "SESSION_API_KEY": "\ufeffsk-secret",
	} {
		env := setuptest.New(t, map[string]string{variable: text})
		_, err := serverKey(env, &config.Settings{}, slog.New(slog.DiscardHandler))
		if fault.CodeOf(err) != fault.Credential || !strings.Contains(err.Error(), variable) || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: %v", variable, err)
		}
	}
	env := setuptest.New(t, map[string]string{"OHGW_AGENT_SERVER_KEY": "sk-secret\n"})
	if key, err := serverKey(env, &config.Settings{}, slog.New(slog.DiscardHandler)); err != nil || key() != "sk-secret" {
		t.Errorf("a line break at the end: %v", err)
	}
}

func TestFileStampFollowsTheProfiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := setuptest.New(t, nil)
	a.Paths = func() (paths.Set, error) { return paths.Set{Home: home, State: filepath.Join(home, "state")}, nil }
	stamp := fileStamp(a, "http://127.0.0.1:8000")
	before := stamp()
	if again := stamp(); again != before {
		t.Errorf("nothing changed, and the stamp went from %q to %q", before, again)
	}
	dir := filepath.Join(home, ".openhands", "profiles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, content := range []string{`{"model":"a"}`, `{"model":"a","api_key":"b"}`} {
		if err := os.WriteFile(filepath.Join(dir, "p.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		after := stamp()
		if after == before {
			t.Errorf("change %d is not seen", i)
		}
		before = after
	}
	keys := secret.NewKeyring(secret.KeyringConfig{Index: filepath.Join(home, "state", setup.KeyNamesFile), Backend: secrettest.FileKeyring(t.TempDir())})
	for _, key := range []string{"a key", "another key in its place"} {
		if err := keys.Set(t.Context(), "provider/openai", secret.New(key)); err != nil {
			t.Fatal(err)
		}
		after := stamp()
		if after == before {
			t.Errorf("%s is not seen", key)
		}
		before = after
	}
	if fileStamp(a, "http://192.0.2.1:8000") != nil {
		t.Error("files here stand for those of a server elsewhere")
	}
}

func TestABackendOfAnotherProcessHasNothingToTidy(t *testing.T) {
	t.Parallel()
	if err := (Backend{}).Tidy(filepath.Join(t.TempDir(), "workspace")); err != nil {
		t.Error(err)
	}
}
