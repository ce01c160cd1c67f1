//go:build unix

package plugin_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/plugin"
)

// TestALinkLeadsOutOfNoWorkspace has a manifest and a plugin that are links.
func TestALinkLeadsOutOfNoWorkspace(t *testing.T) {
	t.Parallel()
	work, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{".plugin/plugin.json": `{"name":"outside"}`, "plugin.json": `{"name":"outside"}`})
	write(t, work, map[string]string{".agents/plugins/a/.plugin/other": ""})
	for name, target := range map[string]string{"a/.plugin/plugin.json": filepath.Join(outside, "plugin.json"), "b": outside} {
		if err := os.Symlink(target, filepath.Join(work, ".agents/plugins", name)); err != nil {
			t.Fatal(err)
		}
	}
	if found, _ := plugin.Find([]string{work}, ""); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}
