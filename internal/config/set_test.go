package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/config"
)

func TestASettingIsWrittenIntoItsTable(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, old string
		value     any
		want      string
	}{
		{"no file", "", true, "[chat]\nvim = true\n"},
		{"no table", "addr = \"x\" # mine\n", true, "addr = \"x\" # mine\n\n[chat]\nvim = true\n"},
		{"other tables", "[chat]\ntheme = \"dark\"\n[idle]\ntime = \"5m\"\n", true, "[chat]\nvim = true\ntheme = \"dark\"\n[idle]\ntime = \"5m\"\n"},
		{"there already", "[chat]\nvim = true\n# end\n", false, "[chat]\nvim = false\n# end\n"},
		{"the table ends the file", "[chat]", "x", "[chat]\nvim = \"x\"\n"},
		{"a dotted key", "chat.vim = false\n", true, "chat.vim = true\n"},
		{"a dotted table", "chat.theme = \"dark\"\n[idle]\n", true, "chat.theme = \"dark\"\nchat.vim = true\n[idle]\n"},
		{"the same key elsewhere", "vim = 1\n[idle]\nvim = 2\n", true, "vim = 1\n[idle]\nvim = 2\n\n[chat]\nvim = true\n"},
	} {
		path := filepath.Join(t.TempDir(), "ohgw", "config.toml")
		if tc.old != "" {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(tc.old), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := config.Set(path, "chat", "vim", tc.value); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if got, _ := os.ReadFile(path); string(got) != tc.want {
			t.Errorf("%s: file = %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestAConfigThatCannotBeChangedStays(t *testing.T) {
	t.Parallel()
	for _, old := range []string{"chat = { theme = \"dark\" }\n", "x = [\n", "text = \"\"\"\n[chat]\n\"\"\"\n"} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := config.Set(path, "chat", "vim", true); !errors.Is(err, config.ErrNotAppendable) {
			t.Errorf("%q: %v", old, err)
		}
		if got, _ := os.ReadFile(path); string(got) != old {
			t.Errorf("%q became %q", old, got)
		}
	}
}
