package file_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
)

// The bytes of a text are kept, what is new is in the encoding of the file, and the
// encoding is named. Where it cannot be told, nothing but ASCII is written.
func TestEncodingsAreNamedAndNeverMixed(t *testing.T) {
	t.Parallel()
	const untold, latin, nothing = "cannot be told", "taken for Windows-1252", ""
	for name, test := range map[string]struct {
		before string
		named  string
		latin  bool // é and “ ” can be written
	}{
		"UTF-8":                     {"caf\xc3\xa9\n", nothing, true},
		"Shift_JIS":                 {"\x93\xfa\x96{\x8c\xea\x82\xcc\x83e\x83X\x83g\n", untold, false},
		"Shift_JIS, katakana":       {"x = 1 # \x83J\x83^\x83J\x83i\n", untold, false},
		"GBK":                       {"\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7\n", untold, false},
		"GBK, a word":               {"name = \xd6\xd0\xce\xc4\n", untold, false},
		"Big5":                      {"\xa7A\xa6n\xa1A\xa5@\xac\xc9\n", untold, false},
		"EUC-JP":                    {"\xc6\xfc\xcb\xdc\xb8\xec\n", untold, false},
		"EUC-KR":                    {"\xc7\xd1\xb1\xdb \xb9\xae\xc0\xe5\n", untold, false},
		"KOI8-R":                    {"\xf0\xd2\xc9\xd7\xc5\xd4 \xcd\xc9\xd2\n", "taken for KOI8-R or KOI8-U", false},
		"Greek":                     {"\xca\xe1\xeb\xe7\xec\xdd\xf1\xe1 \xea\xfc\xf3\xec\xe5\n", "taken for Windows-1253 or ISO-8859-7", false},
		"Polish (Windows-1250)":     {"\xbf\xf3\xb3w w g\xf3ry, \xb3\xb9ka, \xb3ata, wi\xb3a, po\xb3a, by\xb3a\n", "taken for Windows-1250", true},
		"UTF-8 with a broken end":   {"caf\xc3\xa9 na\xc3\xafve \xe4\xb8\n", untold, false},
		"French":                    {"L'\xe9t\xe9 \xe0 No\xebl, d\xe9j\xe0\n", latin, true},
		"Portuguese":                {"a\xe7\xf5es e informa\xe7\xe3o\n", latin, true},
		"Icelandic":                 {"\xfea\xf0 er gott, hva\xf0 er a\xf0\n", latin, true},
		"an apostrophe and dashes":  {"don\x92t \x96 it\x92s 5 \x80\n", latin, true},
		"guillemets":                {"\xab\xa0Caf\xe9\xa0\xbb et th\xe9\n", latin, true},
		"Windows-1251":              {in1251("Съешь ещё этих мягких булок\n"), "taken for Windows-1251", false},
		"UTF-16":                    {"\xff\xfea\x00\n\x00", "(in UTF-16 (little-endian))", true},
		"UTF-16 without a mark":     {"a\x00b\x00\xe9\x00\n\x00", "(little-endian) without a byte order mark", true},
		"UTF-16 big without a mark": {"\x00a\x00b\x00\r\x00\n", "(big-endian) without a byte order mark", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "a.txt")
			write(t, path, test.before)
			e := editor(t, file.Config{Dir: dir})
			view := run(t, e, args{"command": "view", "path": path})
			header, _, _ := strings.Cut(view.Text, "\n")
			if view.IsError || !strings.Contains(header, test.named) || test.named == nothing && header != path+":" {
				t.Errorf("view: %+v", view)
			}
			got := run(t, e, args{"command": "insert", "path": path, "insert_line": 1, "new_str": "café “x”"})
			if got.IsError == test.latin {
				t.Errorf("insert: %+v", got)
			}
			if got.IsError && content(t, path) != test.before {
				t.Errorf("changed to %q", content(t, path))
			}
			if !test.latin && test.named == untold && !strings.Contains(got.Text, "only ASCII can be written, and not 'é' (U+00E9)") {
				t.Errorf("insert: %+v", got)
			}
			if !got.IsError && !strings.HasPrefix(content(t, path), test.before) {
				t.Errorf("changed to %q", content(t, path))
			}
			got = run(t, e, args{"command": "insert", "path": path, "insert_line": 0, "new_str": "plain"})
			if got.IsError || !strings.Contains(got.Text, test.named) {
				t.Errorf("insert: %+v", got)
			}
		})
	}
}

// What an edit replaces is a number of whole characters.
func TestNoCharacterIsPartedWhereTheEncodingIsUnknown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ before, old, with, after string }{
		"a backslash that ends a character":  {"\x83\\\x83t\x83g \\n \x95\xb6\x8e\x9a\n", "ƒ\\", "", "-"},
		"within one":                         {"\x95\\\x8e\xa6 x\n", "\\", "/", "-"},
		"beside one":                         {"\x93\xfaabc\x96{\n", "abc", "xyz", "\x93\xfaxyz\x96{\n"},
		"a line with kept characters":        {"a = 1 # \x93\xfa\x96{\n", "a = 1 # “ú–{", "b = 2 # “ú–{", "b = 2 # \x93\xfa\x96{\n"},
		"the first byte of one is replaced":  {"\xd6\xd0\xce\xc4 a\n", "Ö", "O", "-"},
		"the second byte of one is replaced": {"\xd6\xd0\xce\xc4 a\n", "ÐÎ", "DI", "-"},
		"one is removed":                     {"\xd6\xd0\xce\xc4 a\n", "ÖÐ", "", "\xce\xc4 a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "a.txt")
			write(t, path, test.before)
			got := run(t, editor(t, file.Config{Dir: dir}), args{"command": "str_replace", "path": path, "old_str": test.old, "new_str": test.with})
			want := test.after
			if want == "-" {
				want = test.before
			}
			if now := content(t, path); now != want || got.IsError != (want == test.before) {
				t.Errorf("content = %q, want %q; result %+v", now, want, got)
			}
		})
	}
}

func TestUTF32IsNoTextForTheEditor(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\xff\xfe\x00\x00a\x00\x00\x00", "a\x00\x00\x00b\x00\x00\x00", "\x00\x00\xfe\xff\x00\x00\x00a", "\x01\x00\x02\x00\x03\x00\x04\x00"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.txt")
		write(t, path, text)
		if got := run(t, editor(t, file.Config{Dir: dir}), args{"command": "view", "path": path}); !got.IsError || !strings.Contains(got.Text, "binary") {
			t.Errorf("%q: result = %+v", text, got)
		}
	}
}
