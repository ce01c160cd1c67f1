//go:build e2e_canvas

package canvas_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pinger is an MCP server in one line, which the page's form takes as an argument. The
// sandbox shows it no file of this test.
const pinger = `exec("import sys,json\nfor line in sys.stdin:\n m=json.loads(line); i=m.get('id')\n if i is None: continue\n ` +
	`r={'initialize':{'protocolVersion':'2025-03-26','capabilities':{'tools':{}},'serverInfo':{'name':'pinger','version':'1'}},` +
	`'tools/list':{'tools':[{'name':'ping','description':'pings','inputSchema':{'type':'object','properties':{}}}]},` +
	`'tools/call':{'content':[{'type':'text','text':'pong'}]}}.get(m['method'],{})\n ` +
	`print(json.dumps({'jsonrpc':'2.0','id':i,'result':r}),flush=True)")`

// plugin makes a plugin with a skill, and gives its directory.
func (w *world) plugin(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(w.home, "hummer")
	for name, text := range map[string]string{
		".plugin/plugin.json": `{"name":"hummer","version":"1.0.0","description":"A plugin that hums"}`,
		"skills/hum/SKILL.md": "---\nname: hum\ndescription: hums\ntriggers:\n- hummmm\n---\nHUM-MARK\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCustomize(t *testing.T) {
	w := newWorld(t)
	w.start(t)
	w.step(t, "an MCP server", func() {
		w.click(id("sidebar-skills-link"))
		w.shows(id("mcp-installed-empty"))
		w.click(id("mcp-add-custom-server"))
		w.click(id("server-type-dropdown"))
		w.click(`[role="option"]:has-text("STDIO")`)
		w.fill(id("name-input"), "pinger")
		w.fill(id("command-input"), "python3")
		w.fill(id("args-input"), "-c\n"+pinger)
		w.click(id("mcp-test-connection"))
		w.shows("text=Connected — 1 tool")
		w.click(`[data-testid="mcp-custom-editor"] [data-testid="submit-button"]`)
		w.shows(named("mcp-server-item", "pinger"))
	})
	w.step(t, "a plugin of the network", func() {
		w.open("/plugins")
		w.shows(id("plugins-empty"))
		w.click(id("plugins-add-plugin-button"))
		w.fill(id("add-plugin-source-input"), "github:owner/repo")
		w.click(id("add-plugin-submit"))
		w.shows("text=ohgw fetches nothing; clone it")
		if all := w.troubles(); len(all) != 1 || all[0].Status != http.StatusBadRequest {
			t.Errorf("such a plugin gave %v, want 400", all)
		}
	})
	w.step(t, "a plugin of this machine", func() {
		w.fill(id("add-plugin-source-input"), w.plugin(t))
		w.click(id("add-plugin-submit"))
		w.shows(named("plugin-card-hummer", "A plugin that hums"))
	})
	w.step(t, "apps", func() {
		w.open("/apps")
		w.shows(id("canvas-extensions-screen"))
		w.gone("text=does not support Apps")
	})
	w.step(t, "a skill", func() {
		w.open("/skills")
		w.shows(named("skills-result-summary", "result"))
		w.fill(id("skills-search-input"), "flarglebargle")
		w.click(`[data-testid="skill-toggle-flarglebargle"][aria-label="Enable skill"]`)
		w.shows(`[data-testid="skill-toggle-flarglebargle"][aria-label="Disable skill"]`)
	})
	w.step(t, "the agent has the skill", func() {
		w.click(id("sidebar-conversations-link"))
		w.say("flarglebargle [[say You have said it.]]")
		w.answered("You have said it.")
		events := w.get(t, "/api/conversations/"+w.conversation()+"/events/search?limit=100")
		if !strings.Contains(events, `"activated_skills":["flarglebargle"]`) {
			t.Errorf("the message has activated no skill:\n%.3000s", events)
		}
		last := w.asked()
		if !strings.Contains(last.UserText(), "<EXTRA_INFO>") {
			t.Errorf("the model was told %q", last.UserText())
		}
	})
	w.step(t, "the agent has the plugin and the server", func() {
		w.open("/")
		w.say("hummmm [[tool ping {}]] then [[say It has answered.]]")
		w.answered("It has answered.")
		last := w.asked()
		if !strings.Contains(last.UserText(), "HUM-MARK") || !strings.Contains(last.Last().Text, "pong") {
			t.Errorf("the model was told %q, and of the call %q", last.UserText(), last.Last().Text)
		}
	})
}
