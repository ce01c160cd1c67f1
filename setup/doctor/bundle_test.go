package doctor_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/setup/doctor"
)

func TestABundleHasNoSecret(t *testing.T) {
	t.Parallel()
	text, err := doctor.Bundle(map[string]any{
		"texts": []string{
			`the key "quoted\and-odd" was refused`, "canary-one-canary", "/home/jane/.openhands is not there", "jane@box",
			"sk-aaaaaaaaaaaaaaaaaaaa", "http://user:hunter22@proxy", "it is short",
		},
		"canary-one-canary": true,
		"number":            1.5,
	}, doctor.Hidden{
		Secrets: []string{`quoted\and-odd`, "canary-one", "canary-one-canary", "short", ""},
		Names:   map[string]string{"/home/jane": "~", "jane": "USER", "box": "HOST", "me": "X", "": "Y"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"texts": []any{
			`the key "[redacted]" was refused`, "[redacted]", "~/.openhands is not there", "USER@HOST",
			"[redacted]", "http://user:[redacted]@proxy", "it is short",
		},
		"[redacted]": true,
		"number":     1.5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(string(text), "}\n") {
		t.Error("the file does not end in a line end")
	}
}
