package profile_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/profile"
)

// toolCase are settings, and the tools of an agent that OpenHands makes of them.
type toolCase struct {
	settings string
	tools    []string // null: those that null stands for, sub-agents included
	switches bool     // it can change the model
}

// oldToolCases have the switches of agent settings before version 8.
func oldToolCases() map[string]toolCase {
	old := func(members string) string {
		return `{"schema_version":2,"agent_settings":{"schema_version":5,"agent_kind":"openhands","llm":{"model":"openai/x"},` + members + `}}`
	}
	return map[string]toolCase{
		"neither":                  {old(`"tools":null`), []string{"terminal", "file_editor", "task_tracker"}, true},
		"sub-agents":               {old(`"enable_sub_agents":true`), []string{"terminal", "file_editor", "task_tracker", "task_tool_set"}, true},
		"sub-agents as a word":     {old(`"enable_sub_agents":"on","enable_switch_llm_tool":"off"`), []string{"terminal", "file_editor", "task_tracker", "task_tool_set"}, false},
		"sub-agents beside a list": {old(`"enable_sub_agents":true,"tools":[{"name":"terminal"}]`), []string{"terminal"}, true},
		"sub-agents in the list":   {old(`"enable_sub_agents":false,"tools":[{"name":"terminal"},{"name":"task_tool_set"}]`), []string{"terminal", "task_tool_set"}, true},
	}
}

// newToolCases have none, or some that are left over.
func newToolCases() map[string]toolCase {
	at := func(version, members string) string {
		return `{"schema_version":5,"agent_settings":{"schema_version":` + version + `,"agent_kind":"openhands","llm":{"model":"openai/x"},` + members + `}}`
	}
	standard := []string{"terminal", "file_editor", "task_tracker"}
	listed := `"tools":[{"name":"terminal","params":{}},{"name":"task_tool_set","params":{}},{"name":"switch_llm","params":{}}]`
	return map[string]toolCase{
		"8 null":                   {at("8", `"tools":null`), standard, true},
		"9 null":                   {at("9", `"tools":null`), standard, true},
		"9 without a member":       {at("9", `"agent":"CodeActAgent"`), standard, true},
		"8 listed":                 {at("8", listed), []string{"terminal", "task_tool_set"}, true},
		"9 listed":                 {at("9", listed), []string{"terminal", "task_tool_set"}, true},
		"9 bare":                   {at("9", `"tools":[]`), []string{}, false},
		"9 by the name of a class": {at("9", `"tools":[{"name":"terminal"},{"name":"SwitchLLMTool"}]`), []string{"terminal"}, true},
		"8 left over":              {at("8", `"enable_sub_agents":true,"enable_switch_llm_tool":false,"tools":null`), standard, true},
		"8 left over and a list":   {at("8", `"enable_sub_agents":false,"enable_switch_llm_tool":false,`+listed), []string{"terminal", "task_tool_set"}, true},
		"8 left over and nonsense": {at("8", `"enable_sub_agents":"perhaps","tools":null`), standard, true},
		"7 folds": {
			`{"schema_version":4,"agent_settings":{"schema_version":7,"llm":{"model":"openai/x"},"enable_switch_llm_tool":false,"tools":[{"name":"terminal"},{"name":"switch_llm"}]}}`,
			[]string{"terminal"},
			false,
		},
	}
}

// toolsOf are the tools that engines make of settings: the list, or the standard ones with
// what the switch adds.
func toolsOf(t *testing.T, s profile.ConversationSettings) toolCase {
	t.Helper()
	var agent struct {
		Tools     []struct{ Name string } `json:"tools"`
		SubAgents bool                    `json:"enable_sub_agents"`
		Switch    bool                    `json:"enable_switch_llm_tool"`
	}
	must(t, json.Unmarshal([]byte(s.Agent.Reveal()), &agent))
	out := toolCase{tools: []string{}, switches: agent.Switch}
	for _, tool := range agent.Tools {
		out.tools = append(out.tools, tool.Name)
	}
	if agent.Tools == nil {
		out.tools = []string{"terminal", "file_editor", "task_tracker"}
		if agent.SubAgents {
			out.tools = append(out.tools, "task_tool_set")
		}
	}
	return out
}

func TestSwitchesAndListsGiveTheToolsThatOpenHandsGives(t *testing.T) {
	t.Parallel()
	for _, cases := range []map[string]toolCase{oldToolCases(), newToolCases()} {
		for name, tt := range cases {
			got := toolsOf(t, conversationSettings(t, tt.settings))
			if !slices.Equal(got.tools, tt.tools) || got.switches != tt.switches {
				t.Errorf("%s: tools = %v, switch %t, want %v, %t", name, got.tools, got.switches, tt.tools, tt.switches)
			}
		}
	}
}

// refusedSettings are those of version 9 that have what version 9 has not, and what that is.
func refusedSettings() map[string]string {
	at := func(kind, members string) string {
		return `{"schema_version":6,"active_profile":"p","agent_settings":{"schema_version":9,"agent_kind":"` + kind + `",` + members + `}}`
	}
	return map[string]string{
		at("openhands", `"llm":{"model":"openai/x"},"enable_sub_agents":true,"tools":[{"name":"terminal"}]`): "enable_sub_agents",
		at("openhands", `"llm":{"model":"openai/x"},"enable_switch_llm_tool":false`):                         "enable_switch_llm_tool",
		at("acp", `"acp_server":"codex","llm":{"model":"openai/x"}`):                                         "llm",
	}
}

// Such settings count as the defaults, as in OpenHands; check says so.
func TestCheckNamesWhatNewerSettingsCannotHave(t *testing.T) {
	t.Parallel()
	for src, name := range refusedSettings() {
		s := newStore(t, map[string]string{"settings.json": src, "profiles/p.json": `{"model":"openai/x"}`})
		if active, err := s.Active(); err != nil || active != "p" {
			t.Errorf("active %q, %v", active, err)
		}
		if got, err := s.ConversationSettings(); err == nil || !strings.HasSuffix(err.Error(), "agent_settings."+name) || !got.Agent.IsZero() {
			t.Errorf("ConversationSettings = %+v, error %v", got, err)
		}
		report, err := s.Check(t.Context(), profile.CheckOptions{})
		must(t, err)
		want := []string{"removed-member error agent settings of version 9 cannot have " + name}
		var got []string
		for _, p := range report.Problems {
			_, why, _ := strings.Cut(p.Text, "defaults: ")
			got = append(got, p.Code+" "+string(p.Severity)+" "+why)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", src, diff)
		}
	}
	for _, cases := range []map[string]toolCase{oldToolCases(), newToolCases()} {
		for name, tt := range cases {
			report, err := newStore(t, map[string]string{"settings.json": tt.settings}).Check(t.Context(), profile.CheckOptions{})
			if err != nil || len(report.Problems) > 0 {
				t.Errorf("%s: problems = %+v, error %v", name, report.Problems, err)
			}
		}
	}
}

// Parameters of tools stay as they are, also where one is taken out of the list.
func TestParametersOfListedToolsStay(t *testing.T) {
	t.Parallel()
	got := conversationSettings(t, `{"agent_settings":{"schema_version":9,"tools":[{"name":"switch_llm"},{"name":"terminal","params":{"no_change_timeout_seconds":0.50}}]}}`)
	var agent struct{ Tools json.RawMessage }
	must(t, json.Unmarshal([]byte(got.Agent.Reveal()), &agent))
	if diff := cmp.Diff(`[{"name":"terminal","params":{"no_change_timeout_seconds":0.50}}]`, string(agent.Tools)); diff != "" {
		t.Error(diff)
	}
}
