package oneline_test

import (
	"testing"

	"github.com/ohgw/ohgw/internal/oneline"
)

func TestATextBecomesOneLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                             "",
		" \r\n\t":                      "",
		"plain":                        "plain",
		"a  b\nc":                      "a b c",
		"lab\x1b[31mel":                "lab [31mel",
		"c1\u009b31m":                  "c1 31m",
		"line\u2028and\u2029paragraph": "line and paragraph",
		"file\u202etxt.exe":            "filetxt.exe",
		"\u2067right to left\u2069":    "right to left",
		"bad \xff byte":                "bad \uFFFD byte",
		"family 👨\u200d👩\u200d👧 stays": "family 👨\u200d👩\u200d👧 stays",
		"fixed\u00a0space":             "fixed\u00a0space",
		"\x00nul":                      "nul",
	} {
		if got := oneline.Of(in); got != want {
			t.Errorf("Of(%q) = %q, want %q", in, got, want)
		}
	}
}
