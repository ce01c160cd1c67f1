package wire_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/native/wire"
)

// The words are those that an agent-server of version 1.43.1 answers with.
func TestAnIDThatIsNoUUIDSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"none":                                 "found `n` at 1",
		"1":                                    "invalid length: expected length 32 for simple format, found 1",
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
