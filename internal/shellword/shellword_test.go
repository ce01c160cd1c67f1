package shellword_test

import (
	"testing"

	"github.com/ohgw/ohgw/internal/shellword"
)

func TestAWordIsQuotedWhereAShellNeedsIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/home/me/.local/state/ohgw":    "/home/me/.local/state/ohgw",
		"/home/zoë/x":                   "/home/zoë/x",
		"9.41\u202fAM":                  "'9.41\u202fAM'",
		"a\u200bb":                      "'a\u200bb'",
		"/Users/me/Application Support": "'/Users/me/Application Support'",
		"it's":                          `'it'\''s'`, "a$b": "'a$b'", "": "''", "~x": "'~x'",
		"`id`": "'`id`'", "[::1]:443": "'[::1]:443'", "*.x": "'*.x'", "a\nb": "'a\nb'", `a"b\`: `'a"b\'`,
	} {
		if got := shellword.Of(text); got != want {
			t.Errorf("Of(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "''", "a": "'a'", "it's $x": `'it'\''s $x'`} {
		if got := shellword.Quoted(text); got != want {
			t.Errorf("Quoted(%q) = %s, want %s", text, got, want)
		}
	}
}
