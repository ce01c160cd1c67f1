//go:build unix

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// The directories of the user's plugins are shown to the conversation, its tasks and its
// copies, and to hooks; that of a plugin elsewhere is not, nor what the request says that
// it shows.
func TestTheBoxShowsTheDirectoriesOfPlugins(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	written(t, home, map[string]string{
		".openhands/plugins/installed/on/agents/critic.md": "---\nname: critic\ndescription: Finds faults.\ntools: [terminal]\n---\nYou are strict.",
		".openhands/plugins/installed/off/commands/a.md":   "words of one that is off",
		".openhands/plugins/installed/.installed.json":     `{"extensions":{"on":{},"off":{"enabled":false}}}`,
		".openhands/hooks/guard.sh":                        "exit 0",
		".openhands/settings.json":                         "{}",
		"linked/commands/a.md":                             "words behind a link",
		"request/named/commands/a.md":                      "words of the request",
		"market/.plugin/marketplace.json":                  `{"name":"m","owner":{"name":"o"},"plugins":[{"name":"later","source":"./later"}]}`,
		"market/later/commands/a.md":                       "words of a marketplace",
	})
	if err := os.MkdirAll(filepath.Join(home, ".agents/plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(home, "linked"), filepath.Join(home, ".agents/plugins/linked")); err != nil {
		t.Fatal(err)
	}
	var boxes []*watched
	var asked []engine.BoxEnv
	w := newWorld(t, subAgents, boxed(&boxes, &asked), func(c *engine.Config) {
		c.Home, c.Base, c.SkillEnv = home, filepath.Join(home, ".openhands"), []string{"PATH=" + os.Getenv("PATH")}
	})
	withTasks := strings.Replace(inlineAgent, `"tools":[`, `"tools":[{"name":"task_tool_set"},`, 1)
	withTasks = strings.TrimSuffix(withTasks, "}") + `,"agent_context":{"registered_marketplaces":[{"name":"m","source":"file://` + home + `/market"}]}}`
	w.llm.Reply(task(`{"prompt":"look","subagent_type":"critic"}`), terminal("true"), llmtest.Finish("bad"), llmtest.Finish("ok"))
	c := w.startIt(control.Start{
		Agent: json.RawMessage(withTasks), Plugins: []control.Plugin{{Source: filepath.Join(home, "request/named")}},
		Request: json.RawMessage(`{"ohgw_plugin_directories":["` + home + `/.openhands","` + home + `/request"]}`),
	})
	w.say("go")
	want := []string{filepath.Join(home, "linked"), filepath.Join(home, ".openhands/plugins/installed/on")}
	if len(asked) < 2 {
		t.Fatalf("%d boxes", len(asked))
	}
	for _, e := range asked {
		if diff := cmp.Diff(want, e.Shown); diff != "" {
			t.Errorf("%s (-want +got):\n%s", e.Dir, diff)
		}
	}
	record, err := c.Record(w.ctx())
	if err != nil || strings.Contains(string(record.Meta), "ohgw_plugin") {
		t.Errorf("for clients: %s, %v", record.Meta, err)
	}
	committed(t, filepath.Join(home, "market"))
	if err := w.backend.Control().LoadPlugin(w.ctx(), w.id, "later@m"); err != nil {
		t.Fatal(err)
	}
	w.conv = nil // it has ended, and is opened again
	before := len(asked)
	w.fork("")
	w.llm.Reply(llmtest.Finish("ok"))
	w.say("go on")
	checkout := filepath.Join(home, ".openhands/cache/plugins") + "/"
	if len(asked) == before {
		t.Fatal("no box was made for the copy")
	}
	shown := asked[before].Shown
	if len(shown) != 3 || cmp.Diff(want, shown[:2]) != "" || !strings.HasPrefix(shown[2], checkout) || filepath.Base(shown[2]) != "later" {
		t.Errorf("a copy shows %q", shown)
	}
}

// Only the directories of plugins are shown, whatever the file of a conversation says.
func TestWhichDirectoriesAreThoseOfPlugins(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(home, ".openhands")
	written(t, home, map[string]string{
		".openhands/plugins/installed/on/a":     "",
		".openhands/plugins/mine/a":             "",
		".openhands/cache/plugins/repo/sub/a":   "",
		".openhands/cache/other/a":              "",
		".openhands/secrets/a":                  "",
		".openhands/plugins/installed/file.txt": "",
		"elsewhere/a":                           "",
	})
	for from, to := range map[string]string{".openhands/plugins/installed/link": "elsewhere", ".openhands/cache/plugins/link": "elsewhere"} {
		if err := os.Symlink(filepath.Join(home, to), filepath.Join(home, from)); err != nil {
			t.Fatal(err)
		}
	}
	var boxes []*watched
	var asked []engine.BoxEnv
	w := newWorld(t, realTools, boxed(&boxes, &asked), func(c *engine.Config) { c.Home, c.Base = home, base })
	w.startIt(control.Start{Agent: json.RawMessage(inlineAgent)})
	w.close()
	var all []string
	good := []string{"plugins/installed/on", "plugins/mine", "cache/plugins/repo", "cache/plugins/repo/sub"}
	for _, name := range append(good, "", "plugins", "plugins/installed", "plugins/installed/file.txt", "plugins/installed/link", "plugins/installed/on/../../..",
		"cache/plugins", "cache/plugins/link", "cache/plugins/../other", "cache/other", "secrets", "../elsewhere", "gone") {
		all = append(all, base+"/"+name)
	}
	meta := make(map[string]json.RawMessage)
	if err := json.Unmarshal([]byte(w.stored("meta.json")), &meta); err != nil {
		t.Fatal(err)
	}
	if meta["ohgw_plugin_directories"], err = json.Marshal(append(all, "plugins/mine", "/")); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir(), "meta.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.llm.Reply(llmtest.Finish("ok"))
	w.say("go")
	if diff := cmp.Diff(all[:len(good)], asked[len(asked)-1].Shown); diff != "" {
		t.Error(diff)
	}
}
