package plugin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/plugin"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPluginsOfTheWorkspaceComeFirst(t *testing.T) {
	t.Parallel()
	work, home := t.TempDir(), t.TempDir()
	write(t, work, map[string]string{
		".agents/plugins/a/.plugin/plugin.json":           `{"name":"both","version":"2.0.0","description":"Here."}`,
		".openhands/plugins/bare/README.md":               "",
		".agents/plugins/broken/.plugin/plugin.json":      `{`,
		".agents/plugins/nameless/.plugin/plugin.json":    `{}`,
		".agents/plugins/a.txt":                           "no directory",
		".agents/plugins/both/.claude-plugin/plugin.json": `{"name":"both"}`,
	})
	write(t, home, map[string]string{
		".openhands/plugins/x/.claude-plugin/plugin.json":          `{"name":"both"}`,
		".openhands/plugins/installed/on/.plugin/plugin.json":      `{"name":"on"}`,
		".openhands/plugins/installed/off/.plugin/plugin.json":     `{"name":"off"}`,
		".openhands/plugins/installed/unknown/.plugin/plugin.json": `{"name":"unknown"}`,
		".openhands/plugins/installed/.installed.json":             `{"extensions":{"on":{"enabled":true},"off":{"enabled":false}}}`,
	})
	found, problems := plugin.Find([]string{work}, home)
	type row struct {
		Name, Version string
		Own           bool
	}
	got := []row{}
	for _, p := range found {
		got = append(got, row{p.Name, p.Version, p.Own})
	}
	want := []row{{"both", "2.0.0", false}, {"bare", "1.0.0", false}, {"on", "1.0.0", true}, {"unknown", "1.0.0", true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text := ""
	for _, p := range problems {
		text += filepath.Base(p.Path) + ": " + p.Msg + "\n"
		if !p.Unused || p.Hint == "" {
			t.Errorf("%+v", p)
		}
	}
	for _, want := range []string{"broken: the plugin cannot be used: .plugin/plugin.json is not valid JSON", "nameless: the plugin cannot be used: .plugin/plugin.json has no name", "x: another plugin is named \"both\" and comes first: "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

func TestProgramsOfAPluginAreTheUsersOnly(t *testing.T) {
	t.Parallel()
	work, home := t.TempDir(), t.TempDir()
	files := map[string]string{
		"hooks/hooks.json": `{"hooks":{"Stop":[{"hooks":[{"command":"true"}]}]}}`,
		".mcp.json":        `{"mcpServers":{"s":{"command":"${CLAUDE_PLUGIN_ROOT}/run"}}}`,
		".lsp.json":        `{}`,
	}
	write(t, filepath.Join(work, ".agents/plugins/theirs"), files)
	write(t, filepath.Join(home, ".agents/plugins/mine"), files)
	found, _ := plugin.Find([]string{work}, home)
	if len(found) != 2 {
		t.Fatalf("%+v", found)
	}
	for _, p := range found {
		servers, err := p.Servers()
		if err != nil || !strings.Contains(string(servers["s"]), `/plugins/`+p.Name+`/run"`) {
			t.Errorf("%s, %v", servers["s"], err)
		}
		if hooks, err := p.Hooks(); err != nil || len(hooks["stop"]) != 1 {
			t.Errorf("%+v, %v", hooks, err)
		}
		var lines []string
		for _, problem := range p.Check() {
			lines = append(lines, problem.Msg)
		}
		want := []string{"this part of the plugin is not used"}
		if !p.Own {
			want = []string{
				"the hooks of the plugin are not run, because it is part of a workspace",
				"the MCP servers of the plugin are not started, because it is part of a workspace", want[0],
			}
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPartsThatCannotBeReadAreNamed(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, filepath.Join(home, ".agents/plugins/mine"), map[string]string{"hooks/hooks.json": `{"Before":[]}`, ".mcp.json": `[`})
	found, _ := plugin.Find(nil, home)
	if len(found) != 1 || len(found[0].Check()) != 2 {
		t.Errorf("%+v", found)
	}
}
