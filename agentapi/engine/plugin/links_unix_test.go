//go:build unix

package plugin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/plugin"
)

// Links of a plugin may lead only into it; a circle of links does not loop for ever.
func TestLinksOutOfThePluginAndInACircle(t *testing.T) {
	t.Parallel()
	outside := tree(t, map[string]string{
		"SKILL.md": "secret", "hooks.json": `{"Stop":[{"hooks":[{"command":"true"}]}]}`, "mcp.json": `{"mcpServers":{"s":{"command":"x"}}}`,
	})
	dir := tree(t, map[string]string{"skills/good.md": "x", "hooks/x": "", "commands/x": ""})
	for name, target := range map[string]string{
		"skills/out": outside, "skills/file.md": filepath.Join(outside, "SKILL.md"), "skills/circle": "../skills/circle", "skills/up": "..",
		"commands/out.md": filepath.Join(outside, "SKILL.md"), "hooks/hooks.json": filepath.Join(outside, "hooks.json"), ".mcp.json": "../../" + "mcp.json",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := plugin.Load(dir)
	if err != nil || len(p.Skills) != 1 || p.Skills[0].Name != "good" || p.Hooks != nil || p.Servers != nil {
		t.Errorf("Load = %+v, error %v", p, err)
	}
	got := leftOut(p)
	for _, name := range []string{"skills/out", "skills/file.md", "skills/circle", "commands/out.md", "hooks/hooks.json", ".mcp.json"} {
		if !strings.Contains(got, name) {
			t.Errorf("%s is not named in:\n%s", name, got)
		}
	}
}

func TestAManifestThatIsALinkOutOfThePlugin(t *testing.T) {
	t.Parallel()
	outside := tree(t, map[string]string{"plugin.json": `{"name":"x"}`})
	for _, target := range []string{outside, filepath.Join(outside, "none")} {
		dir := tree(t, nil)
		if err := os.Symlink(target, filepath.Join(dir, ".plugin")); err != nil {
			t.Fatal(err)
		}
		if p, err := plugin.Load(dir); err == nil {
			t.Errorf("loaded %+v", p)
		}
	}
}
