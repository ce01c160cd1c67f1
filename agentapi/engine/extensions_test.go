package engine_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestExtensionsSayWhatIsLoadedAndWhyNot(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const secret = "plain4711word"
	config := fmt.Sprintf(`{"agent_context":{"disabled_skills":["off"]},"mcp_config":{
		"works":{"command":%q,"args":[%q],"env":{"KEY":%q}},
		"absent":{"command":"/no/such/program","args":[%q],"env":{"KEY":%q}},
		"says":{"command":"/bin/sh","args":["-c","echo the word %s >&2; exit 3"]},
		"vague":{"transport":"pigeon","url":"https://u:%s@host.test/?k=%s"},
		"gone":{"url":"http://u:%s@127.0.0.1:1/mcp?k=%s"},
		"off":{"url":"https://u:%s@host.test/","enabled":false}}}`,
		self, mcpArgument, secret, secret, secret, secret, secret, secret, secret, secret, secret)
	w := newWorld(t, func(c *engine.Config) {
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(config)})
		c.NewTools = toolset.New(toolset.Config{Environ: os.Environ(), HTTP: http.DefaultTransport})
	})
	w.write("AGENTS.md", "rules")
	w.write("GEMINI.md", "rules of another")
	w.write(".agents/skills/build/SKILL.md", "---\ndescription: Builds.\n---\nThere are !`date` lines.")
	w.write(".agents/skills/off/SKILL.md", "x")
	w.write(".agents/skills/Bad_Name/SKILL.md", "x")
	w.write(".openhands/skills/deploy.md", "---\ntriggers: [deploy]\n---\nx")
	w.write(".openhands/skills/go.md", "---\npaths: ['*.go']\n---\nx")
	w.write(".openhands/skills/broken.md", "---\n: [\n---\nx")

	w.open()
	before := w.extensions(secret)
	for _, s := range before.Servers {
		want := agentapi.ServerNotStarted
		if s.Name == "off" {
			want = agentapi.ServerDisabled
		}
		if s.State != want || len(s.Tools) != 0 {
			t.Errorf("before the first message: %+v", s)
		}
	}
	w.llm.Reply(llmtest.Finish("ok"))
	w.say("go")
	got := w.extensions(secret)
	servers := map[string]agentapi.MCPServer{}
	for _, s := range got.Servers {
		servers[s.Name] = s
	}
	if s := servers["works"]; s.State != agentapi.ServerConnected || !cmp.Equal(s.Tools, []string{"works_echo", "works_grow"}) || s.Transport != "stdio" {
		t.Errorf("the server that works = %+v, want it connected with its tools", s)
	}
	for name, reason := range map[string]string{"absent": "no such file", "gone": "refused", "says": "the log of ohgw serve has what it printed", "vague": "transport must be"} {
		if s := servers[name]; s.State != agentapi.ServerFailed || !strings.Contains(s.Reason, reason) || len(s.Tools) != 0 {
			t.Errorf("%s: server = %+v, want it failed with the reason %q", name, s, reason)
		}
	}
	if s := servers["off"]; s.State != agentapi.ServerDisabled || s.Transport != "http" {
		t.Errorf("the server that is off = %+v, want it disabled", s)
	}
	want := []agentapi.Skill{
		{Name: "agents", State: agentapi.SkillAlways},
		{Name: "gemini", State: agentapi.SkillSkipped, Reason: "it is for models of another family"},
		{Name: "build", Description: "Builds.", State: agentapi.SkillListed, Reason: "its commands do not run, because it came with the workspace"},
		{Name: "deploy", State: agentapi.SkillTriggered, Reason: "words: deploy"},
		{Name: "go", State: agentapi.SkillTriggered, Reason: "files: *.go"},
		{Name: "Bad_Name", State: agentapi.SkillSkipped, Reason: "its name must be that of its directory, in lower case with dashes"},
		{Name: "broken.md", State: agentapi.SkillSkipped, Reason: "its front matter is not valid YAML"},
		{Name: "off", State: agentapi.SkillSkipped, Reason: "disabled_skills in the settings has its name"},
	}
	if diff := cmp.Diff(want, got.Skills, cmpopts.IgnoreFields(agentapi.Skill{}, "Source")); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if want := filepath.Join(w.workspace, "AGENTS.md"); got.Skills[0].Source != want {
		t.Errorf("source %q, want %q", got.Skills[0].Source, want)
	}
}

// extensions are those of the conversation; none of them has the secret.
func (w *world) extensions(secret string) agentapi.Extensions {
	w.t.Helper()
	got, err := w.backend.Extensions(w.t.Context(), w.conv.Info().ID)
	if err != nil {
		w.t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", got); strings.Contains(text, secret) {
		w.t.Errorf("a secret is shown: %s", text)
	}
	return got
}
