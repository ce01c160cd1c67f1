//go:build unix

package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// storedSkills are the skills of a stored agent, "name content".
func (w *world) storedSkills() (list []string) {
	w.t.Helper()
	var state struct {
		Agent struct {
			Context struct {
				Skills []struct{ Name, Content string }
			} `json:"agent_context"`
		}
	}
	if err := json.Unmarshal([]byte(w.stored("base_state.json")), &state); err != nil {
		w.t.Fatal(err)
	}
	for _, s := range state.Agent.Context.Skills {
		list = append(list, s.Name+" "+s.Content)
	}
	return list
}

// keyworded are skills that are triggered by their names.
func keyworded(content string, names ...string) (list []json.RawMessage) {
	for _, name := range names {
		list = append(list, json.RawMessage(fmt.Sprintf(`{"name":%q,"content":%q,"trigger":{"type":"keyword","keywords":[%[1]q]}}`, name, content)))
	}
	return list
}

// Of several skills with the same name the agent has the one that it has in OpenHands.
func TestTheSkillsOfALaunchAreAddedWhereThereAreNone(t *testing.T) {
	t.Parallel()
	launch := append(keyworded("of the launch", "has", "off", "user", "new"), keyworded("again", "new")...)
	for name, tt := range map[string]struct {
		context string
		want    []string
	}{
		"no context":   {`null`, []string{"has of the launch", "off of the launch", "user of the launch", "new of the launch"}},
		"an empty one": {`{}`, []string{"has of the launch", "off of the launch", "user of the launch", "new of the launch"}},
		"skills, and some that are off": {
			`{"skills":[{"name":"has","content":"of the agent"}],"disabled_skills":["off"]}`,
			[]string{"has of the agent", "user of the launch", "new of the launch"},
		},
		"the user's": {`{"load_user_skills":true}`, []string{"has of the launch", "off of the launch", "new of the launch"}},
	} {
		home := t.TempDir()
		written(t, home, map[string]string{".openhands/skills/user.md": "---\ntriggers: [user]\n---\nof the user"})
		w := newWorld(t, sealed, func(c *engine.Config) { c.Home = home })
		w.startIt(control.Start{Agent: json.RawMessage(strings.TrimSuffix(inlineAgent, "}") + `,"agent_context":` + tt.context + "}"), Skills: launch})
		if diff := cmp.Diff(tt.want, w.storedSkills()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// They are used, also after a restart, when the user's skills are others.
func TestTheSkillsOfALaunchAreUsed(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	w := newWorld(t, sealed, func(c *engine.Config) { c.Home = home })
	w.write(".openhands/skills/both.md", "---\ntriggers: [both]\n---\nof the workspace")
	w.startIt(control.Start{
		Agent:  json.RawMessage(strings.TrimSuffix(inlineAgent, "}") + `,"agent_context":{"load_user_skills":true,"load_project_skills":true}}`),
		Skills: keyworded("of the launch", "new", "both"),
	})
	w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
	told := func(question string) string {
		t.Helper()
		w.say(question)
		requests := w.llm.Requests()
		messages := requests[len(requests)-1].Messages
		return messages[len(messages)-1].Text
	}
	if got := told("something new"); !strings.Contains(got, "of the launch") {
		t.Errorf("told %q", got)
	}
	written(t, home, map[string]string{".openhands/skills/new.md": "---\ntriggers: [new]\n---\nof the user"})
	w.reopened()
	if got := told("of both"); !strings.Contains(got, "of the workspace") || strings.Contains(got, "of the launch") {
		t.Errorf("told %q", got)
	}
	if diff := cmp.Diff([]string{"new of the launch", "both of the launch"}, w.storedSkills()); diff != "" {
		t.Error(diff)
	}
}
