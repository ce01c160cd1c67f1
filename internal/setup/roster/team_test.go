package roster_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const reviewer = "---\nname: reviewer\ndescription: Reviews.\nmodel: slow\ntools: [grep]\nmax_iteration_per_run: 7\npermission_mode: confirm_risky\n---\nBe strict.\n"

// TestTeamsAreListedWithTheAgents has each kind of team, and a problem with line and
// remedy for each that cannot be used.
func TestTeamsAreListedWithTheAgents(t *testing.T) {
	t.Parallel()
	team := func(head string) string { return "---\ndescription: x\n" + head + "\n---\nTogether.\n" }
	p := newPlace(t, map[string]string{
		".agents/agents/reviewer.md": reviewer,
		".agents/agents/tester.md":   "---\ndescription: Tests.\n---\n",
		".agents/agents/all.md":      team("members: [reviewer, tester]\nmode: collaborate"),
		".agents/agents/led.md":      team("members: reviewer, all\nlead: reviewer"),
		".agents/agents/part.md":     team("members: [tester, nobody]"),
		".agents/agents/a.md":        team("members: [b]"),
		".agents/agents/b.md":        team("members: [tester, team/a]"),
		".agents/agents/self.md":     team("members: [self, tester]"),
		".agents/agents/empty.md":    team("mode: coordinate"),
		".agents/agents/mode.md":     team("mode: vote\nmembers: [tester]"),
		".agents/agents/none.md":     team("members: [nobody]"),
		".agents/agents/lost.md":     team("members: [tester]\nlead: nobody"),
		".agents/agents/model.md":    team("members: [tester]\nmodel: gone"),
		".agents/agents/twice.md":    team("name: all\nmembers: [tester]"),
		".agents/agents/tools.md":    team("members: [tester, tester]\nmode: collaborate\ntools: [terminal]"),
		".agents/agents/after.md":    team("members: [empty, a, tester]"),
	})
	list, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range list {
		got = append(got, fmt.Sprintf("%s|%s|%s", a.Name, a.Agent, a.Model))
	}
	want := []string{
		"agent_reviewer|reviewer|openai/slow", "team/after|after|openai/fast", "team/all|all|openai/fast", "team/led|led|openai/slow",
		"team/part|part|openai/fast", "team/tools|tools|openai/fast", "agent_tester|tester|openai/fast",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, problems, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][]string{}
	for _, q := range problems {
		file := filepath.Base(q.Path)
		told[file] = append(told[file], fmt.Sprintf("%v %d %s", q.Unused, q.Line, strings.ReplaceAll(q.Msg, p.home, "HOME")))
		if q.Hint == "" {
			t.Errorf("%s has no remedy", file)
		}
	}
	wantTold := map[string][]string{
		"part.md":  {`false 3 there is no agent "nobody" that can be a member`},
		"a.md":     {"true 3 the team is a member of itself: a > b > a"},
		"b.md":     {"true 3 the team is a member of itself: b > a > b"},
		"self.md":  {"true 3 the team is a member of itself: self > self"},
		"empty.md": {"true 1 the team has no members"},
		"mode.md":  {`true 3 mode cannot be "vote"`},
		"none.md":  {`false 3 there is no agent "nobody" that can be a member`, "true 3 the team has no member that can be used"},
		"lost.md":  {`true 4 there is no agent "nobody" that can lead the team`},
		"model.md": {`true 4 there is no LLM profile "gone"`},
		"twice.md": {`true 3 another agent is named "all" and comes first: ` + filepath.FromSlash("HOME/.agents/agents/all.md")},
		"tools.md": {`false 3 the member "tester" is there twice and counts once`, "false 5 tools has no effect: the members have their own, and so has the lead"},
		"after.md": {`false 3 there is no agent "empty" that can be a member`, `false 3 there is no agent "a" that can be a member`},
	}
	if diff := cmp.Diff(wantTold, told); diff != "" {
		t.Error(diff)
	}
	for file := range wantTold {
		if !strings.Contains(p.log.String(), file+" ") {
			t.Errorf("the log does not name %s", file)
		}
	}
}

// TestATeamIsMadeOfItsLeadAndItsFile compares what a conversation gets.
func TestATeamIsMadeOfItsLeadAndItsFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		".agents/agents/reviewer.md": reviewer,
		".agents/agents/led.md":      "---\nmembers: [reviewer]\nlead: reviewer\nmax_budget_per_run: 2\npermission_mode: always_confirm\n---\nTogether.\n",
		".agents/agents/free.md":     "---\nmembers: [reviewer, led]\ntools: [terminal]\n---\nTogether.\n",
		".agents/agents/all.md":      "---\nmembers: [reviewer]\nmode: collaborate\n---\nTogether.\n",
	})
	type made struct {
		Tools   []struct{ Name string }
		Context struct {
			Suffix string `json:"system_message_suffix"`
		} `json:"agent_context"`
		Limit int `json:"tool_concurrency_limit"`
	}
	for name, want := range map[string]string{
		"team/led":  "slow 7 2 always false [{grep} {task_tool_set}] 4 reviewer=agent_reviewer",
		"team/free": "fast 0 0  false [{terminal} {task_tool_set}] 4 reviewer=agent_reviewer led=team/led",
		"team/all":  "fast 0 0  true [] 4 reviewer=agent_reviewer",
	} {
		a, err := p.Load(t.Context(), name, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var m made
		if err := json.Unmarshal(a.Settings, &m); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s %d %v %s %v %v %d", a.Profile, a.MaxIterations, a.MaxRunCost, a.Confirm, a.Team.All, m.Tools, m.Limit)
		for _, member := range a.Team.Members {
			got += " " + member.Name + "=" + member.Profile
		}
		if got != want || a.Name != name {
			t.Errorf("%s is %s\nwant %s", name, got, want)
		}
		text := m.Context.Suffix
		if !strings.HasSuffix(text, "Together.") || strings.HasPrefix(text, "Be strict.") != (name == "team/led") || strings.Contains(text, "You lead the team") == a.Team.All {
			t.Errorf("%s is told %q", name, text)
		}
	}
	e, err := p.Find(t.Context(), "all")
	if err != nil || e.ModelID() != "team/all" {
		t.Errorf("%+v, %v", e, err)
	}
}
