//go:build e2e

package profile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// madeTools prints the tools of the agents that OpenHands makes of the settings in
// directories, and whether they can change the model.
const madeTools = `
import json, logging, sys, warnings
from pathlib import Path
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from openhands.agent_server.persistence.store import FileSettingsStore
out = {}
for name in sys.argv[1:]:
    settings = FileSettingsStore(Path(name), None).load()
    if settings is None:
        out[name] = "refused"
        continue
    agent = settings.agent_settings.create_agent()
    tools = [t.name for t in agent.tools]
    out[name] = [[t for t in tools if t not in ("switch_llm", "SwitchLLMTool")],
        bool({"switch_llm", "SwitchLLMTool"} & {*tools, *agent.include_default_tools})]
print("RESULT" + json.dumps(out))
`

// made are the tools that an OpenHands of a version makes.
func made(t *testing.T, version string, cases map[string]toolCase) map[string]any {
	t.Helper()
	dir, args := t.TempDir(), []string{}
	for name, tt := range cases {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name, "settings.json"), []byte(tt.settings), 0o600))
		args = append(args, name)
	}
	cmd := sdktest.Command(t, dir, madeTools, args...)
	cmd.Env = append(os.Environ(), "OHGW_AGENT_SERVER_VERSION="+version)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running OpenHands' code: %v\n%s", err, stderr.Bytes())
	}
	var got map[string]any
	must(t, json.Unmarshal(sdktest.Result(t, out), &got))
	return got
}

// Each OpenHands makes the tools that the tables say, of the settings of its own version.
func TestTheTablesOfToolsAreThoseOfOpenHands(t *testing.T) {
	t.Parallel()
	for version, cases := range map[string]map[string]toolCase{"1.43.1": oldToolCases(), agentservertest.Newest: newToolCases()} {
		want := map[string]any{}
		for name, tt := range cases {
			tools := []any{}
			for _, tool := range tt.tools {
				tools = append(tools, tool)
			}
			want[name] = []any{tools, tt.switches}
		}
		if version == agentservertest.Newest {
			for src := range refusedSettings() {
				name := fmt.Sprintf("refused %d", len(want))
				cases[name], want[name] = toolCase{settings: src}, "refused"
			}
		}
		if diff := cmp.Diff(want, made(t, version, cases)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
}
