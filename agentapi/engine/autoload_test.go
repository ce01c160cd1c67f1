//go:build unix

package engine_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// autoLoading is an agent whose context has these marketplaces and one skill.
func autoLoading(t *testing.T, marketplaces ...map[string]any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"registered_marketplaces": marketplaces,
		"skills":                  []any{map[string]any{"name": "given", "content": "words of the request's skill", "trigger": map[string]any{"type": "keyword", "keywords": []string{"given"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(strings.TrimSuffix(inlineAgent, "}") + `,"agent_context":` + string(data) + "}")
}

// What a marketplace gives to each conversation is there from the start. Plugins that the
// request names and its skills come first, and what cannot be used is left out.
func TestMarketplacesGiveTheirPluginsToEachConversation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	written(t, dir, map[string]string{
		"all/.plugin/marketplace.json": `{"name":"m","owner":{"name":"o"},"plugins":[{"name":"a","source":"./a"},{"name":"net","source":{"source":"github","repo":"o/r"}},` +
			`{"name":"named","source":"./named"},{"name":"up","source":"../some"}],` +
			`"skills":[{"name":"talk","source":"./talk"},{"name":"given","source":"./given"},{"name":"none","source":"./none"}]}`,
		"all/a/commands/x.md":                  "alpha words",
		"all/a/hooks/hooks.json":               `{"hooks":{"SessionStart":[{"hooks":[{"command":"touch ran"}]}]}}`,
		"all/named/commands/x.md":              "words of the marketplace's own",
		"all/talk/SKILL.md":                    "---\nname: talk\ntriggers: [talk]\n---\nwords of a skill",
		"all/given/SKILL.md":                   "---\nname: given\ntriggers: [given]\n---\nwords of the marketplace's skill",
		"some/.claude-plugin/marketplace.json": `{"name":"m","owner":{"name":"o"},"plugins":[{"name":"b","source":"./b"},{"name":"c","source":"./c"}]}`,
		"some/b/commands/x.md":                 "words of b",
		"some/c/commands/x.md":                 "words of c",
		"folder/skills/plain/SKILL.md":         "---\nname: plain\ntriggers: [plain]\n---\nwords of a folder",
		"folder/other/SKILL.md":                "---\nname: other\ntriggers: [other]\n---\nwords beside it",
		"off/.plugin/marketplace.json":         `{"name":"m","owner":{"name":"o"},"plugins":[{"name":"d","source":"./d"}]}`,
		"off/d/commands/x.md":                  "words of d",
		"request/named/commands/x.md":          "words that were asked for",
	})
	at := func(name string, auto any) map[string]any {
		return map[string]any{"name": name, "source": filepath.Join(dir, name), "auto_load": auto}
	}
	w := newWorld(t, realTools)
	w.llm.Reply(llmtest.Finish("ok"))
	w.startIt(control.Start{
		Agent:   autoLoading(t, at("all", true), at("some", []string{"c", "unknown"}), at("folder", true), at("off", false), at("gone", true)),
		Plugins: []control.Plugin{{Source: filepath.Join(dir, "request/named")}},
	})
	w.say("please /a:x /b:x /c:x /d:x /named:x talk given plain other")
	asked := string(w.llm.Await(t, 1).Body)
	for text, want := range map[string]bool{
		"alpha words": true, "words of a skill": true, "words of c": true, "words of a folder": true, "words that were asked for": true, "words of the request's skill": true,
		"words of b": false, "words of d": false, "words of the marketplace's own": false, "words of the marketplace's skill": false, "words beside it": false,
	} {
		if strings.Contains(asked, text) != want {
			t.Errorf("%q: want %t in %s", text, want, asked)
		}
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "ran")); err != nil {
		t.Errorf("the hook of a plugin did not run: %v", err)
	}
}

func TestMarketplacesThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for want, list := range map[string][]map[string]any{
		"is not a list of marketplaces": {{"name": "a", "source": dir, "auto_load": 5}},
		"is registered twice":           {{"name": "a", "source": dir, "auto_load": true}, {"name": "a", "source": dir}},
	} {
		w := newWorld(t, func(*engine.Config) {})
		_, created, err := w.backend.Control().Start(w.ctx(), control.Start{ID: w.id, Workspace: w.workspace, Agent: autoLoading(t, list...)})
		if created || !errors.Is(err, agentapi.ErrRefused) || !strings.Contains(agentapi.PublicMessage(err, ""), want) {
			t.Errorf("%s: created %t, %v", want, created, err)
		}
	}
}
