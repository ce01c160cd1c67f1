package file_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
)

// in1251 is a text of letters from А to я, Ё and ё in Windows-1251.
func in1251(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteByte(byte(r))
		case r == 'Ё':
			b.WriteByte(0xa8)
		case r == 'ё':
			b.WriteByte(0xb8)
		default:
			b.WriteByte(byte(r - 'А' + 0xc0))
		}
	}
	return b.String()
}

func TestCyrillicTextIsReadAndWritten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, shown string }{
		"a sentence":        {in1251("Съешь ещё этих мягких булок\n"), "Съешь ещё этих мягких булок"},
		"a comment":         {in1251("x = 1  # считает строки\n"), "# считает строки"},
		"among Latin words": {in1251("Запуск make test проходит\n"), "Запуск make test проходит"},
		"French":            {"L'\xe9t\xe9 a \xe9t\xe9 tr\xe8s chaud \xe0 No\xebl\n", "L'été a été très chaud à Noël"},
		"German":            {"\xc4rger \xfcber \xd6l, Stra\xdfe\n", "Ärger über Öl, Straße"},
		"one word of two":   {"\xe4\xe0\n", "äà"},
		"KOI8-R":            {"\xf0\xd2\xc9\xd7\xc5\xd4\n", "Привет"},
		"Greek":             {"\xca\xe1\xeb\xe7\xec\xdd\xf1\xe1 \xea\xfc\xf3\xec\xe5\n", "Καλημέρα κόσμε"},
		"Hebrew":            {"\xf9\xec\xe5\xed \xf2\xe5\xec\xed\n", "שלום עולם"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "a.txt")
			write(t, path, test.before)
			e := editor(t, file.Config{Dir: dir})
			if got := run(t, e, args{"command": "view", "path": path}); got.IsError || !strings.Contains(got.Text, test.shown) {
				t.Errorf("view: %+v", got)
			}
			got := run(t, e, args{"command": "str_replace", "path": path, "old_str": test.shown, "new_str": test.shown + "!"})
			if now := content(t, path); got.IsError || now != strings.TrimSuffix(test.before, "\n")+"!\n" {
				t.Errorf("%q: result = %+v", now, got)
			}
		})
	}
}

func TestTextWithControlCharactersIsUTF8(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content string
		isError bool
	}{
		"colours":           {"\x1b[1mbold\x1b[0m caf\xc3\xa9\n", false},
		"form feed":         {"caf\xe9\f\v\n", false},
		"colours, Latin-1":  {"\x1b[1mbold\x1b[0m caf\xe9\n", true},
		"one byte, Latin-1": {strings.Repeat("abc ", 30) + "\x01 caf\xe9\n", true},
		"DEL, Latin-1":      {"caf\xe9\x7f\n", true},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.txt")
		write(t, path, test.content)
		if got := run(t, editor(t, file.Config{Dir: dir}), args{"command": "view", "path": path}); got.IsError != test.isError {
			t.Errorf("%s: result = %+v", name, got)
		}
	}
}
