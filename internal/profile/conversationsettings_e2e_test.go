//go:build e2e

package profile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// saved saves settings as an agent-server does, encrypted.
const saved = `
import sys, logging
from pathlib import Path
logging.disable(logging.CRITICAL)
from openhands.sdk.utils.cipher import Cipher
from openhands.agent_server.persistence.models import PersistedSettings
from openhands.agent_server.persistence.store import FileSettingsStore
key = sys.argv[2]
settings = PersistedSettings.model_validate({
    "agent_settings": {"agent_kind": "openhands", "llm": {"model": "openai/x", "api_key": key},
        "condenser": {"max_size": 60, "max_tokens": 5000}, "tool_concurrency_limit": 2,
        "agent_context": {"secrets": {"API_TOKEN": key}, "system_message_suffix": "Be kind."},
        "mcp_config": {"files": {"command": "files", "env": {"TOKEN": key}},
            "web": {"url": "https://mcp.example.org/", "auth": {"strategy": "bearer", "value": key}}}},
    "conversation_settings": {"max_iterations": 9, "confirmation_mode": True, "security_analyzer": "none"}})
FileSettingsStore(Path("."), Cipher(sys.argv[1])).save(settings)
print("RESULT" + "{}")
`

func TestSettingsThatTheServerSavedAreRead(t *testing.T) {
	s := newStore(t, map[string]string{"empty/file": ""})
	sdktest.Result(t, sdktest.Run(t, s.base, saved, fixtureSecret, fixtureKey))
	src, err := os.ReadFile(filepath.Join(s.base, "settings.json"))
	must(t, err)
	noKey(t, "what the server saved", string(src))
	got, err := s.ConversationSettings()
	must(t, err)
	if got.MaxIterations != 9 || !got.Confirmation || got.Analyzer || len(got.Lost) > 0 {
		t.Errorf("settings %+v", got)
	}
	var agent struct {
		Condenser struct {
			MaxSize   int `json:"max_size"`
			MaxTokens int `json:"max_tokens"`
		}
		Limit   int `json:"tool_concurrency_limit"`
		Context struct {
			Suffix  string            `json:"system_message_suffix"`
			Secrets map[string]string `json:"secrets"`
		} `json:"agent_context"`
		Servers map[string]struct {
			Command, URL string
			Env          map[string]string
			Auth         struct{ Strategy, Value string }
		} `json:"mcp_config"`
	}
	want := agent
	must(t, json.Unmarshal([]byte(got.Agent.Reveal()), &agent))
	must(t, json.Unmarshal([]byte(`{"condenser":{"max_size":60,"max_tokens":5000},"tool_concurrency_limit":2,
		"agent_context":{"system_message_suffix":"Be kind.","secrets":{"API_TOKEN":"`+fixtureKey+`"}},
		"mcp_config":{"files":{"command":"files","env":{"TOKEN":"`+fixtureKey+`"}},
			"web":{"url":"https://mcp.example.org/","auth":{"strategy":"bearer","value":"`+fixtureKey+`"}}}}`), &want))
	if diff := cmp.Diff(want, agent); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
}
