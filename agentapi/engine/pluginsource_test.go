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

// committed makes a repository of a directory, with one commit that has the tag v1.
func committed(t *testing.T, dir string) {
	t.Helper()
	for _, args := range []string{"init --quiet", "add .", "commit --quiet --message 1", "tag v1"} {
		cmd := exec.CommandContext(t.Context(), "git", strings.Fields("-c user.name=a -c user.email=a@example.org "+args)...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
}

// TestAPluginOfARepository takes what is committed at the ref, not what the directory has.
func TestAPluginOfARepository(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "repository")
	fullPlugin(t, filepath.Join(dir, "plugins/full"), filepath.Join(t.TempDir(), "heard"))
	if err := os.Symlink("/", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	committed(t, dir)
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
			t.Errorf("source %+v: state = %s, want one that says good %s", try, state, try.want)
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

// A checkout stays as long as a conversation, or a copy of it, and no longer.
func TestTheCheckoutOfAPluginGoesWithItsConversations(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "repository")
	fullPlugin(t, dir, filepath.Join(t.TempDir(), "heard"))
	torn := filepath.Join(dir, "torn/.plugin")
	if err := os.MkdirAll(torn, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(torn, "plugin.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	committed(t, dir)
	base := t.TempDir()
	w := newWorld(t, func(c *engine.Config) { c.SkillEnv, c.Base = []string{"PATH=" + os.Getenv("PATH")}, base })
	start := func(path string) error {
		_, _, err := w.backend.Control().Start(w.ctx(), control.Start{
			ID: w.id, Workspace: w.workspace, Agent: json.RawMessage(inlineAgent), Plugins: []control.Plugin{{Source: "file://" + dir, Path: path}},
		})
		return err
	}
	checkouts := func() int {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(base, "cache/plugins/*/resolved-refs/*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found) / 2 // each has the directory of its users
	}
	if err := start("torn"); err == nil || checkouts() != 0 {
		t.Errorf("a torn plugin: %v, %d checkouts", err, checkouts())
	}
	if err := start(""); err != nil {
		t.Fatal(err)
	}
	conv, err := w.backend.Control().Open(w.ctx(), w.id)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := conv.Copy(w.ctx(), control.Fork{})
	if err != nil {
		t.Fatal(err)
	}
	copied := fork.Info().ID
	for i, id := range []string{w.id, copied} {
		if n := checkouts(); n != 1 {
			t.Errorf("%d checkouts before conversation %d is removed", n, i)
		}
		if err := w.backend.Control().Remove(w.ctx(), id); err != nil {
			t.Fatal(err)
		}
	}
	if n := checkouts(); n != 0 {
		t.Errorf("%d checkouts are left", n)
	}
}
