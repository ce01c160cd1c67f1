package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// sentAgents are the forms in which a program sends an agent with a context.
func sentAgents(context string) map[string]control.Start {
	const llm = `"llm":{"model":"openai/test","base_url":"http://x","api_key":"k"},"agent_context":`
	return map[string]control.Start{
		"agent":                 {Agent: json.RawMessage(`{"kind":"Agent",` + llm + context + `}`)},
		"settings":              {Settings: json.RawMessage(`{"agent_kind":"openhands",` + llm + context + `}`)},
		"settings of a profile": {Profile: "other", Settings: json.RawMessage(`{` + llm + context + `}`)},
	}
}

// TestSkillsThatAProgramSendsAreTheAgents sends skills of all forms in each form of an
// agent.
func TestSkillsThatAProgramSendsAreTheAgents(t *testing.T) {
	t.Parallel()
	const context = `{"skills":[
		{"name":"always","content":"Paint it blue.","source":"public","trigger":null},
		{"name":"ships","content":"Ships are she.","source":"public","trigger":{"type":"keyword","keywords":["frigate","sloop"]}},
		{"name":"knots","content":"Over, under.","description":"Ties knots.","is_agentskills_format":true},
		{"name":"rope","content":"Never.","trigger":{"type":"keyword","keywords":["sloop"]}}],
		"disabled_skills":["rope"],"memory_context":"The sea was rough.","system_message_suffix":"Be brief.","user_message_suffix":"In English."}`
	for form, start := range sentAgents(context) {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sealed)
			w.startIt(start)
			w.llm.Reply(llmtest.Text("one"))
			w.say("Launch the sloop")
			told := w.llm.Await(t, 1)
			text := string(told.Body)
			for _, part := range []string{"Paint it blue.", "Ships are she.", "Ties knots.", "The sea was rough.", "Be brief.", "In English."} {
				if !strings.Contains(text, part) {
					t.Errorf("the model was not told %q", part)
				}
			}
			if strings.Contains(text, "Never.") || !slices.ContainsFunc(told.Tools, func(name string) bool { return name == "invoke_skill" }) {
				t.Errorf("tools %q, told %s", told.Tools, text)
			}
			for _, e := range w.log() {
				if m, ok := e.Body.(*event.Message); ok && e.Source == event.SourceUser && !slices.Equal(m.ActivatedSkills, []string{"ships"}) {
					t.Errorf("activated %q", m.ActivatedSkills)
				}
			}
		})
	}
}

// TestAProgramSaysWhichSkillsAreLoaded asks for those of the user and of the project, for
// one of them, and for none; a program that says nothing gets both.
func TestAProgramSaysWhichSkillsAreLoaded(t *testing.T) {
	t.Parallel()
	for context, want := range map[string]string{
		`{}`:   "user project",
		`null`: "user project",
		`{"load_user_skills":true,"load_project_skills":true}`:   "user project",
		`{"load_user_skills":false}`:                             "project",
		`{"load_project_skills":false,"load_user_skills":null}`:  "user",
		`{"load_user_skills":false,"load_project_skills":false}`: "",
	} {
		for form, start := range sentAgents(context) {
			t.Run(form+" "+context, func(t *testing.T) {
				t.Parallel()
				home := t.TempDir()
				w := newWorld(t, sealed, func(c *engine.Config) { c.Home = home })
				own := filepath.Join(home, ".agents", "skills", "mine.md")
				if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(own, []byte("Text of the user."), 0o600); err != nil {
					t.Fatal(err)
				}
				w.write("AGENTS.md", "Text of the project.")
				w.startIt(start)
				w.llm.Reply(llmtest.Text("one"))
				w.say("Look")
				text := string(w.llm.Await(t, 1).Body)
				var got []string
				for _, of := range []string{"user", "project"} {
					if strings.Contains(text, "Text of the "+of) {
						got = append(got, of)
					}
				}
				if strings.Join(got, " ") != want {
					t.Errorf("told of %q, want %q", got, want)
				}
				for _, member := range []string{"load_user_skills", "load_project_skills"} {
					for _, value := range []string{"true", "false"} {
						said := `"` + member + `":` + value
						if strings.Contains(context, said) && !strings.Contains(w.stored("base_state.json"), said) {
							t.Errorf("%s is not stored", said)
						}
					}
				}
			})
		}
	}
}
