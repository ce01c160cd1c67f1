package files_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/files"
)

const helperID = "6f2b9e1c-6f5c-4a62-9a3f-0d1e6a1f7c11"

// helper is a recipe of a version, with further members.
func helper(version int, members string) string {
	return fmt.Sprintf(`{
  "schema_version": %d,
  "id": "%s",
  "name": "helper",
  "revision": 1,
  "llm_profile_ref": "fast"%s
}`, version, helperID, members)
}

// newMembers are what OpenHands 1.43.1 does not have, and spellings that stay.
const newMembers = `,
  "secret_refs": ["TOKEN"],
  "persona": "R\u00e9viseur",
  "public_skills": [ "a" ],
  "enable_classify_and_switch_llm_tool": true,
  "meta_profile_ref": "router",
  "disabled_skills":   [],
  "tools": [{"name": "terminal", "params": {"t": 0.50}}, {"name": "switch_llm", "params": {}}]`

func withHelper(recipe string) map[string]string {
	return map[string]string{"agent-profiles/helper.json": recipe, "profiles/fast.json": `{"model":"openai/m"}`}
}

// launched is what the tools and switches of a recipe become.
func launched(t *testing.T, recipe string) (tools []string, subAgents, switches bool, launch openhands.Launch) {
	t.Helper()
	s, _ := open(t, "", withHelper(recipe))
	launch, err := s.AgentProfiles.Resolve(t.Context(), helperID)
	if err != nil {
		t.Fatalf("%s: %v", recipe, err)
	}
	var agent struct {
		Tools     []struct{ Name string } `json:"tools"`
		SubAgents bool                    `json:"enable_sub_agents"`
		Switch    bool                    `json:"enable_switch_llm_tool"`
	}
	if err := json.Unmarshal(launch.Settings, &agent); err != nil {
		t.Fatal(err)
	}
	for _, tool := range agent.Tools {
		tools = append(tools, tool.Name)
	}
	if agent.Tools != nil && tools == nil {
		tools = []string{}
	}
	return tools, agent.SubAgents, agent.Switch, launch
}

func TestRecipesOfAllVersionsGiveTheirTools(t *testing.T) {
	t.Parallel()
	const listed = `, "tools": [{"name":"terminal"},{"name":"task_tool_set"},{"name":"switch_llm"}]`
	for _, tt := range []struct {
		name, recipe        string
		tools               []string // nil: the standard ones
		subAgents, switches bool
	}{
		{"2", helper(2, ""), nil, false, true},
		{"2 with switches", helper(2, `,"enable_sub_agents":true,"enable_switch_llm_tool":false`), nil, true, false},
		{"2 with a secret list", helper(2, `,"secret_refs":[]`), nil, false, true},
		{"2 with both", helper(2, `,"enable_switch_llm_tool":false`+listed), []string{"terminal", "task_tool_set"}, false, false},
		{"3", helper(3, ""), nil, false, true},
		{"3 listed", helper(3, listed), []string{"terminal", "task_tool_set"}, false, true},
		{"3 with switches that are left over", helper(3, `,"enable_sub_agents":true,"enable_switch_llm_tool":false`), nil, false, true},
		{"4", helper(4, `,"tools":null`), nil, false, true},
		{"4 listed", helper(4, listed), []string{"terminal", "task_tool_set"}, false, true},
		{"4 by the name of a class", helper(4, `,"tools":[{"name":"SwitchLLMTool"}]`), []string{}, false, true},
		{"4 bare", helper(4, `,"tools":[]`), []string{}, false, false},
		{"99", helper(99, listed+`,"later":{"x":1}`), []string{"terminal", "task_tool_set"}, false, true},
	} {
		tools, subAgents, switches, _ := launched(t, tt.recipe)
		if !slices.Equal(tools, tt.tools) || (tools == nil) != (tt.tools == nil) || subAgents != tt.subAgents || switches != tt.switches {
			t.Errorf("%s: tools %v, sub-agents %t, switch %t", tt.name, tools, subAgents, switches)
		}
	}
}

// What has no effect is named; which secrets the agent may have has one.
func TestResolveNamesWhatHasNoEffect(t *testing.T) {
	t.Parallel()
	_, _, _, launch := launched(t, helper(4, newMembers))
	want := []string{"public_skills", "enable_classify_and_switch_llm_tool", "meta_profile_ref"}
	if diff := cmp.Diff(want, launch.Ignored); diff != "" {
		t.Error(diff)
	}
	if launch.Secrets == nil || !slices.Equal(*launch.Secrets, []string{"TOKEN"}) {
		t.Errorf("secrets %v", launch.Secrets)
	}
	if !strings.Contains(string(launch.Settings), `"persona": "R\u00e9viseur"`) && !strings.Contains(string(launch.Settings), `"persona":"R`) {
		t.Errorf("the persona is not in %s", launch.Settings)
	}
	const defaults = `,"secret_refs":null,"persona":null,"public_skills":[],"enable_classify_and_switch_llm_tool":false,"meta_profile_ref":null`
	if _, _, _, plain := launched(t, helper(4, defaults)); len(plain.Ignored) > 0 || plain.Secrets != nil {
		t.Errorf("what is ignored, and the secrets: %v, %v", plain.Ignored, plain.Secrets)
	}
	if _, _, _, none := launched(t, helper(3, `,"secret_refs":[]`)); none.Secrets == nil || len(*none.Secrets) != 0 {
		t.Errorf("secrets %v", none.Secrets)
	}
}

func TestRecipesThatOpenHandsDoesNotLoad(t *testing.T) {
	t.Parallel()
	for _, recipe := range []string{
		helper(4, `,"enable_sub_agents":true`), helper(4, `,"later":1`), helper(2, `,"persona":"x"`), helper(4, `,"persona":""`),
		helper(3, `,"meta_profile_ref":5`), helper(0, ""), helper(-1, ""),
		strings.Replace(helper(4, ""), `"schema_version": 4`, `"schema_version": "4"`, 1),
	} {
		s, base := open(t, "", withHelper(recipe))
		if _, err := s.AgentProfiles.Resolve(t.Context(), helperID); kindOf(err) != openhands.Malformed {
			t.Errorf("%s: %v", recipe, err)
		}
		if read(t, base, "agent-profiles/helper.json") != recipe {
			t.Error("it is changed")
		}
	}
}

// A client that knows OpenHands 1.43.1 changes what it knows, in the version of the file;
// what it does not know keeps every byte.
func TestSavingKeepsTheVersionOfARecipe(t *testing.T) {
	t.Parallel()
	for version := 3; version <= 4; version++ {
		before := helper(version, newMembers)
		s, base := open(t, "", withHelper(before))
		members := map[string]any{
			"llm_profile_ref": "slow", "tools": []any{map[string]any{"name": "terminal", "params": map[string]any{"t": json.Number("0.50")}}},
			"enable_switch_llm_tool": true, "enable_sub_agents": false,
		}
		if err := s.AgentProfiles.Save(t.Context(), "helper", members); err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer(`"revision": 1`, `"revision": 2`, `"fast"`, `"slow"`).Replace(before)
		if diff := cmp.Diff(want, read(t, base, "agent-profiles/helper.json")); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
		members["persona"], members["enable_switch_llm_tool"] = "Other.", false
		delete(members, "enable_switch_llm_tool")
		delete(members, "enable_sub_agents")
		if err := s.AgentProfiles.Save(t.Context(), "helper", members); err != nil {
			t.Fatal(err)
		}
		got := read(t, base, "agent-profiles/helper.json")
		if !strings.Contains(got, `"Other."`) || strings.Contains(got, "switch_llm\"") || !strings.Contains(got, `"meta_profile_ref": "router"`) {
			t.Errorf("version %d: %s", version, got)
		}
	}
}

// foldCases are switches of a client, and the list that says the same.
func foldCases() map[string]string {
	return map[string]string{
		`{}`:                               `null`,
		`{"enable_sub_agents":true}`:       `["terminal","file_editor","task_tracker","browser_tool_set","task_tool_set","switch_llm"]`,
		`{"enable_switch_llm_tool":false}`: `["terminal","file_editor","task_tracker","browser_tool_set"]`,
		`{"enable_sub_agents":true,"enable_switch_llm_tool":false}`:                                       `["terminal","file_editor","task_tracker","browser_tool_set","task_tool_set"]`,
		`{"enable_sub_agents":true,"tools":[{"name":"terminal"}]}`:                                        `["terminal","switch_llm"]`,
		`{"enable_switch_llm_tool":true,"tools":[{"name":"switch_llm"},{"name":"terminal"}]}`:             `["switch_llm","terminal"]`,
		`{"enable_switch_llm_tool":false,"tools":[{"name":"SwitchLLMTool"},{"name":"terminal"}]}`:         `["terminal"]`,
		`{"enable_sub_agents":false,"tools":[{"name":"task_tool_set"}],"enable_switch_llm_tool":"false"}`: `["task_tool_set"]`,
	}
}

func TestSwitchesOfAClientBecomeTools(t *testing.T) {
	t.Parallel()
	for sent, want := range foldCases() {
		s, base := open(t, "", withHelper(helper(4, "")))
		members := map[string]any{"schema_version": 2}
		if err := json.Unmarshal([]byte(sent), &members); err != nil {
			t.Fatal(err)
		}
		members["llm_profile_ref"] = "fast"
		if err := s.AgentProfiles.Save(t.Context(), "helper", members); err != nil {
			t.Fatal(err)
		}
		got := read(t, base, "agent-profiles/helper.json")
		if strings.Contains(got, "enable_s") || !strings.Contains(got, `"schema_version": 4`) {
			t.Errorf("%s: file = %s", sent, got)
		}
		if names := toolNames(t, got); names != want {
			t.Errorf("%s: names = %s, want %s", sent, names, want)
		}
	}
}

// toolNames are the names of the tools of a recipe, in JSON.
func toolNames(t *testing.T, recipe string) string {
	t.Helper()
	var r struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(recipe), &r); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	data, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A file of an older OpenHands stays one, unless it is to say what that does not have.
func TestAnOlderRecipeStaysOne(t *testing.T) {
	t.Parallel()
	before := helper(2, `, "tools": null, "enable_switch_llm_tool": true`)
	s, base := open(t, "", withHelper(before))
	newer := map[string]any{"schema_version": 4, "llm_profile_ref": "fast", "tools": []any{map[string]any{"name": "terminal"}}, "persona": nil}
	if err := s.AgentProfiles.Save(t.Context(), "helper", newer); err != nil {
		t.Fatal(err)
	}
	got := read(t, base, "agent-profiles/helper.json")
	if !strings.Contains(got, `"enable_switch_llm_tool": false`) || !strings.Contains(got, `"schema_version": 2`) || strings.Contains(got, "persona") {
		t.Error(got)
	}
	newer["persona"] = "Me."
	if err := s.AgentProfiles.Save(t.Context(), "helper", newer); err != nil {
		t.Error(err)
	}
	got = read(t, base, "agent-profiles/helper.json")
	if !strings.Contains(got, `"schema_version": 4`) || !strings.Contains(got, "Me.") || strings.Contains(got, "enable_switch_llm_tool") {
		t.Error(got)
	}
	if err := s.AgentProfiles.Save(t.Context(), "another", newer); err != nil || !strings.Contains(read(t, base, "agent-profiles/another.json"), "Me.") {
		t.Errorf("a new one: %v", err)
	}
}

// What is newer than all known versions is listed, shown and used, and never written.
func TestARecipeOfANewerOpenHandsIsNotWritten(t *testing.T) {
	t.Parallel()
	before := helper(5, newMembers+`, "later": {"x": 1.0}`)
	s, base := open(t, "", withHelper(before))
	list, err := s.AgentProfiles.All()
	if err != nil || len(list) != 1 || list[0].ID == nil || *list[0].ID != helperID || !strings.Contains(list[0].Newer, "schema_version is 5, newer than 4") {
		t.Errorf("list = %+v, error %v", list, err)
	}
	shown, err := s.AgentProfiles.Get(t.Context(), "helper")
	if err != nil || shown["later"] == nil {
		t.Errorf("the recipe: %v, %v", shown, err)
	}
	if err := s.AgentProfiles.Save(t.Context(), "helper", map[string]any{"llm_profile_ref": "fast"}); kindOf(err) != openhands.Malformed {
		t.Error(err)
	}
	if err := s.AgentProfiles.Rename(t.Context(), "helper", "other"); kindOf(err) != openhands.Malformed {
		t.Error(err)
	}
	if err := s.AgentProfiles.Save(t.Context(), "new", map[string]any{"schema_version": 5, "llm_profile_ref": "fast"}); kindOf(err) != openhands.Invalid {
		t.Error(err)
	}
	if read(t, base, "agent-profiles/helper.json") != before {
		t.Error("it is changed")
	}
}

func TestRenamingARecipeChangesItsName(t *testing.T) {
	t.Parallel()
	before := helper(4, newMembers)
	s, base := open(t, "", withHelper(before))
	if err := s.AgentProfiles.Rename(t.Context(), "helper", "aide"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Replace(before, `"helper"`, `"aide"`, 1), read(t, base, "agent-profiles/aide.json")); diff != "" {
		t.Error(diff)
	}
}

// The settings of a newer OpenHands have no switches: what they say becomes a recipe that
// every OpenHands reads.
func TestTheFirstRecipeSaysTheToolsOfNewerSettings(t *testing.T) {
	t.Parallel()
	for tools, want := range map[string]string{
		`null`:                  `"enable_switch_llm_tool": true`,
		`[{"name":"terminal"}]`: `"enable_switch_llm_tool": false`,
		`[{"name":"glob"},{"name":"switch_llm"}]`:    `"enable_switch_llm_tool": true`,
		`[{"name":"task_tool_set","params":{}}]`:     `"task_tool_set"`,
		`[{"name":"SwitchLLMTool"},{"name":"glob"}]`: `"glob"`,
	} {
		s, base := open(t, "", map[string]string{
			"profiles/fast.json": `{"model":"openai/m"}`,
			"settings.json":      `{"schema_version":5,"active_profile":"fast","agent_settings":{"schema_version":8,"llm":{"model":"openai/m"},"tools":` + tools + `}}`,
		})
		if _, err := s.AgentProfiles.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := read(t, base, "agent-profiles/default.json")
		if !strings.Contains(got, want) || strings.Contains(got, `"switch_llm"`) || strings.Contains(got, "SwitchLLMTool") {
			t.Errorf("%s: file = %s", tools, got)
		}
	}
}

// Settings that are newer than all known ones are not written, so no recipe is made.
func TestNoRecipeIsMadeOfUnknownSettings(t *testing.T) {
	t.Parallel()
	s, base := open(t, "", map[string]string{"settings.json": `{"schema_version":99,"agent_settings":{"schema_version":9,"llm":{"model":"openai/m"}}}`})
	for range 2 {
		if list, err := s.AgentProfiles.List(t.Context()); err != nil || len(list.Profiles) > 0 {
			t.Errorf("list = %+v, error %v", list, err)
		}
	}
	if text := read(t, base, "settings.json"); !strings.Contains(text, "99") || strings.Contains(text, "active") {
		t.Error(text)
	}
}

func TestABrowserIsUsableWhereThereIsOne(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tools   string
		browser bool
		want    string
	}{
		"named, without a browser": {`,"tools":[{"name":"browser_tool_set"}]`, false, "[browser_tool_set]"},
		"named, with a browser":    {`,"tools":[{"name":"browser_tool_set"}]`, true, "[]"},
		"not named":                {`,"tools":[{"name":"terminal"}]`, false, "[]"},
		"the standard tools":       {"", true, "[browser_tool_set]"},
	} {
		s, _ := openWith(t, "", map[string]string{
			"profiles/fast.json":         `{"model":"openai/m"}`,
			"agent-profiles/helper.json": helper(4, `,"llm_profile_ref":"fast"`+tt.tools),
		}, func(c *files.Config) { c.Browser = func() bool { return tt.browser } })
		d, err := s.AgentProfiles.Diagnose(t.Context(), "helper", nil)
		if err != nil || fmt.Sprint(d.Unusable) != tt.want {
			t.Errorf("tools of %s: unusable %v, error %v", name, d.Unusable, err)
		}
	}
}
