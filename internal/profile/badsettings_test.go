package profile_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/profile"
)

// Versions that no OpenHands has written yet: the active profile is found, the settings
// count for conversations, one line says so, and nothing is written.
func TestSettingsOfVersion99(t *testing.T) {
	t.Parallel()
	for _, edit := range [][]string{
		{`"schema_version": 6`, `"schema_version": 99`}, {`"schema_version": 9`, `"schema_version": 99`}, {`"schema_version": 1`, `"schema_version": 99`},
	} {
		s := newNewer(t, edit...)
		before := s.read("settings.json")
		if active, err := s.Active(); err != nil || active != "work" {
			t.Errorf("edit %v: active %q, %v", edit, active, err)
		}
		got, err := s.ConversationSettings()
		if err != nil || got.MaxIterations != 77 || !strings.Contains(got.Newer, "99, newer than") {
			t.Errorf("edit %v: %+v, %v", edit, got, err)
		}
		report, err := s.Check(t.Context(), profile.CheckOptions{})
		must(t, err)
		if p := report.Problems; len(p) != 1 || p[0].Code != "newer-openhands" {
			t.Errorf("edit %v: %+v", edit, p)
		}
		if _, err := s.Use(t.Context(), "cheap", now()); err == nil {
			t.Errorf("edit %v: they were changed", edit)
		}
		s.want("settings.json", before)
	}
}

// Half a version is written by a program that knows only a part: each part counts as what
// it says it is, and keeps its version.
func TestHalfAVersion(t *testing.T) {
	t.Parallel()
	const listed = `"tools":[{"name":"terminal"},{"name":"task_tool_set"}]`
	for _, tt := range []struct {
		name, settings string
		want           toolCase
		problem        string // a code; "" for none
	}{
		{"9 in 3", `{"schema_version":3,"agent_settings":{"schema_version":9,"llm":{"model":"openai/x"},` + listed + `}}`, toolCase{tools: []string{"terminal", "task_tool_set"}}, ""},
		{"5 in 6", `{"schema_version":6,"agent_settings":{"schema_version":5,"llm":{"model":"openai/x"},"enable_sub_agents":true}}`, toolCase{tools: []string{"terminal", "file_editor", "task_tracker", "task_tool_set"}, switches: true}, ""},
		{"none in 6", `{"schema_version":6,"agent_settings":{"llm":{"model":"openai/x"},"enable_switch_llm_tool":false}}`, toolCase{tools: []string{"terminal", "file_editor", "task_tracker"}}, ""},
		{"9 in none", `{"agent_settings":{"schema_version":9,"llm":{"model":"openai/x"},"enable_switch_llm_tool":false,` + listed + `}}`, toolCase{}, "removed-member"},
	} {
		s := newStore(t, map[string]string{"settings.json": tt.settings, "profiles/p.json": `{"model":"openai/y"}`})
		got, err := s.ConversationSettings()
		if tt.problem != "" {
			if _, ok := errors.AsType[*profile.SettingsError](err); !ok || !got.Agent.IsZero() {
				t.Errorf("%s: settings = %+v, error %v", tt.name, got, err)
			}
		} else if made := toolsOf(t, got); err != nil || !slices.Equal(made.tools, tt.want.tools) || made.switches != tt.want.switches {
			t.Errorf("%s: tools = %+v, error %v", tt.name, made, err)
		}
		report, err := s.Check(t.Context(), profile.CheckOptions{})
		must(t, err)
		var codes []string
		for _, p := range report.Problems {
			codes = append(codes, p.Code)
		}
		if want := strings.Fields(tt.problem); !slices.Equal(codes, want) {
			t.Errorf("%s: codes = %v, want %v", tt.name, codes, want)
		}
		before := parseDoc(t, tt.settings).Root()
		_, err = s.Use(t.Context(), "p", now())
		must(t, err)
		after := parseDoc(t, s.read("settings.json")).Root()
		for _, path := range [][]string{{"schema_version"}, {"agent_settings", "schema_version"}, {"agent_settings", "tools"}} {
			if diff := cmp.Diff(string(before.At(path...).Raw()), string(after.At(path...).Raw())); diff != "" {
				t.Errorf("%s: at %v (-before +after): %s", tt.name, path, diff)
			}
		}
	}
}

// Two spellings of MCP servers may be side by side: each server keeps its own. In settings
// with the old wrapper, a server beside it does not count, as in OpenHands.
func TestTwoSpellingsOfServers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version, servers string
		want             []string
	}{
		{"9", `{"a":{"command":"x"},"b":{"url":"http://h/","transport":"http"},"c":{"url":"http://h/","type":"sse"}}`, []string{"a", "b", "c"}},
		{"4", `{"mcpServers":{"a":{"command":"x"}},"b":{"command":"y"}}`, []string{"a"}},
	} {
		s := newStore(t, map[string]string{"settings.json": `{"schema_version":2,"agent_settings":{"schema_version":` + tt.version + `,"mcp_config":` + tt.servers + `}}`})
		before := s.read("settings.json")
		got, err := s.ConversationSettings()
		must(t, err)
		var agent struct {
			Servers map[string]json.RawMessage `json:"mcp_config"`
		}
		must(t, json.Unmarshal([]byte(got.Agent.Reveal()), &agent))
		if diff := cmp.Diff(tt.want, slices.Sorted(maps.Keys(agent.Servers))); diff != "" {
			t.Errorf("%s: %s", tt.servers, diff)
		}
		if text := string(agent.Servers["c"]); text != "" && !strings.Contains(text, `"transport":"sse"`) {
			t.Error(text)
		}
		s.want("settings.json", before)
	}
}

// A member that is there twice is not repaired by a guess.
func TestAMemberThatIsThereTwiceIsNotChanged(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{
		"settings.json":   `{"schema_version":6,"agent_settings":{"schema_version":9,"tools":null,"tools":[{"name":"terminal"}],"llm":{"model":"openai/x"}}}`,
		"profiles/p.json": `{"model":"openai/y"}`,
	})
	before := s.read("settings.json")
	got, err := s.ConversationSettings()
	must(t, err)
	if made := toolsOf(t, got); !slices.Equal(made.tools, []string{"terminal"}) {
		t.Errorf("tools = %+v", made)
	}
	if _, err := s.Use(t.Context(), "p", now()); err == nil || errors.Is(err, profile.ErrNotFound) {
		t.Errorf("Use: %v", err)
	}
	s.want("settings.json", before)
}
