package fault_test

import (
	"testing"

	"github.com/ohgw/ohgw/internal/fault"
)

func TestAWordIsQuotedWhereAShellNeedsIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/home/me/.local/state/ohgw":    "/home/me/.local/state/ohgw",
		"/home/zoë/x":                   "/home/zoë/x",
		"/Users/me/Application Support": "'/Users/me/Application Support'",
		"it's":                          `'it'\''s'`, "a$b": "'a$b'", "": "''", "~x": "'~x'",
	} {
		if got := fault.Word(text); got != want {
			t.Errorf("Word(%q) = %s, want %s", text, got, want)
		}
	}
}
