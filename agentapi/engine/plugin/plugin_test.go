package plugin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/plugin"
)

// tree is a directory with these files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "weather")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// skills are the names of the skills, each with what calls for it.
func skills(p plugin.Plugin) (names []string) {
	for _, s := range p.Skills {
		names = append(names, strings.Join(append([]string{s.Name}, s.Triggers...), " "))
	}
	return names
}

// leftOut are the parts that are not used, with the reasons.
func leftOut(p plugin.Plugin) string {
	var lines []string
	for _, l := range p.LeftOut {
		rel, err := filepath.Rel(p.Dir, l.Path)
		lines = append(lines, fmt.Sprint(filepath.ToSlash(rel), ": ", l.Reason, err))
	}
	return strings.Join(lines, "\n")
}

func TestAllPartsAreRead(t *testing.T) {
	t.Parallel()
	p, err := plugin.Load(tree(t, map[string]string{
		".claude-plugin/plugin.json": `{"name":"city-weather","author":"A <a@example.org>","strange":[1]}`,
		"skills/Any Name/SKILL.md":   "---\ndescription: D.\n---\nBody.",
		"skills/named/SKILL.md":      "---\nname: Other\n---\nBody.",
		"skills/named/more.md":       "belongs to the skill",
		"skills/lower/skill.md":      "---\ntriggers: [zig]\n---\nBody.",
		"skills/words.md":            "---\ntriggers: [rain]\n---\nBody.",
		"skills/README.md":           "none",
		"skills/empty/notes.txt":     "none",
		"commands/now.md":            "---\ndescription: Tells.\nargument-hint: [city, day]\n---\nSay it.",
		"hooks/hooks.json":           `{"hooks":{"Stop":[{"hooks":[{"command":"true"}]}]}}`,
		".mcp.json":                  `{"mcpServers":{"s":{"command":"${SKILL_ROOT}/run","args":["${KEY:-x}"]},"none":null}}`,
		"agents/one.md":              "---\ndescription: D.\nmcp_servers:\n  s: {command: x}\n---\nPrompt.",
		"agents/torn.md":             "---\nname: [\n---\n",
		"output-styles/x.md":         "none",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Any Name", "lower zig", "Other", "words rain", "city-weather:now /city-weather:now"}
	if diff := cmp.Diff(want, skills(p)); diff != "" {
		t.Error(diff)
	}
	const body = "## now\n\nTells.\n\n**Arguments**: `$ARGUMENTS` - city day\n\n\nSay it."
	if got := p.Skills[4].Body; got != body {
		t.Errorf("the command says %q", got)
	}
	var server struct {
		Command string
		Args    []string
	}
	if err := json.Unmarshal(p.Servers["s"], &server); err != nil || len(p.Servers) != 1 || server.Command != p.Dir+"/run" || server.Args[0] != "${KEY:-x}" {
		t.Errorf("servers %s, %v", p.Servers, err)
	}
	if len(p.Hooks["stop"]) != 1 {
		t.Errorf("hooks %+v", p.Hooks)
	}
	if len(p.Agents) != 1 || p.Agents[0].Name != "one" || p.Agents[0].Prompt != "Prompt." || p.Agents[0].Servers != nil {
		t.Errorf("agents %+v", p.Agents)
	}
	got := leftOut(p)
	for _, want := range []string{
		".mcp.json: the server none is not an object", "agents/one.md: MCP servers and hooks of an agent of a plugin are not used",
		"agents/torn.md: ", "output-styles: this part of plugins is not used",
	} {
		if !strings.Contains(got, want) || strings.Count(got, "\n") != 3 {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

func TestAPluginMayBeOneSkill(t *testing.T) {
	t.Parallel()
	p, err := plugin.Load(tree(t, map[string]string{"SKILL.md": "---\ndescription: D.\n---\nBody."}))
	if err != nil || p.Name != "weather" {
		t.Errorf("name = %q, error %v", p.Name, err)
	}
	if diff := cmp.Diff([]string{"weather"}, skills(p)); diff != "" {
		t.Error(diff)
	}
}

func TestAPluginThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"not a valid manifest":   {".plugin/plugin.json": `{"name":"x"`, ".claude-plugin/plugin.json": `{"name":"y"}`},
		"has no name":            {".plugin/plugin.json": `{"version":"1"}`},
		"characters that a name": {".plugin/plugin.json": `{"name":"../up"}`},
		"cannot have":            {".plugin/plugin.json": `{"name":"a..b"}`},
		"more than 64 bytes":     {".plugin/plugin.json": `{"name":"` + strings.Repeat("n", 65) + `"}`},
		"larger than":            {".plugin/plugin.json": strings.Repeat(" ", 1<<20) + `{"name":"x"}`},
		"agent-plugins.org":      {"plugin.json": `{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"x"}`},
		"not a regular file":     {".plugin/plugin.json/x": ""},
	} {
		if _, err := plugin.Load(tree(t, files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error of the plugin: %v, want %q", err, want)
		}
	}
	if _, err := plugin.Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("there is a plugin where nothing is")
	}
}

func TestPartsThatCannotBeReadAreNamed(t *testing.T) {
	t.Parallel()
	p, err := plugin.Load(tree(t, map[string]string{
		"hooks/hooks.json": `{"Before":[]}`, ".mcp.json": `{"mcpServers":`, "skills/bad/SKILL.md": "---\na: [\n---\nx", "commands/bad.md": "---\na: [\n---\nx",
	}))
	if err != nil || len(p.LeftOut) != 4 || len(p.Skills) > 0 || p.Hooks != nil || p.Servers != nil {
		t.Errorf("Load = %+v, error %v", p, err)
	}
}

func TestThousandsOfFilesAreNotAllRead(t *testing.T) {
	t.Parallel()
	files := make(map[string]string)
	for i := range 1000 {
		files[fmt.Sprintf("skills/s%04d.md", i)] = "x"
	}
	p, err := plugin.Load(tree(t, files))
	if err != nil || len(p.Skills) != 500 {
		t.Errorf("%d skills, %v", len(p.Skills), err)
	}
	if got := leftOut(p); !strings.Contains(got, "more than 500") {
		t.Errorf("left out: %q", got)
	}
}
