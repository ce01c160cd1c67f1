package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/config"
)

func TestRememberAddsOneLineAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	const line = "key_store = \"file\"\n"
	for name, tt := range map[string]struct{ before, want string }{
		"no file":            {"", line},
		"comments stay":      {"# mine\naddr = \"127.0.0.1:1\" # why\n", "# mine\naddr = \"127.0.0.1:1\" # why\n" + line},
		"no line end":        {"max_runs = 3", "max_runs = 3\n" + line},
		"other line ends":    {"max_runs = 3\r\n", "max_runs = 3\r\n" + line},
		"in a table":         {"[limits]\nmessages = 3\n", ""},
		"there already":      {"key_store = \"keyring\"\n", ""},
		"broken":             {"max_runs = ", ""},
		"an unfinished text": {"addr = \"\"\"\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ohgw", "config.toml")
			if tt.before != "" {
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(tt.before), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			err := config.Remember(path, config.KeyStoreKey, config.FileStore)
			got, _ := os.ReadFile(path)
			if tt.want == "" {
				if !errors.Is(err, config.ErrNotAppendable) || string(got) != tt.before {
					t.Errorf("error %v, file %q", err, got)
				}
				return
			}
			if err != nil || string(got) != tt.want {
				t.Errorf("error %v, file %q", err, got)
			}
			s, err := config.Load(config.Source{Getenv: func(string) string { return "" }, File: path})
			if err != nil || s.KeyStore != config.FileStore || !strings.HasSuffix(s.Origin(config.KeyStoreKey).Name, "config.toml") {
				t.Errorf("loaded %v, %v", s, err)
			}
		})
	}
}
