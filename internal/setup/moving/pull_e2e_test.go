//go:build e2e

package moving_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// pythonGoesOn opens a conversation with the real SDK, and says something more to a
// model at argv[2].
const pythonGoesOn = `
import json, os, sys, uuid
from pydantic import SecretStr
from openhands.sdk import LLM
from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.tools.preset.default import register_default_tools
register_default_tools(enable_browser=True)
c = LocalConversation(agent=None, workspace=sys.argv[3], persistence_dir=os.getcwd(),
    conversation_id=uuid.UUID(sys.argv[1]), visualizer=None, delete_on_close=False)
before = [type(e).__name__ for e in c.state.events]
llm = LLM(model="openai/test", base_url=sys.argv[2], api_key=SecretStr("sk-test"), usage_id="python", num_retries=0)
tools = [t for t in c.state.agent.tools if t.name != "browser_tool_set"]
c.state.agent = c.state.agent.model_copy(update={"llm": llm, "condenser": None, "tools": tools})
c.agent = c.state.agent
c.send_message("python goes on")
c.run()
print("RESULT" + json.dumps({"before": before, "after": [type(e).__name__ for e in c.state.events], "ended": c.state.execution_status.value}))
c.close()
`

// A conversation of the Cloud goes on here, then in OpenHands' SDK, then here again.
func TestPythonGoesOnWithAPulledConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.pull().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.say(t, "go on", "here I am")
	if err := w.engine.Close(); err != nil {
		t.Fatal(err)
	}
	w.llm.On(llmtest.Says("python goes on"), llmtest.Text("answered for the other"))
	var got struct {
		Before, After []string
		Ended         string
	}
	out := sdktest.Run(t, w.conversations(), pythonGoesOn, recordedHex, w.llm.URL, filepath.Join(w.state, "workspaces", recordedID))
	if err := json.Unmarshal(sdktest.Result(t, out), &got); err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadDir("testdata/record/events")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Before) <= len(recorded) || len(got.After) <= len(got.Before) || got.Ended != "finished" {
		t.Errorf("%d events were recorded; the SDK found %d, and left %d and %q", len(recorded), len(got.Before), len(got.After), got.Ended)
	}
	w.engine = openEngine(t, w.llm.URL, w.conversations())
	w.say(t, "and here", "here again")
}
