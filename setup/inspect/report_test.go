package inspect

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/doctor"
)

func TestABundleHidesWhoseMachineItIs(t *testing.T) {
	t.Parallel()
	a := &setup.Env{
		Notes: setup.Silent{}, CanAsk: func() bool { return false },
		// As a timer starts it: no variable names the user.
		Environ: func() []string {
			return []string{"OHGW_KEY_STORE=keyring", "OHGW_API_KEYS=first-canary, second-canary", "OHGW_AGENT_SERVER_KEY=third-canary"}
		},
		Getenv:   func(string) string { return "" },
		Hostname: func() (string, error) { return "", nil },
		Paths:    func() (paths.Set, error) { return paths.Set{Home: filepath.FromSlash("/home/jane")}, nil },
	}
	text, err := doctor.Bundle([]string{
		"keyring", "first-canary", "<second-canary>", "third-canary", filepath.FromSlash("/home/jane/x"), "/data/jane/y",
	}, Hidden(t.Context(), a))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := []string{"keyring", "[redacted]", "<[redacted]>", "[redacted]", filepath.FromSlash("~/x"), "/data/USER/y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
