//go:build unix

package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
					t.Errorf("the branch of %s has %q; the answer is %q", m, got, res.Answer)
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

// changed is the branch of a member in a text, with its commits since main and what they
// have in a file.
func (w *world) changed(text, member, name string) string {
	w.t.Helper()
	branch := branchesOf(w.t, text)[member]
	if branch == "" {
		w.t.Errorf("the text names no branch of %s: %q", member, text)
		return ""
	}
	return w.git("log", "--reverse", "--format=%s", "main.."+branch) + "\n" + w.git("show", branch+":"+name)
}

// TestAMemberGoesOnFromItsBranch has one that changes something with each message, one that
// changes nothing, and one that fails after a change.
func TestAMemberGoesOnFromItsBranch(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"coordinate": false, "collaborate": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := treeWorld(t, all, []string{"alpha", "beta", "gamma"})
			before := w.gitStatus()
			w.llm.On(llmtest.Model("alpha"), terminal("echo 1 >> alpha"), llmtest.Text("alpha did it"), terminal("echo 2 >> alpha"), llmtest.Text("alpha did more"))
			w.llm.On(llmtest.Model("beta"), llmtest.Text("beta looked"), llmtest.Text("beta looked again"))
			w.llm.On(llmtest.Model("gamma"), terminal("echo 1 >> gamma"), llmtest.Fail(401, "no key"), llmtest.Text("gamma is back"))
			again := func(task, name string) llmtest.Reply {
				return llmtest.Tool("task", fmt.Sprintf(`{"prompt":"the second part","subagent_type":%q,"resume":%q}`, name, task))
			}
			if all {
				w.llm.On(llmtest.Model("lead"), llmtest.Text("First."), llmtest.Text("Second."))
			} else {
				w.llm.On(llmtest.Model("lead"), handOut("alpha"), handOut("beta"), handOut("gamma"), llmtest.Finish("First."),
					again("task_00000001", "alpha"), again("task_00000002", "beta"), again("task_00000003", "gamma"), llmtest.Finish("Second."))
			}
			res := w.say("the first part")
			if got := branchesOf(t, res.Answer); len(got) != 2 || !strings.HasPrefix(res.Answer, "First.") {
				t.Errorf("answer = %q", res.Answer)
			}
			words := "do it"
			if all {
				words = "the first part"
			}
			if got := w.changed(res.Answer, "alpha", "alpha"); got != "alpha: "+words+"\n1" {
				t.Errorf("alpha left %q", got)
			}
			if got := w.git("log", "-1", "--format=%an <%ae>", branchesOf(t, res.Answer)["alpha"]); got != "alpha (ohgw) <ohgw@localhost>" {
				t.Errorf("the author is %q", got)
			}
			if got := w.changed(res.Answer, "gamma", "gamma"); got != "gamma: "+words+"\n1" {
				t.Errorf("gamma left %q", got)
			}
			w.close()
			w.start()
			res = w.say("the second part")
			if got := w.changed(res.Answer, "alpha", "alpha"); got != "alpha: "+words+"\nalpha: the second part\n1\n2" {
				t.Errorf("alpha left %q", got)
			}
			if got := w.git("branch", "--list", "ohgw/*"); strings.Count(got, "\n") != 1 || strings.Contains(got, "beta") {
				t.Errorf("branches = %s", got)
			}
			if after := w.gitStatus(); after != before || len(w.trees()) > 0 {
				t.Errorf("the repository was\n%s\nand is\n%s with the trees %q", before, after, w.trees())
			}
		})
	}
}

// TestStopKeepsTheWorkOfMembers interrupts the team while its members work.
func TestStopKeepsTheWorkOfMembers(t *testing.T) {
	t.Parallel()
	w := treeWorld(t, true, []string{"alpha", "beta"})
	for _, name := range []string{"alpha", "beta"} {
		w.llm.On(llmtest.Model(name), terminal("echo 1 > "+name), llmtest.Reply{Text: "well", End: llmtest.Hang}, llmtest.Text(name+" is back"))
	}
	w.llm.On(llmtest.Model("lead"), llmtest.Text("Joined."))
	over := w.background("go")
	w.llm.Await(t, 4)
	if err := w.open().Interrupt(w.ctx()); err != nil {
		t.Fatal(err)
	}
	if res := <-over; res.Outcome != turn.Interrupted {
		t.Errorf("result = %+v", res)
	}
	nothingRuns(t, w)
	if left := w.trees(); len(left) > 0 {
		t.Errorf("worktrees = %q", left)
	}
	res := w.say("go on")
	said := string(callsOf(w, "lead")[0].Body)
	for _, name := range []string{"alpha", "beta"} {
		if got := w.changed(res.Answer, name, name); got != name+": go\n1" {
			t.Errorf("%s left %q", name, got)
		}
		if branch := branchesOf(t, res.Answer)[name]; !strings.Contains(said, branch) {
			t.Errorf("the lead was asked %s", said)
		}
	}
}

// TestACrashKeepsTheWorkOfMembers kills the process while a member works, and has another
// one not be asked again.
func TestACrashKeepsTheWorkOfMembers(t *testing.T) {
	t.Parallel()
	disk := &mortal{left: 1 << 30}
	w := treeWorld(t, false, []string{"alpha", "beta"}, func(c *engine.Config) { c.Files = disk })
	for _, name := range []string{"alpha", "beta"} {
		w.llm.On(llmtest.Model(name), terminal("echo 1 > "+name+" && touch "+filepath.Dir(w.workspace)+"/"+name), terminal("sleep 1000"))
	}
	w.llm.On(llmtest.Model("lead"), handOut("alpha", "beta"), llmtest.Text("What now?"))
	c, ctx := w.open(), w.ctx()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = turn.Run(ctx, c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}}) // It dies.
	}()
	for _, name := range []string{"alpha", "beta"} {
		w.awaitFile("../" + name)
	}
	saved := t.TempDir() // Close still collects: what a killed process leaves is put back.
	if err := os.CopyFS(saved, os.DirFS(filepath.Join(w.dir(), "worktrees"))); err != nil {
		t.Fatal(err)
	}
	w.crash(disk)
	<-over
	for _, branch := range strings.Fields(w.git("for-each-ref", "--format=%(refname:short)", "refs/heads/ohgw")) {
		w.git("branch", "-D", branch)
	}
	if err := os.CopyFS(filepath.Join(w.dir(), "worktrees"), os.DirFS(saved)); err != nil {
		t.Fatal(err)
	}
	if len(w.trees()) == 0 {
		t.Fatal("no worktree is left")
	}
	w.conv = nil
	w.say("what happened?")
	said := string(callsOf(w, "lead")[1].Body)
	for _, name := range []string{"alpha", "beta"} {
		branch := regexp.MustCompile(`ohgw/the-crew/` + name + `-[0-9a-f]+`).FindString(said)
		if branch == "" {
			t.Errorf("the lead was asked %s", said)
			continue
		}
		if got := w.git("show", "--format=%s", "--name-only", branch); got != name+": Work that was interrupted\n\n"+name {
			t.Errorf("%s left %q", name, got)
		}
	}
	if left := w.trees(); len(left) > 0 {
		t.Errorf("worktrees = %q", left)
	}
}

// TestAMemberThatWaitsKeepsItsWork has a person confirm its second action.
func TestAMemberThatWaitsKeepsItsWork(t *testing.T) {
	t.Parallel()
	w, agents := teamWorld(t, true, func(c *engine.Config) { c.SkillEnv = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()} })
	isolate(t, w, agents)
	w.close()
	w.start()
	w.id = "0192f0c1-7f3e-7c00-8000-000000000001"
	w.begin("team_crew")
	w.llm.On(llmtest.Model("alpha"), llmtest.Text("alpha knows"))
	w.llm.On(llmtest.Model("beta"), llmtest.Text("beta knows"))
	w.llm.On(llmtest.Model("gamma"), terminal("echo 1 >> gamma"), terminal("echo 2 >> gamma"), llmtest.Text("gamma did it"))
	w.llm.On(llmtest.Model("lead"), llmtest.Text("The answer."))
	waitsFor(t, w.say("go"), "gamma: $ echo 1 >> gamma")
	waitsFor(t, w.play(accept), "gamma: $ echo 2 >> gamma")
	if left := w.trees(); len(left) > 0 {
		t.Errorf("worktrees = %q", left)
	}
	res := w.play(accept)
	if got := w.changed(res.Answer, "gamma", "gamma"); got != "gamma: go\ngamma: go\n1\n2" {
		t.Errorf("gamma left %q", got)
	}
}

// TestATeamThatNeedsARepositoryIsRefusedWithoutOne has a workspace without a repository and
// one without a commit.
func TestATeamThatNeedsARepositoryIsRefusedWithoutOne(t *testing.T) {
	t.Parallel()
	w := treeWorld(t, true, []string{"alpha"})
	plain := t.TempDir()
	_, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: "0192f0c1-7f3e-7c00-8000-000000000001", Profile: "team_crew", Workspace: plain})
	if err == nil || !strings.Contains(agentapi.PublicMessage(err, ""), "and the workspace is not the top directory of a git repository; run: git init") {
		t.Errorf("error = %v", err)
	}
	w.git("init", "-q", plain)
	w.id, w.workspace = "0192f0c1-7f3e-7c00-8000-000000000002", plain
	w.begin("team_crew")
	res := w.say("go")
	if res.Outcome != turn.Failed || !strings.Contains(res.Cause.Detail, "has no commit yet") || len(w.llm.Requests()) > 0 {
		t.Errorf("result = %+v after %d calls", res, len(w.llm.Requests()))
	}
}

// TestATeamThatOnlyReadsNeedsNoWorktrees has the workspace be no repository.
func TestATeamThatOnlyReadsNeedsNoWorktrees(t *testing.T) {
	t.Parallel()
	w := treeWorld(t, true, []string{"alpha"})
	w.llm.On(llmtest.Model("alpha"), llmtest.Text("alpha looked"))
	w.llm.On(llmtest.Model("lead"), llmtest.Text("Joined."))
	c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: "0192f0c1-7f3e-7c00-8000-000000000001", Profile: "team_crew", Workspace: t.TempDir(), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	w.conv = c
	if res := w.say("look"); res.Answer != "Joined." {
		t.Errorf("result = %+v", res)
	}
}
