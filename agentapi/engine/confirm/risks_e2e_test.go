//go:build e2e

package confirm_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// The newest OpenHands says what is recorded. With OHGW_TEST_RECORD=1 it is recorded again.
func TestOpenHandsSaysWhatIsRecorded(t *testing.T) {
	t.Setenv("OHGW_AGENT_SERVER_VERSION", agentservertest.Newest)
	dir := t.TempDir()
	script, err := os.ReadFile("testdata/risks.py")
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("testdata/risks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in"), before, 0o600); err != nil {
		t.Fatal(err)
	}
	sdktest.Run(t, dir, string(script), "in", "out")
	after, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("OHGW_TEST_RECORD") != "" {
		if err := os.WriteFile("testdata/risks.jsonl", after, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, lines := table(t)
	now := json.NewDecoder(bytes.NewReader(after))
	for i, r := range old {
		var got recorded
		if err := now.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.Pattern != r.Pattern || got.Rails != r.Rails || got.Both != r.Both || got.Strict != r.Strict {
			t.Errorf("%.200s: now %s, %s, %s, %s", lines[i], got.Pattern, got.Rails, got.Both, got.Strict)
		}
	}
}
