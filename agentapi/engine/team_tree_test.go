//go:build unix

package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// git runs git outside of every box, and returns what it prints.
func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = w.workspace
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// isolate makes a team of a world one whose members have worktrees, and its workspace a
// repository with changes that are not committed.
func isolate(t *testing.T, w *world, agents named) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	crew := *agents["team/crew"].Team
	crew.Isolated, crew.Name = true, "the crew"
	a := agents["team/crew"]
	a.Team = &crew
	agents["team/crew"] = a
	w.git("init", "-q")
	w.write("shared.txt", "begin\n")
	w.write("mine.txt", "mine\n")
	w.git("add", "-A")
	w.git("commit", "-qm", "first")
	w.write("mine.txt", "changed\n")
	w.write("staged.txt", "staged\n")
	w.git("add", "staged.txt")
}

// treeWorld is a world with a team whose members have worktrees. members are the names of
// more members.
func treeWorld(t *testing.T, all bool, members []string, change ...func(*engine.Config)) *world {
	t.Helper()
	agents := named{}
	crew := &team.Team{All: all}
	for _, name := range members {
		agents[name] = engine.Agent{Profile: name, Settings: json.RawMessage(withTerminal)}
		crew.Members = append(crew.Members, team.Member{Name: name, Profile: "agent_" + name, Description: "Knows " + name + "."})
	}
	agents["team/crew"] = engine.Agent{
		Profile: "lead", Settings: json.RawMessage(`{"tools":[{"name":"task_tool_set"}],"tool_concurrency_limit":16}`), Team: crew,
	}
	w := newWorld(t, append(change, realTools, func(c *engine.Config) {
		c.Agents, c.SkillEnv = agents, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	})...)
	for _, name := range append([]string{"lead"}, members...) {
		w.profiles.Set(name, name)
	}
	isolate(t, w, agents)
	w.begin("team_crew")
	return w
}

// gitStatus is what git says of the workspace, with its branches but those of members.
func (w *world) gitStatus() string {
	w.t.Helper()
	return w.git("status", "--porcelain", "--branch") + w.git("rev-parse", "HEAD") + w.git("ls-files", "--stage") + w.git("worktree", "list") +
		w.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main", "refs/tags", "refs/stash")
}

var mergeLine = regexp.MustCompile(`(?m)^The changes of (\S+) are on the branch (ohgw/the-crew/\S+)\. To merge them: git merge (ohgw/\S+)$`)

// branchesOf reads the branches that an answer names, by member.
func branchesOf(t *testing.T, answer string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range mergeLine.FindAllStringSubmatch(answer, -1) {
		if m[2] != m[3] || found[m[1]] != "" {
			t.Errorf("the answer is %q", answer)
		}
		found[m[1]] = m[2]
	}
	return found
}

// trees are the worktrees that are there.
func (w *world) trees() []string {
	w.t.Helper()
	return w.files("worktrees/*")
}

func TestTenMembersWriteOneFileOnTenBranches(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"coordinate": false, "collaborate": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var members []string
			for i := range 10 {
				members = append(members, fmt.Sprintf("member%c", 'a'+i))
			}
			w := treeWorld(t, all, members)
			before := w.gitStatus()
			for _, m := range members {
				var replies []llmtest.Reply
				for i := range 10 {
					replies = append(replies, terminal(fmt.Sprintf("echo %s %d >> shared.txt", m, i)))
				}
				w.llm.On(llmtest.Model(m), append(replies, llmtest.Text(m+" did it"))...)
			}
			lead := []llmtest.Reply{llmtest.Text("All did it.")}
			if !all {
				lead = append([]llmtest.Reply{handOut(members...)}, lead...)
			}
			w.llm.On(llmtest.Model("lead"), lead...)
			var streamed strings.Builder
			res := w.play(turn.Input{Message: agentapi.Message{Text: "write"}, Emit: func(u turn.Update) {
				if u.Kind == turn.Text {
					streamed.WriteString(u.Text)
				}
			}})
			if res.Outcome != turn.Finished || streamed.String() != res.Answer {
				t.Errorf("result = %+v, streamed %q", res, streamed.String())
			}
			branches := branchesOf(t, res.Answer)
			for _, m := range members {
				want := "begin"
				for i := range 10 {
					want += fmt.Sprintf("\n%s %d", m, i)
				}
				if got := w.git("show", branches[m]+":shared.txt"); got != want {
					t.Errorf("the branch of %s has %q", m, got)
				}
				if got := w.git("show", branches[m]+":mine.txt"); got != "mine" {
					t.Errorf("the branch of %s has the change %q that was not committed", m, got)
				}
			}
			if got := w.git("for-each-ref", "--format=%(refname:short)", "refs/heads/ohgw"); strings.Count(got, "\n") != 9 {
				t.Errorf("branches = %s", got)
			}
			if after := w.gitStatus(); after != before {
				t.Errorf("the repository was\n%s\nand is\n%s", before, after)
			}
			if left := w.trees(); len(left) > 0 {
				t.Errorf("worktrees = %q", left)
			}
		})
	}
}
