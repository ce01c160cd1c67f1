package wire_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// The words are those that an agent-server of version 1.58.2 answers with.
func TestAnIDThatIsNoUUIDSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"none":                                 "invalid character: found `n` at 0",
		"1":                                    "invalid length: found 1",
		"12345678-1234-1234-1234-12345678901g": "invalid character: found `g` at 35",
		"urn:uuid:x":                           "invalid character: found `x` at 9",
		"{x}":                                  "invalid character: found `x` at 1",
		"{x":                                   "invalid character: found `{` at 0",
		"":                                     "invalid length: found 0",
		"-":                                    "invalid group count: expected 5, found 2",
		"11111111-2222":                        "invalid group count: expected 5, found 2",
		"1111111-2222-4333-8444-5555555555555": "invalid group length in group 0: expected 8, found 7",
	} {
		if _, err := wire.ParseID(text, "path", "id"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if id, err := wire.ParseID("11111111222243338444555555555555"); err != nil || id != "11111111-2222-4333-8444-555555555555" {
		t.Error(id, err)
	}
}
