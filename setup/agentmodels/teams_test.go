package agentmodels_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const reviewer = "---\nname: reviewer\ndescription: Reviews.\nmodel: slow\ntools: [grep]\nmax_iteration_per_run: 7\npermission_mode: confirm_risky\n---\nBe strict.\n"

// teamFile is the file of a team.
func teamFile(head string) string { return "---\ndescription: x\n" + head + "\n---\nTogether.\n" }

// TestTeamsAreListedWithTheAgents has each kind of team, and a problem with line and
// remedy for each that cannot be used.
func TestTeamsAreListedWithTheAgents(t *testing.T) {
	t.Parallel()
	crowd := make([]string, 200)
	for i := range crowd {
		crowd[i] = fmt.Sprint("m", i)
	}
	p := newPlace(t, map[string]string{
		".agents/agents/reviewer.md": reviewer,
		".agents/agents/tester.md":   "---\ndescription: Tests.\n---\n",
		".agents/agents/both.md":     "---\ndescription: An agent that a team has its name of.\n---\n",
		".agents/teams/both.md":      teamFile("members: [both, tester]"),
		".agents/teams/all.md":       teamFile("members: [reviewer, tester]\nmode: collaborate"),
		".agents/teams/led.md":       teamFile("members: reviewer\nlead: reviewer"),
		".agents/teams/part.md":      teamFile("members: [tester, gone]"),
		".agents/teams/a.md":         teamFile("members: [b]"),
		".agents/teams/b.md":         teamFile("members: [tester, team/a]"),
		".agents/teams/self.md":      teamFile("members: [self, tester]"),
		".agents/teams/teams.md":     teamFile("members: [all, tester]"),
		".agents/teams/leads.md":     teamFile("members: [tester]\nlead: all"),
		".agents/teams/empty.md":     teamFile("mode: coordinate"),
		".agents/teams/mode.md":      teamFile("mode: vote\nmembers: [tester]"),
		".agents/teams/none.md":      teamFile("members: [gone]"),
		".agents/teams/lost.md":      teamFile("members: [tester]\nlead: gone"),
		".agents/teams/model.md":     teamFile("members: [tester]\nmodel: missing"),
		".agents/teams/twice.md":     teamFile("name: all\nmembers: [tester]"),
		".agents/teams/tools.md":     teamFile("members: [tester, tester]\nmode: collaborate\ntools: [terminal]\nmember: x"),
		".agents/teams/crowd.md":     teamFile("members: [" + strings.Join(crowd, ", ") + "]"),
		".agents/teams/far.md":       teamFile("members: [tester, ../other/.agents/agents/x]"),
		".agents/teams/tree.md":      teamFile("members: [tester]\nisolation: Worktree"),
		".agents/teams/shared.md":    teamFile("members: [tester]\nisolation: none"),
		".agents/teams/branch.md":    teamFile("members: [tester]\nisolation: branch"),
		".agents/teams/one.md":       teamFile("members: [tester]\nmode: collaborate\nmax_iteration_per_run: 1"),
		".agents/teams/dots.md":      teamFile("name: '../..'\nmembers: [tester]"),
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
		"agent_both|both|openai/fast", "agent_reviewer|reviewer|openai/slow", "team_..-..|../..|openai/fast", "team_all|all|openai/fast", "team_both|both|openai/fast",
		"team_far|far|openai/fast", "team_led|led|openai/slow", "team_part|part|openai/fast", "team_shared|shared|openai/fast", "team_teams|teams|openai/fast", "team_tools|tools|openai/fast", "team_tree|tree|openai/fast",
		"agent_tester|tester|openai/fast",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantTeamProblems(), teamProblems(t, p)); diff != "" {
		t.Error(diff)
	}
	for file := range wantTeamProblems() {
		if !strings.Contains(p.log.String(), file+" ") {
			t.Errorf("the log does not name %s", file)
		}
	}
}

// teamProblems are the problems of files, by their names.
func teamProblems(t *testing.T, p *place) map[string][]string {
	t.Helper()
	_, problems, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, q := range problems {
		file := filepath.Base(q.Path)
		found[file] = append(found[file], fmt.Sprintf("%v %d %s", q.Unused, q.Line, strings.ReplaceAll(q.Msg, p.home, "HOME")))
		if q.Hint == "" {
			t.Errorf("%s has no remedy", file)
		}
	}
	return found
}

func wantTeamProblems() map[string][]string {
	return map[string][]string{
		"part.md":  {`false 3 there is no agent "gone"`},
		"a.md":     {"true 3 the team is a member of itself: a > b > a"},
		"b.md":     {"true 3 the team is a member of itself: b > a > b"},
		"self.md":  {"true 3 the team is a member of itself: self > self"},
		"teams.md": {`false 3 "all" is a team, and a team has only agents in it`},
		"leads.md": {`true 4 "all" is a team, and a team has only agents in it`},
		"empty.md": {"true 1 the team has no members"},
		"mode.md":  {`true 3 mode cannot be "vote"`},
		"none.md":  {`false 3 there is no agent "gone"`, "true 3 the team has no member that can be used"},
		"lost.md":  {`true 4 there is no agent "gone"`},
		"model.md": {`true 4 there is no LLM profile "missing"`},
		"twice.md": {`true 3 another team is named "all" and comes first: ` + filepath.FromSlash("HOME/.agents/teams/all.md")},
		"tools.md": {
			`false 3 the member "tester" is there twice and counts once`, "false 5 the field tools has no meaning in a team and is ignored",
			"false 6 the field member has no meaning and is ignored",
		},
		"crowd.md":  {"true 3 the team has 200 members; 16 are the most"},
		"far.md":    {`false 3 there is no agent "../other/.agents/agents/x"`},
		"one.md":    {"true 5 max_iteration_per_run cannot be 1 in the mode collaborate: asking the members and joining their answers are two steps"},
		"branch.md": {`true 4 isolation cannot be "branch"`},
	}
}

// TestATeamIsMadeOfItsLeadAndItsFile compares what a conversation gets.
func TestATeamIsMadeOfItsLeadAndItsFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		".openhands/profiles/fast.json":         fastProfile,
		".openhands/agent-profiles/helper.json": strings.Replace(recipe, `"tools":[{"name":"terminal","params":{}}]`, `"tools":null`, 1),
		".agents/agents/reviewer.md":            reviewer,
		".agents/teams/led.md":                  "---\nmembers: [reviewer]\nlead: reviewer\nmax_budget_per_run: 2\npermission_mode: always_confirm\n---\nTogether.\n",
		".agents/teams/standard.md":             "---\nmembers: [reviewer]\nlead: helper\n---\nTogether.\n",
		".agents/teams/free.md":                 "---\nmembers: [reviewer, helper]\n---\nTogether.\n",
		".agents/teams/all.md":                  "---\nmembers: [reviewer]\nmode: collaborate\n---\nTogether.\n",
	})
	type made struct {
		Tools   []struct{ Name string }
		Context struct {
			Suffix string `json:"system_message_suffix"`
		} `json:"agent_context"`
		Sub   bool `json:"enable_sub_agents"`
		Limit int  `json:"tool_concurrency_limit"`
	}
	for name, want := range map[string]string{
		"team/led":      "slow 7 2 always false [{grep} {task_tool_set}] true 1 reviewer=agent_reviewer",
		"team/standard": "fast 0 0  false [] true 1 reviewer=agent_reviewer",
		"team/free":     "fast 0 0  false [{task_tool_set}] true 2 reviewer=agent_reviewer helper=agent_helper",
		"team/all":      "fast 0 0  true [{task_tool_set}] true 1 reviewer=agent_reviewer",
	} {
		a, err := p.Load(t.Context(), name, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var m made
		if err := json.Unmarshal(a.Settings, &m); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s %d %v %s %v %v %v %d", a.Profile, a.MaxIterations, a.MaxRun.Cost, a.Confirm, a.Team.All, m.Tools, m.Sub, m.Limit)
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
	if err != nil || e.Name != "team/all" {
		t.Errorf("the team found = %+v, %v", e, err)
	}
}

// TestATeamOfAWorkspaceBringsNoPrograms has a file with all fields that would start some.
func TestATeamOfAWorkspaceBringsNoPrograms(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{
		".agents/agents/tester.md": "---\ndescription: Tests.\n---\n",
		".agents/teams/evil.md":    teamFile("members: [tester]\nmcp_servers: {a: {command: run}}\nmcp_config: {b: {command: run}}\nhooks: {stop: [{hooks: [{command: run}]}]}"),
	})
	a, err := p.Load(t.Context(), "team/evil", t.TempDir())
	if err != nil || strings.Contains(string(a.Settings), "run") {
		t.Errorf("the team = %s, %v", a.Settings, err)
	}
	if got := teamProblems(t, p)["evil.md"]; len(got) != 3 {
		t.Errorf("problems = %q, want one for each field", got)
	}
}
