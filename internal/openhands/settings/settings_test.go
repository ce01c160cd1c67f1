package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/secret"
)

// cases are texts of settings.json, and the member that OpenHands 1.58.2 does not load them
// for; "" for those that it loads, and "file" for the whole of it.
func cases() map[string]string {
	agent := func(members string) string { return `{"agent_settings":{"llm":{"model":"openai/x"},` + members + `}}` }
	conversation := func(members string) string { return `{"conversation_settings":{` + members + `}}` }
	return map[string]string{
		`{}`: "",
		`{"schema_version":null,"agent_settings":{"schema_version":null}}`: "",
		`{"schema_version":false}`:    "",
		`{"schema_version":"1"}`:      "file",
		`{"agent_settings":`:          "file",
		`[]`:                          "file",
		`{"agent_settings":5}`:        "file",
		`{"misc_settings":[]}`:        "misc_settings",
		`{"misc_settings":{"a":1}}`:   "",
		`{"unknown":1}`:               "",
		agent(`"agent_kind":"robot"`): "agent_settings.agent_kind",
		agent(`"agent_kind":"llm"`):   "",
		agent(`"schema_version":-1`):  "file",
		agent(`"schema_version":9,"enable_sub_agents":true`): "agent_settings.enable_sub_agents",
		agent(`"schema_version":8,"enable_sub_agents":true`): "",
		agent(`"tools":{}`):                                         "agent_settings.tools",
		agent(`"tools":[{}]`):                                       "agent_settings.tools",
		agent(`"tools":null`):                                       "",
		agent(`"tool_concurrency_limit":"2"`):                       "",
		agent(`"tool_concurrency_limit":0`):                         "agent_settings.tool_concurrency_limit",
		agent(`"condenser":[]`):                                     "agent_settings.condenser",
		agent(`"condenser":{"max_size":3}`):                         "agent_settings.condenser.max_size",
		agent(`"condenser":{"condenser_kind":"x"}`):                 "agent_settings.condenser.condenser_kind",
		agent(`"condenser":{"condenser_kind":"no_op"}`):             "",
		agent(`"mcp_config":"x"`):                                   "agent_settings.mcp_config",
		agent(`"mcp_config":{"one":5}`):                             "agent_settings.mcp_config.one",
		agent(`"mcp_config":{"one":{"command":"x","env":{"A":5}}}`): "agent_settings.mcp_config.one.env.A",
		agent(`"mcp_config":{"one":{"transport":"stdio"}}`):         "agent_settings.mcp_config.one",
		agent(`"mcp_config":null`):                                  "agent_settings.mcp_config",
		agent(`"agent_context":{"secrets":[]}`):                     "agent_settings.agent_context.secrets",
		agent(`"agent_context":{"disabled_skills":[1]}`):            "agent_settings.agent_context.disabled_skills.0",
		agent(`"verification":{"critic_mode":"hidden"}`):            "agent_settings.verification.critic_mode",
		agent(`"verification":{"critic_threshold":2}`):              "agent_settings.verification.critic_threshold",
		conversation(`"max_iterations":0`):                          "conversation_settings.max_iterations",
		conversation(`"max_iterations":"12"`):                       "",
		conversation(`"max_iterations":1.0`):                        "",
		conversation(`"max_iterations":true`):                       "",
		conversation(`"max_iterations":null`):                       "conversation_settings.max_iterations",
		conversation(`"confirmation_mode":"hidden"`):                "conversation_settings.confirmation_mode",
		conversation(`"confirmation_mode":"YES"`):                   "",
		conversation(`"security_analyzer":"hidden"`):                "conversation_settings.security_analyzer",
		conversation(`"security_analyzer":null`):                    "",
		conversation(`"container_cpus":0`):                          "conversation_settings.container_cpus",
		`{"conversation_settings":[]}`:                              "conversation_settings",
	}
}

// snapshot is a settings.json with a text.
func snapshot(t *testing.T, src string) document.Snapshot {
	t.Helper()
	base := t.TempDir()
	if err := os.WriteFile(filepath.Join(base, "settings.json"), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return document.SettingsFile(base).Read()
}

func reader() shape.Reader { return shape.Reader{Now: time.Now} }

func TestAFileIsTakenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for src, field := range cases() {
		got, err := settings.Of(snapshot(t, src), reader())
		if got.Agent.Text("agent_kind") != "openhands" || string(got.Misc) == "" {
			t.Errorf("%s: no settings: %+v", src, got)
		}
		if field == "" || field == "file" {
			if (err != nil) != (field == "file") {
				t.Errorf("%s: %v", src, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error()+" ", field+" ") {
			t.Errorf("%s: %v, want an error with %s", src, err, field)
			continue
		}
		if strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: the error quotes a value: %v", src, err)
		}
		if llm := got.Agent.Tree("llm").Text("model"); llm == "openai/x" {
			t.Errorf("%s: a part of the file counts", src)
		}
	}
}

func TestAMissingFileIsTheDefaults(t *testing.T) {
	t.Parallel()
	got, err := settings.Of(document.SettingsFile(t.TempDir()).Read(), reader())
	if err != nil || string(got.Conversation.Raw("max_iterations")) != "500" || got.Active != nil {
		t.Errorf("Of = %+v, error %v", got, err)
	}
}

func TestLostSecretsAreNamedByTheirPlace(t *testing.T) {
	t.Parallel()
	const token = "gAAAAABpVbkAxAKASetjSmWAGNRn6eUHgnYmVN04ZoLdVyNthaLTnzzCXq9CDOOI9KVVWafuP-vHPpiGmlhMF3wSgD95FAg3-DwqpKa77NDaM7Cx81JcjOU="
	errKey := errors.New("wrong key")
	lost := map[string]error{}
	r := reader()
	r.Open = func(string) (secret.Value, error) { return secret.Value{}, errKey }
	r.Lost = func(loc []any, err error) { lost[pydantic.Path("agent_settings", loc)] = err }
	got, err := settings.Of(snapshot(t, `{"agent_settings":{"llm":{"model":"openai/x","api_key":"`+token+`"},
		"mcp_config":{"a":{"url":"http://h/","headers":{"X":"**********","Y":"in clear"}}}}}`), r)
	if err != nil || len(lost) != 2 || !errors.Is(lost["agent_settings.llm.api_key"], errKey) || lost["agent_settings.mcp_config.a.headers.X"] == nil {
		t.Errorf("the lost secrets: %v, %v", lost, err)
	}
	if headers := got.Agent.Tree("mcp_config").Tree("a").Tree("headers"); len(headers) != 1 {
		t.Errorf("headers %v", headers.Names())
	}
}
