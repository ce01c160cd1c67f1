package engine

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestEqualConversationsBeginWithOneAgent(t *testing.T) {
	t.Parallel()
	var agents madeAgents
	sealed := 0
	seal := func(string) (string, error) { sealed++; return fmt.Sprint("sealed ", sealed), nil }
	profile := Profile{Name: "p", Revision: "1", LLM: json.RawMessage(`{"model":"openai/one"}`)}
	of := func(p Profile, settings, system string) json.RawMessage {
		t.Helper()
		made, err := agents.of(p, Settings{Agent: json.RawMessage(settings)}, system, seal)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	shared := func(a, b json.RawMessage) bool { return &a[0] == &b[0] }
	const settings = `{"tool_concurrency_limit":2}`
	first := of(profile, settings, "be brief")
	want, err := newAgent(profile, Settings{Agent: json.RawMessage(settings)}, "be brief", seal)
	if err != nil || string(first) != string(want) {
		t.Errorf("agent %s, want %s (%v)", first, want, err)
	}
	if !shared(first, of(profile, settings, "be brief")) {
		t.Error("equal conversations have two agents in memory")
	}
	changed, renamed, unknown := profile, profile, profile
	changed.Revision, renamed.Name, unknown.Revision = "2", "q", ""
	for name, other := range map[string]json.RawMessage{
		"profile": of(changed, settings, "be brief"), "name": of(renamed, settings, "be brief"),
		"settings": of(profile, `{"tool_concurrency_limit":3}`, "be brief"), "system": of(profile, settings, "be long"),
	} {
		if shared(first, other) {
			t.Errorf("another %s has the same agent", name)
		}
	}
	if shared(of(unknown, settings, ""), of(unknown, settings, "")) {
		t.Error("a profile that may have changed has the same agent")
	}
	const servers = `{"mcp_config":{"mcpServers":{"s":{"url":"http://localhost/","headers":{"Authorization":"Bearer secret"}}}}}`
	if shared(of(profile, servers, ""), of(profile, servers, "")) || sealed < 2 {
		t.Errorf("conversations share what was sealed for one (%d seals)", sealed)
	}
	for i := range 3 * maxMadeAgents {
		of(profile, settings, fmt.Sprint(i))
	}
	if n := len(agents.made); n > maxMadeAgents {
		t.Errorf("%d agents are kept", n)
	}
}
