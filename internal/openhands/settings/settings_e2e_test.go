//go:build e2e

package settings_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// loaded prints which settings OpenHands loads.
const loaded = `
import json, logging, sys, warnings
from pathlib import Path
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from openhands.agent_server.persistence.store import FileSettingsStore
print("RESULT" + json.dumps([FileSettingsStore(Path(d), None).load() is not None for d in sys.argv[1:]]))
`

func TestOpenHandsLoadsTheSettingsOfTheTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var texts, args []string
	for src := range cases() {
		name := strconv.Itoa(len(texts))
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "settings.json"), []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		texts, args = append(texts, src), append(args, name)
	}
	out, err := sdktest.CommandOf(t, agentservertest.Newest, dir, loaded, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []bool
	if err := json.Unmarshal(sdktest.Result(t, out), &verdicts); err != nil {
		t.Fatal(err)
	}
	got, want := map[string]bool{}, map[string]bool{}
	for i, src := range texts {
		got[src], want[src] = verdicts[i], cases()[src] == ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
}
