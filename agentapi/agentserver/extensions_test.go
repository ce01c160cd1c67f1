package agentserver_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/turn"
)

func TestExtensionsOfAServer(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "1.30.0", "1.22.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{Version: version}, func(t *testing.T, w *world) {
				w.Configure(func(agent, _ map[string]any) {
					agent["mcp_config"] = map[string]any{
						"search": map[string]any{"url": "https://u:sk-1@search.test/?key=sk-2", "headers": map[string]any{"X": "sk-3"}},
						"docs":   map[string]any{"command": "docs-server", "args": []any{"sk-4"}},
						"off":    map[string]any{"command": "x", "enabled": false},
					}
					agent["agent_context"] = map[string]any{"skills": []any{
						map[string]any{"name": "agents", "content": "rules", "source": "/src/AGENTS.md", "trigger": nil},
						map[string]any{"name": "deploy", "trigger": map[string]any{"type": "keyword", "keywords": []any{"deploy"}}},
						map[string]any{"name": "go", "trigger": map[string]any{"type": "path", "paths": []any{"*.go"}}},
						map[string]any{"name": "build", "description": "Builds.", "is_agentskills_format": true, "trigger": nil},
					}}
				})
				conv := w.open(t)
				id := conv.Info().ID
				off := agentapi.MCPServer{Name: "off", Transport: "stdio", State: agentapi.ServerDisabled, Reason: "enabled is false in the settings"}
				const later = "it starts with the first message"
				skills := []agentapi.Skill{
					{Name: "agents", Source: "/src/AGENTS.md", State: agentapi.SkillAlways},
					{Name: "deploy", Source: "built-in", State: agentapi.SkillTriggered, Reason: "words: deploy"},
					{Name: "go", Source: "built-in", State: agentapi.SkillTriggered, Reason: "files: *.go"},
					{Name: "build", Source: "built-in", Description: "Builds.", State: agentapi.SkillListed},
				}
				wantExtensions(t, w, id, agentapi.Extensions{Skills: skills, Servers: []agentapi.MCPServer{
					{Name: "docs", Transport: "stdio", State: agentapi.ServerNotStarted, Reason: later},
					off,
					{Name: "search", Transport: "http", State: agentapi.ServerNotStarted, Reason: later},
				}})
				if _, err := turn.Run(t.Context(), conv, turn.Input{Message: agentapi.Message{Text: "hi"}, Emit: func(turn.Update) {}}); err != nil {
					t.Fatal(err)
				}
				wantExtensions(t, w, id, agentapi.Extensions{Skills: skills, Servers: []agentapi.MCPServer{
					{Name: "docs", Transport: "stdio", State: agentapi.ServerConnected, Tools: []string{"docs_echo"}},
					off,
					{Name: "search", Transport: "http", State: agentapi.ServerConnected, Tools: []string{"search_echo"}},
				}})
			})
		})
	}
}

func wantExtensions(t *testing.T, w *world, id string, want agentapi.Extensions) {
	t.Helper()
	got, err := w.backend.Extensions(t.Context(), id)
	if got.Note == "" {
		t.Error("nothing is said of what the server does not report")
	}
	got.Note = ""
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the extensions: %v (-want +got):\n%s", err, diff)
	}
}
