//go:build e2e && soak

package soak_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// opens loads every conversation below the current directory with OpenHands'
// SDK and reads all its events.
const opens = `
import json, os, uuid
from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.tools.preset.default import register_default_tools
register_default_tools(enable_browser=False)
os.makedirs("ws", exist_ok=True)
out = {}
for name in sorted(os.listdir(".")):
    if not os.path.exists(os.path.join(name, "base_state.json")):
        continue
    try:
        c = LocalConversation(agent=None, workspace=os.path.abspath("ws"), persistence_dir=os.getcwd(),
            conversation_id=uuid.UUID(name), visualizer=None, delete_on_close=False)
        out[name] = {"events": len([e.model_dump_json() for e in c.state.events])}
        c.close()
    except Exception as e:
        import traceback
        out[name] = {"error": traceback.format_exc()[-2000:]}
print("RESULT" + json.dumps(out))
`

// python has OpenHands' SDK open a sample of the conversations that a daemon
// has left.
func python(t *testing.T, d *daemon, sample int) {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "ohgw-soak-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	list, err := filepath.Glob(filepath.Join(d.State, "conversations", "*"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no conversation is left: %v", err)
	}
	step := max(1, len(list)/sample)
	for i := 0; i < len(list); i += step {
		if out, err := exec.Command("cp", "-a", list[i], root).CombinedOutput(); err != nil {
			t.Fatalf("cp -a: %v\n%s", err, out)
		}
	}
	var results map[string]struct {
		Events int
		Error  string
	}
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, root, opens)), &results); err != nil {
		t.Fatal(err)
	}
	for name, r := range results {
		// A conversation whose first message found the disk full is there without one.
		stored, err := filepath.Glob(filepath.Join(root, name, "events", "event-*.json"))
		if err != nil || r.Error != "" || r.Events == 0 && len(stored) > 0 {
			t.Errorf("OpenHands does not open %s: %d events of %d, %v\n%s", name, r.Events, len(stored), err, r.Error)
		}
	}
	t.Logf("OpenHands opened %d of %d conversations", len(results), len(list))
}
