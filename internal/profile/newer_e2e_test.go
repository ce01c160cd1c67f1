//go:build e2e

package profile_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// loaded prints what OpenHands understands of the settings in a directory.
const loaded = `
import json, logging, sys, warnings
from pathlib import Path
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from openhands.sdk.utils.cipher import Cipher
from openhands.agent_server.persistence.store import FileSettingsStore
s = FileSettingsStore(Path(sys.argv[1]), Cipher(sys.argv[2])).load()
agent = s.agent_settings.model_dump(mode="json", context={"expose_secrets": "plaintext"})
print("RESULT" + json.dumps([s.active_profile, agent["schema_version"], agent["llm"]["model"], agent["llm"]["api_key"], agent["persona"],
    agent["mcp_config"]["fetch"]["env"]["TOKEN"], [t["name"] for t in agent["tools"]]]))
`

// A newer OpenHands finds another active profile in its settings, with its LLM, and all
// else as it was.
func TestANewerOpenHandsReadsWhatUseHasChanged(t *testing.T) {
	t.Parallel()
	s := newNewer(t)
	_, err := s.Use(t.Context(), "cheap", now())
	must(t, err)
	var got any
	must(t, json.Unmarshal(sdktest.Result(t, sdktest.Run(t, s.base, loaded, s.base, fixtureSecret)), &got))
	want := []any{
		"cheap", 9.0, "openai/gpt-5-mini", fixtureKey, "You are a careful reviewer.", fixtureKey,
		[]any{"terminal", "file_editor", "switch_llm"},
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
