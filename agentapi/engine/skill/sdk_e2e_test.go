//go:build e2e

package skill_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// pythonPlugins prints what the SDK makes of the plugins of the current directory.
const pythonPlugins = `
import json
from openhands.sdk.plugin.discovery import load_project_plugins
out = {}
for p in load_project_plugins("."):
    out[p.name] = {
        "version": p.version, "description": p.description,
        "skills": {s.name: [s.content, (s.trigger.keywords if s.trigger and hasattr(s.trigger, "keywords") else [])] for s in p.get_all_skills()},
        "hooks": sorted(k for k, v in (p.hooks.model_dump() if p.hooks else {}).items() if v),
        "servers": sorted(p.mcp_config), "agents": sorted(a.name for a in p.agents),
    }
print("RESULT" + json.dumps(out))
`

// read is a plugin as both tell it. A skill is its text and the words that call for it.
type read struct {
	Version, Description   string
	Skills                 map[string][2]any
	Hooks, Servers, Agents []string
}

// TestTheSDKReadsTheSamePlugins has both read a folder of plugins.
func TestTheSDKReadsTheSamePlugins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"full/.claude-plugin/plugin.json":     `{"name":"city-weather","version":"2.1.0","description":"Weather.","author":"A <a@b.c>","keywords":["x"]}`,
		"full/skills/any_Name/SKILL.md":       "---\nname: any_Name\ndescription: D.\n---\nBody.",
		"full/skills/any_Name/scripts/x.md":   "no skill",
		"full/skills/named/SKILL.md":          "---\nname: other-name\n---\nBody.",
		"full/skills/word.md":                 "---\nname: word\ntriggers: [cloud, rain]\n---\nOn clouds.\n",
		"full/skills/README.md":               "no skill",
		"full/commands/now.md":                "---\ndescription: Weather now.\nargument-hint: [city, unit]\n---\nLook it up.\n",
		"full/commands/hint.md":               "---\nargumentHint: city\n---\nLook.",
		"full/commands/bare.md":               "Do it.",
		"full/commands/README.md":             "no command",
		"full/hooks/hooks.json":               `{"hooks":{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"x"}]}],"Stop":[{"hooks":[{"command":"y"}]}]}}`,
		"full/.mcp.json":                      `{"mcpServers":{"a":{"command":"${SKILL_ROOT}/run"},"b":{"url":"http://x.test"}}}`,
		"full/agents/porter.md":               "---\nname: porter\n---\nx",
		"full/agents/README.md":               "no agent",
		"single/SKILL.md":                     "---\nname: alone\ndescription: One.\n---\nAlone.",
		"both/.plugin/plugin.json":            `{"name":"first"}`,
		"both/.claude-plugin/plugin.json":     `{"name":"second"}`,
		"same/.plugin/plugin.json":            `{"name":"city-weather"}`,
		"broken/.plugin/plugin.json":          `{`,
		"nameless/.plugin/plugin.json":        `{"version":"1"}`,
		"badparts/.mcp.json":                  `[`,
		"badparts/commands/bad.md":            "---\na: [\n---\nx",
		"../../.openhands/plugins/third/x.md": "",
	} {
		file := filepath.Join(dir, ".agents/plugins", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var want map[string]read
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, pythonPlugins)), &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]read{}
	plugins, _ := plugin.Find([]string{dir}, "")
	all, _ := skill.Find(dir, "")
	for _, p := range plugins {
		got[p.Name] = readBy(t, p, all)
	}
	if diff := cmp.Diff(want, got, cmp.Transformer("nil", func(list []string) []string { return append([]string{}, list...) })); diff != "" {
		t.Errorf("plugins (-SDK +ohgw):\n%s", diff)
	}
}

func readBy(t *testing.T, p plugin.Plugin, all []skill.Skill) read {
	t.Helper()
	r := read{Version: p.Version, Description: p.Description, Skills: map[string][2]any{}}
	for _, s := range all {
		if rel, err := filepath.Rel(p.Dir, s.Path); err != nil || !filepath.IsLocal(rel) {
			continue
		}
		words := []any{}
		for _, w := range s.Triggers {
			words = append(words, w)
		}
		r.Skills[s.Name] = [2]any{s.Body, words}
	}
	hooks, err := p.Hooks()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"post_tool_use", "pre_tool_use", "stop"} {
		if len(hooks[name]) > 0 {
			r.Hooks = append(r.Hooks, name)
		}
	}
	servers, _ := p.Servers() // a file that cannot be read has none
	for _, name := range []string{"a", "b"} {
		if _, ok := servers[name]; ok {
			r.Servers = append(r.Servers, name)
		}
	}
	root, place := p.Agents()
	agents, _ := definition.Load(t.Context(), definition.Dir{Root: root, Place: place})
	for _, d := range agents {
		r.Agents = append(r.Agents, d.Name)
	}
	return r
}
