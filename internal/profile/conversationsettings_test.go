package profile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/profile"
)

// conversationSettings reads settings, which must be possible.
func conversationSettings(t *testing.T, src string) profile.ConversationSettings {
	t.Helper()
	got, err := newStore(t, map[string]string{"settings.json": src}).ConversationSettings()
	must(t, err)
	return got
}

// wantAgent compares the agent of settings, as JSON.
func wantAgent(t *testing.T, got profile.ConversationSettings, want string) {
	t.Helper()
	var g, w any
	must(t, json.Unmarshal([]byte(got.Agent.Reveal()), &g))
	must(t, json.Unmarshal([]byte(want), &w))
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
}

func TestWithoutSettingsConversationsHaveTheDefaultsOfOpenHands(t *testing.T) {
	t.Parallel()
	missing, err := newStore(t, nil).ConversationSettings()
	must(t, err)
	for name, got := range map[string]profile.ConversationSettings{"no file": missing, "empty": conversationSettings(t, `{}`)} {
		if got.MaxIterations != 500 || got.Confirmation || !got.Analyzer || !got.Agent.IsZero() || got.LostText() != "" {
			t.Errorf("%s: settings = %+v", name, got)
		}
	}
}

func TestConversationSettingsAreReadWithTheirSecrets(t *testing.T) {
	t.Parallel()
	got := conversationSettings(t, `{
		"schema_version": 2,
		"agent_settings": {
			"schema_version": 5, "agent_kind": "openhands", "llm": {"model": "openai/x", "api_key": "hidden"},
			"verification": {"critic_api_key": "hidden"},
			"tools": [{"name": "terminal", "params": {}}], "enable_sub_agents": false, "enable_switch_llm_tool": false, "tool_concurrency_limit": 3,
			"mcp_config": {"files": {
				"command": "files", "args": ["--all"], "timeout": 7,
				"env": {"TOKEN": "`+fixtureToken+`", "PLAIN": "p", "BLANK": " "}
			}, "web": {
				"url": "https://mcp.example.org", "headers": {"X-Key": "`+fixtureToken+`"},
				"auth": {"strategy": "bearer", "value": "`+fixtureToken+`"}
			}},
			"agent_context": {
				"system_message_suffix": "Be kind.", "user_message_suffix": null, "disabled_skills": ["noisy"], "current_datetime": null, "load_memory": 1,
				"secrets": {
					"API_TOKEN": "`+fixtureToken+`", "PLAIN": "in clear", "EMPTY": "",
					"LOOKED_UP": {"kind": "LookupSecret", "url": "http://127.0.0.1/", "headers": {"Authorization": "`+fixtureToken+`"}}
				}
			},
			"condenser": {"condenser_kind": "llm_summarizing", "enabled": true, "max_size": 100, "keep_first": 4, "max_tokens": 9000, "minimum_progress": 0.2}
		},
		"conversation_settings": {"schema_version": 1, "max_iterations": 7, "confirmation_mode": true, "security_analyzer": null}
	}`)
	if got.MaxIterations != 7 || !got.Confirmation || got.Analyzer || got.ACP || got.Legacy || len(got.Lost) > 0 {
		t.Errorf("settings %+v", got)
	}
	wantAgent(t, got, `{
		"tools": [{"name": "terminal", "params": {}}], "enable_sub_agents": false, "enable_switch_llm_tool": false, "tool_concurrency_limit": 3,
		"mcp_config": {"files": {
			"command": "files", "args": ["--all"], "timeout": 7, "enabled": true, "env": {"TOKEN": "`+fixtureKey+`", "PLAIN": "p"}
		}, "web": {
			"url": "https://mcp.example.org", "enabled": true, "headers": {"X-Key": "`+fixtureKey+`"},
			"auth": {"strategy": "bearer", "value": "`+fixtureKey+`"}
		}},
		"agent_context": {
			"system_message_suffix": "Be kind.", "user_message_suffix": null, "disabled_skills": ["noisy"], "current_datetime": null, "load_memory": true,
			"secrets": {
				"API_TOKEN": "`+fixtureKey+`", "PLAIN": "in clear",
				"LOOKED_UP": {"kind": "LookupSecret", "url": "http://127.0.0.1/", "headers": {"Authorization": "`+fixtureKey+`"}}
			}
		},
		"condenser": {"condenser_kind": "llm_summarizing", "enabled": true, "max_size": 100, "keep_first": 4, "max_tokens": 9000, "minimum_progress": 0.2}
	}`)
}

// What pydantic takes for a number or a truth value has its plain form here.
// Settings are remembered by their text: what has the same size and the same time, and
// what is removed and comes back, is read again.
func TestConversationSettingsAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	s := newStore(t, map[string]string{"profiles/p.json": `{"model":"openai/m"}`})
	file, at := filepath.Join(s.Base(), "settings.json"), time.Now()
	for _, step := range []struct {
		text string
		want int64
	}{
		{"", 500},
		{`{"conversation_settings": {"max_iterations": 7}}`, 7},
		{`{"conversation_settings": {"max_iterations": 8}}`, 8},
		{`{"conversation_settings": {"max_iterations": 8}}`, 8},
		{`{"conversation_settings": {"max_iterations": 0}}`, 500},
		{`{"conversation_settings": {"max_iterations": 7}}`, 7},
		{"", 500},
		{`{"conversation_settings": {"max_iterations": 7}}`, 7},
		{"{", 500},
	} {
		var err error
		if step.text == "" {
			err = os.RemoveAll(file)
		} else {
			err = errors.Join(os.WriteFile(file, []byte(step.text), 0o600), os.Chtimes(file, at, at))
		}
		if err != nil {
			t.Fatal(err)
		}
		refused := step.text != "" && step.want == 500
		if got, err := s.ConversationSettings(); got.MaxIterations != step.want || (err != nil) != refused {
			t.Errorf("%q: %d steps, %v; want %d", step.text, got.MaxIterations, err, step.want)
		}
	}
}

func BenchmarkConversationSettings(b *testing.B) {
	for name, text := range map[string]string{"none": "", "some": `{"schema_version": 2, "conversation_settings": {"max_iterations": 7}}`} {
		b.Run(name, func(b *testing.B) {
			s := profile.Open(profile.Config{Base: b.TempDir(), Ciphers: ciphers()})
			if text != "" {
				if err := os.WriteFile(filepath.Join(s.Base(), "settings.json"), []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.ConversationSettings(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestConversationSettingsHavePlainForms(t *testing.T) {
	t.Parallel()
	got := conversationSettings(t, `{
		"agent_settings": {"agent_kind": "llm", "tools": null, "enable_switch_llm_tool": "off", "condenser": {"enabled": "no", "max_size": "80"},
			"mcp_config": {"mcpServers": {"old": {"command": "x", "type": "stdio"}}}},
		"conversation_settings": {"max_iterations": "12", "confirmation_mode": 1}
	}`)
	if got.MaxIterations != 12 || !got.Confirmation || !got.Analyzer {
		t.Errorf("settings %+v", got)
	}
	wantAgent(t, got, `{
		"enable_sub_agents": false, "enable_switch_llm_tool": false, "tool_concurrency_limit": 1, "mcp_config": {"old": {"command": "x", "transport": "stdio", "enabled": true}},
		"agent_context": {"system_message_suffix": null, "user_message_suffix": null, "disabled_skills": [], "secrets": {}},
		"condenser": {"condenser_kind": "llm_summarizing", "enabled": false, "max_size": 80, "keep_first": 2, "max_tokens": null, "minimum_progress": 0.1}
	}`)
}

func TestSecretsOfSettingsThatCannotBeReadAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	src := `{"agent_settings": {
		"mcp_config": {
			"whole": {"command": "a", "env": {"A": "b"}},
			"foreign": {"command": "a", "env": {"A": "` + foreignToken + `"}},
			"masked": {"url": "https://mcp.example.org", "auth": {"strategy": "bearer", "value": "**********"}}
		},
		"agent_context": {"secrets": {"GOOD": "` + fixtureToken + `", "BAD": "` + foreignToken + `", "MASK": "**********"}}
	}}`
	got := conversationSettings(t, src)
	text := got.LostText()
	for _, entry := range []string{
		"agent_settings.mcp_config.foreign.env.A", "agent_settings.mcp_config.masked.auth.value",
		"agent_settings.agent_context.secrets.BAD", "agent_settings.agent_context.secrets.MASK",
	} {
		if !strings.Contains(text, entry+" (") {
			t.Errorf("%q does not name %s", text, entry)
		}
	}
	noKey(t, "the text", text)
	if len(got.Lost) != 4 || !errors.Is(got.Lost[0].Err, fernet.ErrWrongKey) {
		t.Errorf("lost %v", got.Lost)
	}
	var agent struct {
		Servers map[string]any `json:"mcp_config"`
		Context struct {
			Secrets map[string]string
		} `json:"agent_context"`
	}
	must(t, json.Unmarshal([]byte(got.Agent.Reveal()), &agent))
	if len(agent.Servers) != 1 || agent.Servers["whole"] == nil {
		t.Errorf("servers %v", agent.Servers)
	}
	if diff := cmp.Diff(map[string]string{"GOOD": fixtureKey}, agent.Context.Secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}

	base := t.TempDir()
	write(t, filepath.Join(base, "settings.json"), src)
	unopened, err := profile.Open(profile.Config{Base: base}).ConversationSettings()
	must(t, err)
	if len(unopened.Lost) != 5 || !errors.Is(unopened.Lost[0].Err, fernet.ErrNoKey) {
		t.Errorf("without any key %v are lost", unopened.Lost)
	}
}

// OpenHands takes its defaults for settings that it cannot use. So are they here, with the
// reason.
func TestBrokenSettingsAreTheDefaultsWithTheReason(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`{"agent_settings":`:   "JSON",
		`[]`:                   "not a JSON object",
		`{"agent_settings":5}`: "agent_settings",
		`{"agent_settings":{"agent_kind":"robot"}}`:                                  "agent_settings.agent_kind",
		`{"agent_settings":{"tools":{}}}`:                                            "agent_settings.tools",
		`{"agent_settings":{"tools":[{}]}}`:                                          "agent_settings.tools",
		`{"agent_settings":{"tool_concurrency_limit":0}}`:                            "agent_settings.tool_concurrency_limit",
		`{"agent_settings":{"enable_switch_llm_tool":"perhaps"}}`:                    "agent_settings.enable_switch_llm_tool",
		`{"agent_settings":{"condenser":[]}}`:                                        "agent_settings.condenser",
		`{"agent_settings":{"condenser":{"max_size":3}}}`:                            "agent_settings.condenser.max_size",
		`{"agent_settings":{"condenser":{"condenser_kind":"x"}}}`:                    "agent_settings.condenser.condenser_kind",
		`{"agent_settings":{"mcp_config":"x"}}`:                                      "agent_settings.mcp_config",
		`{"agent_settings":{"mcp_config":{"one":5}}}`:                                "agent_settings.mcp_config.one",
		`{"agent_settings":{"agent_context":{"secrets":[]}}}`:                        "agent_settings.agent_context.secrets",
		`{"agent_settings":{"agent_context":{"system_message_suffix":[]}}}`:          "agent_settings.agent_context.system_message_suffix",
		`{"agent_settings":{"agent_context":{"disabled_skills":[1]}}}`:               "agent_settings.agent_context.disabled_skills",
		`{"agent_settings":{"verification":{"critic_mode":"hidden"}}}`:               "agent_settings.verification.critic_mode",
		`{"conversation_settings":[]}`:                                               "conversation_settings",
		`{"conversation_settings":{"container_cpus":0}}`:                             "conversation_settings.container_cpus",
		`{"misc_settings":[]}`:                                                       "misc_settings",
		`{"conversation_settings":{"max_iterations":0}}`:                             "conversation_settings.max_iterations",
		`{"conversation_settings":{"max_iterations":"hidden"}}`:                      "conversation_settings.max_iterations",
		`{"conversation_settings":{"confirmation_mode":"hidden"}}`:                   "conversation_settings.confirmation_mode",
		`{"conversation_settings":{"security_analyzer":"hidden"}}`:                   "conversation_settings.security_analyzer",
		`{"agent_settings":{"mcp_config":{"a":{"timeout":NaN}}},"schema_version":2}`: "NaN",
	} {
		s := newStore(t, map[string]string{"settings.json": src})
		got, err := s.ConversationSettings()
		if got.MaxIterations != 500 || got.Confirmation || !got.Analyzer || !got.Agent.IsZero() {
			t.Errorf("%s: settings = %+v", src, got)
		}
		bad, ok := errors.AsType[*profile.SettingsError](err)
		if !ok || bad.Path != s.path("settings.json") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", src, err, want)
			continue
		}
		noKey(t, src, err.Error())
	}
}

func TestSettingsOfOthersSaySo(t *testing.T) {
	t.Parallel()
	acp := conversationSettings(t, `{"agent_settings":{"agent_kind":"acp","acp_server":"codex","condenser":5,"mcp_config":{"one":{"command":"x"}}}}`)
	if !acp.ACP {
		t.Errorf("settings %+v", acp)
	}
	wantAgent(t, acp, `{"mcp_config":{"one":{"command":"x","enabled":true}}}`)
	if old := conversationSettings(t, `{"llm_model":"x","language":"en"}`); !old.Legacy || old.MaxIterations != 500 {
		t.Errorf("settings %+v", old)
	}
}

func FuzzConversationSettingsAreReadOrRefused(f *testing.F) {
	f.Add(`{"agent_settings":{"agent_context":{"secrets":{"A":"gAAAAAhidden"}},"mcp_config":{"a":{"env":{"B":"gAAAAAhidden"}}}}}`)
	f.Add(`{"agent_settings":{"condenser":{"max_size":"hidden"}}}`)
	f.Fuzz(func(t *testing.T, src string) {
		base := t.TempDir()
		write(t, filepath.Join(base, "settings.json"), src)
		got, err := profile.Open(profile.Config{Base: base}).ConversationSettings()
		if err != nil {
			if _, ok := errors.AsType[*profile.SettingsError](err); !ok {
				t.Errorf("the error is a %T", err)
			}
			return
		}
		if text := got.Agent.Reveal(); text != "" && !json.Valid([]byte(text)) {
			t.Errorf("agent %s", text)
		}
	})
}

// The critic is there where it is enabled, with its key decrypted or reported as lost.
func TestConversationSettingsHaveAnEnabledCritic(t *testing.T) {
	t.Parallel()
	const text = `{"agent_settings":{"verification":{"critic_enabled":"yes","critic_threshold":"0.7","critic_api_key":"KEY"}}}`
	for key, want := range map[string]string{fixtureToken: `"` + fixtureKey + `"`, "in clear": `"in clear"`, "": "null"} {
		got := conversationSettings(t, strings.Replace(text, "KEY", key, 1))
		var agent struct {
			Verification struct {
				Enabled   bool            `json:"critic_enabled"`
				Threshold float64         `json:"critic_threshold"`
				Key       json.RawMessage `json:"critic_api_key"`
			}
		}
		if err := json.Unmarshal([]byte(got.Agent.Reveal()), &agent); err != nil {
			t.Fatal(err)
		}
		v := agent.Verification
		if !v.Enabled || v.Threshold != 0.7 || string(v.Key) != want || len(got.Lost) > 0 {
			t.Errorf("%q: verification = %+v with the key %s, lost %v; want the key %s", key, v, v.Key, got.Lost, want)
		}
	}
	off := conversationSettings(t, `{"agent_settings":{"verification":{"critic_enabled":false,"critic_api_key":"k"}}}`)
	if strings.Contains(off.Agent.Reveal(), "verification") {
		t.Errorf("agent = %s, want one without a critic", off.Agent.Reveal())
	}
}
