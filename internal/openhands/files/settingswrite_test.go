package files_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/schema"
)

// settingsFiles are settings of all forms that OpenHands has written, by the release.
func settingsFiles(t testing.TB) map[string]string {
	t.Helper()
	doc, err := jsonedit.Parse([]byte(read(t, "../../profile/testdata/openhands-1.58.2", "settings.json")))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"1.58.2": string(doc.Bytes()), "none": "", "bare": `{"agent_settings":{"llm":{"model":"openai/m"}}}`}
	for _, name := range []string{"1.22.0", "1.28.0", "1.37.0", "1.43.1", "1.49.1", "1.51.0"} {
		release, err := schema.ParseRelease(name)
		if err != nil {
			t.Fatal(err)
		}
		old, err := schema.Settings(doc, release)
		if err != nil {
			t.Fatal(name, err)
		}
		out[name] = string(old.Doc.Bytes())
	}
	return out
}

// tools is a list of tools as a client sends it.
func tools(names ...string) []any {
	out := []any{}
	for _, name := range names {
		out = append(out, map[string]any{"name": name})
	}
	return out
}

// patches are changes, and whether they can be said in every version.
func patches() map[string]struct {
	openhands.Patch

	newest bool
} {
	name := "router"
	agent := func(members map[string]any) openhands.Patch { return openhands.Patch{Agent: members} }
	return map[string]struct {
		openhands.Patch

		newest bool
	}{
		"model":          {agent(map[string]any{"llm": map[string]any{"model": "openai/other", "stream_idle_timeout": json.Number("9")}}), false},
		"persona":        {agent(map[string]any{"persona": "Réviseur"}), false},
		"tools":          {agent(map[string]any{"tools": tools("terminal", "task_tool_set")}), false},
		"switch":         {agent(map[string]any{"tools": tools("switch_llm", "terminal")}), false},
		"by a class":     {agent(map[string]any{"tools": tools("SwitchLLMTool")}), true},
		"no tools":       {agent(map[string]any{"tools": tools()}), true},
		"standard tools": {agent(map[string]any{"tools": nil}), false},
		"server":         {agent(map[string]any{"mcp_config": map[string]any{"x": map[string]any{"command": "c", "env": map[string]any{"KEY": "sk-x"}}}}), false},
		"acp":            {agent(map[string]any{"agent_kind": "acp", "acp_server": "pi"}), false},
		"conversation":   {openhands.Patch{Conversation: map[string]any{"default_runtime": "worktree", "container_cpus": json.Number("0.5")}}, false},
		"misc":           {openhands.Patch{Misc: map[string]any{"x": []any{"<&>"}}}, false},
		"meta-profile":   {openhands.Patch{SetActiveMeta: true, ActiveMeta: &name}, false},
	}
}

// Whatever the version of the file is and whatever changes: what a client was told is what
// is read again, and the file stays one of its version where that can say it.
func TestSettingsOfAllVersionsAreChangedAsTheyAreShown(t *testing.T) {
	t.Parallel()
	for release, before := range settingsFiles(t) {
		for what, patch := range patches() {
			content := map[string]string{"meta-profiles/router.json": `{"classifier_model":"a","classes":[{"description":"d","model":"gone"}]}`}
			if before != "" {
				content["settings.json"] = before
			}
			s, base := open(t, "ohgw-example-secret-key-0001", content)
			told, err := s.Settings.Patch(t.Context(), patch.Patch)
			if err != nil {
				t.Errorf("%s, %s: %v", release, what, err)
				continue
			}
			again, err := s.Settings.Get(t.Context(), openhands.Masked)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(t, told), plain(t, again)); diff != "" {
				t.Errorf("%s, %s (-told +read):\n%s", release, what, diff)
			}
			after := read(t, base, "settings.json")
			if was, is := versions(t, before), versions(t, after); before != "" && was != is && !patch.newest {
				t.Errorf("%s, %s: the versions were %s and are %s", release, what, was, is)
			}
			if strings.Contains(after, "sk-x") {
				t.Errorf("%s, %s: a secret is in clear text", release, what)
			}
		}
	}
}

// plain is what settings say. A time that is not in the file is that of the reading, and the
// place of the tool that changes the model says nothing.
func plain(t testing.TB, st openhands.Settings) any {
	t.Helper()
	agent := maps.Clone(st.Agent)
	delete(agent, "agent_context")
	list := fmt.Sprintf("%s", agent["tools"])
	if strings.Contains(list, `"switch_llm"`) || strings.Contains(list, `"SwitchLLMTool"`) {
		agent["tools"] = strings.Count(list, `name`)
	}
	st.Agent = agent
	data, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func versions(t testing.TB, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	doc, err := jsonedit.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(doc.Root().Get("schema_version").Raw()) + "/" + string(doc.Root().At("agent_settings", "schema_version").Raw())
}

// Settings for which OpenHands 1.58.2 does not load the file are not changed.
func TestSettingsThatOpenHandsDoesNotLoadStay(t *testing.T) {
	t.Parallel()
	for _, before := range []string{
		`{"schema_version":6,"agent_settings":{"schema_version":9,"enable_sub_agents":true}}`,
		`{"schema_version":6,"agent_settings":{"schema_version":9,"agent_kind":"acp","llm":{"model":"m"}}}`,
		`{"schema_version":6,"agent_settings":{"schema_version":9,"persona":""}}`,
		`{"schema_version":6,"conversation_settings":{"worktree_base":"ref"}}`,
		`{"schema_version":6,"conversation_settings":{"container_memory":"a lot"}}`,
		`{"schema_version":6,"agent_settings":{"schema_version":"9"}}`,
	} {
		s, base := open(t, "", map[string]string{"settings.json": before})
		if _, err := s.Settings.Patch(t.Context(), openhands.Patch{Misc: map[string]any{"x": true}}); kindOf(err) != openhands.Unreadable {
			t.Errorf("%s: %v", before, err)
		}
		if after := read(t, base, "settings.json"); after != before {
			t.Errorf("%s is now %s", before, after)
		}
	}
}

// A meta-profile whose model is gone is stored and shown, and a recipe with it
// says what is missing. Unknown members stay in its file.
func TestAMetaProfileWhoseModelIsGone(t *testing.T) {
	t.Parallel()
	s, base := open(t, "", map[string]string{
		"profiles/fast.json":         `{"model":"openai/m"}`,
		"meta-profiles/router.json":  `{"classifier_model":"fast","later":[1.50],"classes":[{"description":"d","model":"fast","later":2}]}`,
		"meta-profiles/broken.json":  `{"classifier_model":5}`,
		"meta-profiles/not.json":     `[]`,
		"agent-profiles/helper.json": helper(4, `,"llm_profile_ref":"fast","enable_classify_and_switch_llm_tool":true,"meta_profile_ref":"router"`),
	})
	if err := s.MetaProfiles.Save(t.Context(), "router", json.RawMessage(`{"classifier_model":"fast","classes":[{"description":"d","model":"gone"}]}`)); err != nil {
		t.Fatal(err)
	}
	if got := read(t, base, "meta-profiles/router.json"); !strings.Contains(got, "1.50") || !strings.Contains(got, "gone") {
		t.Error(got)
	}
	list, err := s.MetaProfiles.List(t.Context())
	if err != nil || len(list.Profiles) != 2 || list.Profiles[0].Name != "broken" || list.Profiles[1].Classes != 1 {
		t.Errorf("list = %+v, error %v", list, err)
	}
	if applied, err := s.MetaProfiles.Activate(t.Context(), "router"); !applied || err != nil {
		t.Error(applied, err)
	}
	if _, err := s.MetaProfiles.Activate(t.Context(), "broken"); kindOf(err) != openhands.Malformed {
		t.Error(err)
	}
	d, err := s.AgentProfiles.Diagnose(t.Context(), "helper", nil)
	if err != nil || d.Valid || fmt.Sprint(d.DanglingMetaLLMs) != "[gone]" || !strings.Contains(fmt.Sprint(d.Errors), "routed to by the meta-profile not found: gone") {
		t.Errorf("Diagnose = %+v, error %v", d, err)
	}
	draft := map[string]any{"agent_kind": "openhands", "llm_profile_ref": "gone", "name": "other"}
	if d, err = s.AgentProfiles.Diagnose(t.Context(), "helper", draft); err != nil || d.Valid || !strings.Contains(fmt.Sprint(d.Errors), "gone") || d.DanglingMeta != nil {
		t.Errorf("a draft: %+v, %v", d, err)
	}
	if _, err = s.AgentProfiles.Diagnose(t.Context(), "new", map[string]any{"agent_kind": "openhands"}); kindOf(err) != openhands.Invalid {
		t.Errorf("a draft without a model: %v", err)
	}
	if err := s.MetaProfiles.Remove(t.Context(), "router"); err != nil {
		t.Fatal(err)
	}
	now, err := s.Settings.Get(t.Context(), openhands.Masked)
	if err != nil || now.ActiveMeta != nil || fmt.Sprintf("%s", now.Agent["meta_profile"]) != "null" {
		t.Errorf("Get = %+v, error %v", now, err)
	}
	if d, err = s.AgentProfiles.Diagnose(t.Context(), "helper", nil); err != nil || d.DanglingMeta == nil || *d.DanglingMeta != "router" {
		t.Errorf("Diagnose = %+v, error %v", d, err)
	}
}
