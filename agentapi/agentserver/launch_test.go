package agentserver_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/uuid"
)

// startOf opens a conversation and gives the request that started it.
func startOf(t *testing.T, w *world, req agentapi.OpenRequest) map[string]any {
	t.Helper()
	req.ID, req.New, req.Workspace = uuid.New(), true, "/srv/here"
	if req.Profile == "" {
		req.Profile = "fast"
	}
	if _, err := w.backend.Open(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	calls := w.Calls("POST", "/api/conversations")
	var start map[string]any
	if err := json.Unmarshal([]byte(calls[len(calls)-1].Body), &start); err != nil {
		t.Fatal(err)
	}
	return start
}

// at follows a path of names into v; nil if there is nothing.
func at(v any, path ...string) any {
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

// TestAKeptConversationIsGivenATitle has the server find titles where the setting says so,
// and where the server can ask a streaming LLM.
func TestAKeptConversationIsGivenATitle(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		version string
		titles  bool
		once    bool
		want    bool
	}{
		"off":                 {version: "1.58.2"},
		"on":                  {version: "1.58.2", titles: true, want: true},
		"on, for one turn":    {version: "1.58.2", titles: true, once: true},
		"on, the oldest":      {version: "1.34.0", titles: true, want: true},
		"on, an older server": {version: "1.33.0", titles: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{Version: tt.version}, func(t *testing.T, w *world) {
				b, err := agentserver.New(agentserver.Config{URL: w.URL, HTTP: w.Client(), Titles: tt.titles})
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				w.backend = b
				if got := startOf(t, w, agentapi.OpenRequest{OneShot: tt.once})["autotitle"]; got != tt.want {
					t.Errorf("autotitle is %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestStartTakesTheServersSettings(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.Configure(func(agent, conversation map[string]any) {
			agent["tools"] = []any{map[string]any{"name": "terminal"}}
			agent["new_setting"] = "of a newer server"
			agent["agent_context"] = map[string]any{
				"system_message_suffix": "Be polite.", "skills": []any{},
				"secrets": map[string]any{"TOKEN": "gAAAAAx", "URL": map[string]any{"kind": "LookupSecret", "url": "/x"}},
			}
			conversation["max_iterations"] = 33
		})
		start := startOf(t, w, agentapi.OpenRequest{System: "Be brief."})
		for _, tt := range []struct {
			want any
			path []string
		}{
			{"/srv/here", []string{"workspace", "working_dir"}},
			{false, []string{"autotitle"}},
			{true, []string{"secrets_encrypted"}},
			{33.0, []string{"max_iterations"}},
			{"NeverConfirm", []string{"confirmation_policy", "kind"}},
			{"LLMSecurityAnalyzer", []string{"security_analyzer", "kind"}},
			{"openai/test", []string{"agent_settings", "llm", "model"}},
			{"agent", []string{"agent_settings", "llm", "usage_id"}},
			{true, []string{"agent_settings", "llm", "stream"}},
			{"of a newer server", []string{"agent_settings", "new_setting"}},
			{"Be polite.\n\nBe brief.", []string{"agent_settings", "agent_context", "system_message_suffix"}},
			{nil, []string{"agent_settings", "agent_context", "current_datetime"}},
			{"StaticSecret", []string{"secrets", "TOKEN", "kind"}},
			{"gAAAAAx", []string{"secrets", "TOKEN", "value"}},
			{"LookupSecret", []string{"secrets", "URL", "kind"}},
			{"fast", []string{"tags", "ohgwprofile"}},
			{nil, []string{"agent"}},
			{nil, []string{"initial_message"}},
		} {
			if diff := cmp.Diff(tt.want, at(start, tt.path...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", strings.Join(tt.path, "."), diff)
			}
		}
		if key, _ := at(start, "agent_settings", "llm", "api_key").(string); !strings.HasPrefix(key, "gAAAAA") {
			t.Error("the LLM's key is not encrypted")
		}
	})
}

// named is a tool without parameters.
func named(tool string) any { return map[string]any{"name": tool, "params": map[string]any{}} }

// TestTheClientChoosesTheModel has settings of servers in which the switches for tools
// are tools themselves: the agent keeps its own tools, but for the one that changes
// the model.
func TestTheClientChoosesTheModel(t *testing.T) {
	t.Parallel()
	browser := map[string]any{"name": "browser_tool_set", "params": map[string]any{"headless": true}}
	for _, tt := range []struct {
		name, version string
		stored, want  any
	}{
		{"its own choice", "1.58.2", nil, []any{named("terminal"), named("file_editor"), named("task_tracker")}},
		{"a list", "1.58.2", []any{browser, named("switch_llm"), named("task_tool_set")}, []any{browser, named("task_tool_set")}},
		{"the name of the class", "1.56.0", []any{named("SwitchLLMTool"), named("terminal")}, []any{named("terminal")}},
		{"a bare agent", "1.51.0", []any{}, []any{}},
		{"nothing but the switch", "1.55.3", []any{named("switch_llm")}, []any{}},
		{"before it was a tool", "1.50.9", []any{named("terminal")}, []any{named("terminal")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{Version: tt.version}, func(t *testing.T, w *world) {
				w.Configure(func(agent, _ map[string]any) {
					agent["tools"] = tt.stored
					agent["enable_sub_agents"] = true // as of a server that has not migrated its settings
				})
				settings := at(startOf(t, w, agentapi.OpenRequest{}), "agent_settings")
				if diff := cmp.Diff(tt.want, at(settings, "tools")); diff != "" {
					t.Errorf("tools (-want +got):\n%s", diff)
				}
				old := tt.version == "1.50.9"
				if got := at(settings, "enable_switch_llm_tool") == false; got != old {
					t.Errorf("the switch for the tool is there: %t", got)
				}
				if got := at(settings, "enable_sub_agents") == true; got != old {
					t.Errorf("the switch for sub-agents is there: %t", got)
				}
			})
		})
	}
}

func TestStartDoesWithoutWhatTheServerLacks(t *testing.T) {
	t.Parallel()
	own := &agentserver.LLM{Profile: "fast", Model: "openai/own", BaseURL: "http://llm.test/v1", Key: func() string { return "sk-own" }}
	tests := []struct {
		name    string
		opts    fakeserver.Options
		llm     *agentserver.LLM
		want    map[string]any // path to value
		present []string
	}{
		{"today", fakeserver.Options{}, nil, map[string]any{
			"secrets_encrypted": true, "agent_settings.enable_switch_llm_tool": nil, "agent_settings.enable_sub_agents": nil,
			"agent_settings.tools": []any{named("terminal"), named("file_editor"), named("task_tracker")},
		}, []string{"agent_settings", "tags"}},
		{"before 1.51 switch_llm has a switch", fakeserver.Options{Version: "1.50.2"}, nil, map[string]any{
			"agent_settings.enable_switch_llm_tool": false, "agent_settings.enable_sub_agents": false, "agent_settings.tools": nil,
		}, []string{"agent_settings"}},
		{
			"no secret key",
			fakeserver.Options{NoSecretKey: true},
			nil,
			map[string]any{"agent_settings.llm.api_key": "sk-llm", "secrets_encrypted": nil},
			[]string{"agent_settings"},
		},
		{"1.33", fakeserver.Options{Version: "1.33.0"}, nil, map[string]any{"agent_settings.llm.stream": true}, []string{"agent_settings"}},
		{"before 1.33 the condenser must not stream", fakeserver.Options{Version: "1.32.0"}, nil, map[string]any{
			"agent.llm.stream": true, "agent.condenser.llm.stream": false, "agent.condenser.llm.usage_id": "condenser",
			"agent.condenser.kind": "LLMSummarizingCondenser", "agent.condenser.max_size": 240.0,
			"agent.agent_context.system_message_suffix": "Be brief.", "agent_settings": nil, "secrets_encrypted": true,
		}, []string{"agent.tools", "tags"}},
		{"before 1.22 the LLM is ours", fakeserver.Options{Version: "1.21.0"}, own, map[string]any{
			"agent.llm.model": "openai/own", "agent.llm.api_key": "sk-own", "agent.llm.stream": true, "secrets_encrypted": nil,
			"agent.agent_context.system_message_suffix": "Be brief.", "agent_settings": nil,
		}, []string{"agent.tools", "tags"}},
		{
			"before 1.18 nothing is streamed",
			fakeserver.Options{Version: "1.17.0"},
			own,
			map[string]any{"agent.llm.stream": false},
			nil,
		},
		{"before 1.16 there are no tags", fakeserver.Options{Version: "1.15.0"}, own, map[string]any{"tags": nil}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, tt.opts, func(t *testing.T, w *world) {
				w.useLLM(t, tt.llm)
				start := startOf(t, w, agentapi.OpenRequest{System: "Be brief."})
				for path, want := range tt.want {
					if diff := cmp.Diff(want, at(start, strings.Split(path, ".")...)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", path, diff)
					}
				}
				for _, path := range tt.present {
					if at(start, strings.Split(path, ".")...) == nil {
						t.Errorf("%s is missing", path)
					}
				}
			})
		})
	}
}

func TestConfirmationFollowsTheServersSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode             bool
		analyzer         any
		policy, analysis any
	}{
		{false, "llm", "NeverConfirm", "LLMSecurityAnalyzer"},
		{true, "llm", "ConfirmRisky", "LLMSecurityAnalyzer"},
		{true, "none", "AlwaysConfirm", nil},
		{true, nil, "AlwaysConfirm", nil},
	} {
		inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
			w.Configure(func(_, conversation map[string]any) {
				conversation["confirmation_mode"], conversation["security_analyzer"] = tt.mode, tt.analyzer
			})
			start := startOf(t, w, agentapi.OpenRequest{})
			if at(start, "confirmation_policy", "kind") != tt.policy || at(start, "security_analyzer", "kind") != tt.analysis {
				t.Errorf("mode %v, analyzer %v: policy %v, analyzer %v", tt.mode, tt.analyzer,
					start["confirmation_policy"], start["security_analyzer"])
			}
		})
	}
}

func TestSettingsOfAnACPAgentAreNotForced(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.Configure(func(agent, _ map[string]any) {
			agent["agent_kind"], agent["acp_server"] = "acp", "codex"
			agent["mcp_config"] = map[string]any{"a": map[string]any{}}
		})
		settings := startOf(t, w, agentapi.OpenRequest{})["agent_settings"]
		if at(settings, "agent_kind") != "openhands" || at(settings, "acp_server") != nil || at(settings, "mcp_config", "a") == nil {
			t.Errorf("settings %v", settings)
		}
	})
}

func TestProviderConnectionIsResolvedByTheServer(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]map[string]any{
		"1.58.2": {"tools": []any{named("terminal"), named("file_editor"), named("task_tracker")}},
		"1.50.0": {"tools": nil, "enable_switch_llm_tool": false, "enable_sub_agents": false},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{Version: version}, func(t *testing.T, w *world) {
				resolvedByTheServer(t, w)
				var saved map[string]any
				for _, c := range w.Calls("POST", "") {
					if strings.HasPrefix(c.Path, "/api/agent-profiles/") && json.Unmarshal([]byte(c.Body), &saved) != nil {
						t.Errorf("the agent profile is %s", c.Body)
					}
				}
				for _, name := range []string{"tools", "enable_switch_llm_tool", "enable_sub_agents"} {
					if diff := cmp.Diff(want[name], saved[name]); diff != "" {
						t.Errorf("%s of the agent profile (-want +got):\n%s", name, diff)
					}
				}
			})
		})
	}
}

func resolvedByTheServer(t *testing.T, w *world) {
	t.Helper()
	profile := strings.Repeat("long-", 12) + "name"
	w.SaveProfile(profile, fakeserver.Profile{Model: "openai/test", Key: "sk-connected", Connection: "c1"})
	w.Configure(func(agent, _ map[string]any) {
		agent["agent_context"] = map[string]any{"system_message_suffix": "Be polite."}
		agent["verification"] = map[string]any{"critic_enabled": false, "critic_api_key": "sk-critic"}
	})
	start := startOf(t, w, agentapi.OpenRequest{Profile: profile, System: "Be brief.\n"})
	if start["agent_profile_id"] == nil || start["agent_settings"] != nil || start["agent"] != nil {
		t.Errorf("start request %v", start)
	}
	if got := at(start, "agent_launch_additions", "system_message_suffix_append"); got != "Be brief." {
		t.Errorf("system text %q", got)
	}
	saved := w.Calls("POST", "")
	for _, c := range saved {
		if strings.Contains(c.Body, "sk-critic") || strings.Contains(c.Body, "sk-connected") {
			t.Errorf("%s holds a secret", c.Path)
		}
	}
	// The same profile again: nothing to save. Other settings: saved again.
	posts := func() (n int) {
		for _, c := range w.Calls("POST", "") {
			if strings.HasPrefix(c.Path, "/api/agent-profiles/ohgw.long-") {
				n++
			}
		}
		return n
	}
	for _, want := range []int{1, 2} {
		again := startOf(t, w, agentapi.OpenRequest{Profile: profile})
		if again["agent_profile_id"] != start["agent_profile_id"] || posts() != want {
			t.Errorf("agent profile %v was saved %d times, want %d", again["agent_profile_id"], posts(), want)
		}
		w.Configure(func(agent, _ map[string]any) {
			agent["agent_context"] = map[string]any{"system_message_suffix": "Be rude."}
		})
	}
	id, _ := start["conversation_id"].(string)
	c, err := w.backend.Open(t.Context(), agentapi.OpenRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	if info := c.Info(); info.Profile != profile || !info.SystemKnown || info.System != "Be brief." {
		t.Errorf("Info() = %+v", info)
	}
	if err := c.Switch(t.Context(), profile); !errors.Is(err, agentapi.ErrUnsupported) {
		t.Errorf("Switch to a provider connection: %v", err)
	}
}

func TestProfileOfAForeignConversationIsFound(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.SaveProfile("twin-a", fakeserver.Profile{Model: "openai/twin", BaseURL: "http://llm.test/v1"})
		w.SaveProfile("twin-b", fakeserver.Profile{Model: "openai/twin", BaseURL: "http://llm.test/v1"})
		for model, want := range map[string]string{"openai/test": "fast", "openai/twin": "", "openai/unheard-of": ""} {
			id := w.foreign(t, model)
			c, err := w.backend.Open(t.Context(), agentapi.OpenRequest{ID: id, Profile: "fast"})
			if err != nil {
				t.Fatal(err)
			}
			if info := c.Info(); info.Created || info.Profile != want || info.SystemKnown {
				t.Errorf("Info() of a conversation with %s = %+v, want profile %q", model, info, want)
			}
		}
	})
}

func TestSystemTextThatWasChangedIsNotKnown(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		for _, mark := range []string{"1:of another text", "7:x", "-1:x", "x", ""} {
			id := w.tagged(t, "openai/test", `{"ohgwsystem":"`+mark+`"}`)
			c, err := w.backend.Open(t.Context(), agentapi.OpenRequest{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			if info := c.Info(); info.SystemKnown || info.System != "" {
				t.Errorf("mark %q: Info() = %+v", mark, info)
			}
		}
	})
}

func TestSwitchBySomebodyElseIsSeen(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.SaveProfile("other", fakeserver.Profile{Model: "openai/other", BaseURL: "http://llm.test/v1"})
		c := w.open(t)
		w.post(t, "/api/conversations/"+c.Info().ID+"/switch_llm",
			`{"llm":{"model":"openai/other","base_url":"http://llm.test/v1","usage_id":"elsewhere"}}`)
		again, err := w.backend.Open(t.Context(), agentapi.OpenRequest{ID: c.Info().ID})
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Info().Profile; got != "other" {
			t.Errorf("profile %q, want other", got)
		}
	})
}

func TestSwitchKeepsForeignTags(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.SaveProfile("other", fakeserver.Profile{Model: "openai/other", BaseURL: "http://llm.test/v1"})
		id := w.foreign(t, "openai/test")
		c, err := w.backend.Open(t.Context(), agentapi.OpenRequest{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Switch(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		st, err := c.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if st.Tags["owner"] != "somebody" || st.Tags["ohgwprofile"] != "other" || st.Tags["ohgwsystem"] != "" {
			t.Errorf("tags %v", st.Tags)
		}
	})
}
