//go:build e2e

package pydantic_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// The table is what the pydantic of the newest OpenHands answers. Where it is not:
// scripts/agent-server python testdata/truth.py testdata/truth.json
func TestTheTableIsPydantics(t *testing.T) {
	t.Setenv("OHGW_AGENT_SERVER_VERSION", agentservertest.Newest)
	script, err := os.ReadFile("testdata/truth.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sdktest.Run(t, dir, string(script), "truth.json")
	data, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var theirs []truth
	if err := json.Unmarshal(data, &theirs); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theirs, table(t)); diff != "" {
		t.Errorf("(-theirs +ours):\n%s", diff)
	}
}
