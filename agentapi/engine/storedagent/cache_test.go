package storedagent

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestEqualConversationsBeginWithOneAgent(t *testing.T) {
	t.Parallel()
	var agents Cache
	sealed := 0
	seal := func(string) (string, error) { sealed++; return fmt.Sprint("sealed ", sealed), nil }
	profile := Source{Name: "p", Revision: "1", LLM: json.RawMessage(`{"model":"openai/one"}`)}
	of := func(p Source, settings, system string) json.RawMessage {
		t.Helper()
		p.Settings, p.System = json.RawMessage(settings), system
		made, err := agents.Of(p, seal)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	shared := func(a, b json.RawMessage) bool { return &a[0] == &b[0] }
	const settings = `{"tool_concurrency_limit":2}`
	first := of(profile, settings, "be brief")
	asked := profile
	asked.Settings, asked.System = json.RawMessage(settings), "be brief"
	want, err := New(asked, seal)
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
	for i := range 3 * maxAgents {
		of(profile, settings, fmt.Sprint(i))
	}
	if n := len(agents.made); n > maxAgents {
		t.Errorf("%d agents are kept", n)
	}
}
