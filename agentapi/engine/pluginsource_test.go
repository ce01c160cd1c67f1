//go:build unix

package engine_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
)

// TestAPluginOfARepository takes what is committed at the ref, not what the directory has.
func TestAPluginOfARepository(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "repository")
	fullPlugin(t, filepath.Join(dir, "plugins/full"), filepath.Join(t.TempDir(), "heard"))
	if err := os.Symlink("/", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"init --quiet", "add .", "commit --quiet --message 1", "tag v1"} {
		cmd := exec.CommandContext(t.Context(), "git", strings.Fields("-c user.name=a -c user.email=a@example.org "+args)...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	greet := filepath.Join(dir, "plugins/full/commands/greet.md")
	if err := os.WriteFile(greet, []byte("Say good night."), 0o600); err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	for _, try := range []struct {
		source, ref, want string
	}{{dir, "v1", "morning"}, {"file://" + dir, "", "morning"}, {"file://" + dir, "v1", "morning"}, {dir, "", "night"}} {
		w := newWorld(t, func(c *engine.Config) { c.SkillEnv, c.Base = []string{"PATH=" + os.Getenv("PATH")}, base })
		w.startIt(control.Start{Agent: json.RawMessage(inlineAgent), Plugins: []control.Plugin{{Source: try.source, Ref: try.ref, Path: "plugins/full"}}})
		if state := w.stored("base_state.json"); !strings.Contains(state, "Say good "+try.want) {
			t.Errorf("%+v: %s", try, state)
		}
	}
	w := newWorld(t, func(c *engine.Config) { c.SkillEnv, c.Base = []string{"PATH=" + os.Getenv("PATH")}, base })
	for want, p := range map[string]control.Plugin{
		"is a link that leads out": {Source: "file://" + dir, Path: "out/tmp"},
		"leads out of the source":  {Source: "file://" + dir, Ref: "v1", Path: "../repository"},
		"no such ref":              {Source: dir, Ref: "v2"},
		"is not the name":          {Source: dir, Ref: "--exec=x"},
		"there is no such dir":     {Source: "file://" + dir, Ref: "v1", Path: "plugins/none"},
	} {
		_, created, err := w.backend.Control().Start(w.ctx(), control.Start{
			ID: w.id, Workspace: w.workspace, Agent: json.RawMessage(inlineAgent), Plugins: []control.Plugin{p},
		})
		if created || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
