package storedagent_test

import (
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
)

func TestTheStandardToolsCanHaveABrowser(t *testing.T) {
	t.Parallel()
	const standard = `[{"name":"terminal","params":{}},{"name":"file_editor","params":{}},{"name":"task_tracker","params":{}}`
	for settings, want := range map[string]string{
		`{}`:                         standard + `,{"name":"browser_tool_set","params":{}}]`,
		`{"enable_sub_agents":true}`: standard + `,{"name":"browser_tool_set","params":{}},{"name":"task_tool_set","params":{}}]`,
		`{"tools":[]}`:               `[]`,
	} {
		data, err := storedagent.New(storedagent.Source{
			Name: "p", LLM: json.RawMessage(`{"model":"openai/x"}`), Settings: json.RawMessage(settings), Browser: true,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var agent struct{ Tools json.RawMessage }
		if err := json.Unmarshal(data, &agent); err != nil || string(agent.Tools) != want {
			t.Errorf("tools with settings %s: %s, %v", settings, agent.Tools, err)
		}
	}
}
