//go:build unix

package engine_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

const withTerminal = `{"tools":[{"name":"terminal"}],"tool_concurrency_limit":4}`

// teamWorld has the team team/crew of alpha, beta and gamma, each with a model of its
// own name. gamma has each action confirmed. The team's own model is lead.
func teamWorld(t *testing.T, all bool, change ...func(*engine.Config)) (*world, named) {
	t.Helper()
	agents := named{}
	team := &engine.Team{All: all}
	for _, name := range []string{"alpha", "beta", "gamma"} {
		agents[name] = engine.Agent{Profile: name, Settings: json.RawMessage(withTerminal)}
		team.Members = append(team.Members, engine.Member{Name: name, Profile: "agent_" + name, Description: "Knows " + name + "."})
	}
	gamma := agents["gamma"]
	gamma.Confirm = agentapi.ConfirmAlways
	agents["gamma"] = gamma
	lead := json.RawMessage(`{"tools":[],"tool_concurrency_limit":4}`)
	if !all {
		lead = json.RawMessage(`{"tools":[{"name":"task_tool_set"}],"tool_concurrency_limit":4}`)
	}
	agents["team/crew"] = engine.Agent{Profile: "lead", Settings: lead, Team: team}
	w := newWorld(t, append(change, realTools, func(c *engine.Config) { c.Agents = agents })...)
	for _, name := range []string{"alpha", "beta", "gamma", "lead"} {
		w.profiles.Set(name, name)
	}
	w.begin("team/crew")
	return w, agents
}

// spent is what a scripted model reported for all the requests that were answered.
func spent(w *world) (sum turn.Usage) {
	for _, r := range w.llm.Requests() {
		if r.Outcome() == llmtest.Answered {
			sum.PromptTokens += int64(llmtest.DefaultUsage().Prompt)
			sum.CompletionTokens += int64(llmtest.DefaultUsage().Completion)
		}
	}
	return sum
}

func callsOf(w *world, model string) (list []*llmtest.Request) {
	for _, r := range w.llm.Requests() {
		if r.Model == model {
			list = append(list, r)
		}
	}
	return list
}

func TestEveryMemberOfATeamAnswersAndOneCallJoins(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, true)
	if p := w.conv.Info().Profile; p != "team/crew" {
		t.Errorf("profile %q", p)
	}
	w.llm.On(llmtest.Model("alpha"), terminal("touch made"), llmtest.Text("alpha says 1"), llmtest.Text("alpha says 2"))
	w.llm.On(llmtest.Model("beta"), llmtest.Text("beta says 1"), llmtest.Text("beta says 2"))
	w.llm.On(llmtest.Model("gamma"), llmtest.Text("gamma says 1"), llmtest.Text("gamma says 2"))
	w.llm.On(llmtest.Model("lead"), llmtest.Text("together 1"), llmtest.Text("together 2"))
	var lines []string
	res := w.play(turn.Input{Message: agentapi.Message{Text: "first question"}, Emit: func(u turn.Update) {
		if u.Kind == turn.Progress {
			lines = append(lines, u.Text)
		}
	}})
	w.expect("SP U A(task) A(task) A(task) O O O M")
	if want := spent(w); res.Answer != "together 1" || res.Usage != want || want.PromptTokens != 500 {
		t.Errorf("%+v, want the usage %+v", res, want)
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "  alpha: ") || !strings.Contains(text, "touch made") {
		t.Errorf("the progress is %q", text)
	}
	join := callsOf(w, "lead")[0]
	for _, want := range []string{"first question", "alpha says 1", "beta says 1", "gamma says 1", "Be brief."} {
		if !strings.Contains(string(join.Body), want) {
			t.Errorf("the join does not have %q: %s", want, join.Body)
		}
	}
	if len(join.Tools) > 0 || len(join.Messages) != 2 {
		t.Errorf("the join has tools %q and %d messages", join.Tools, len(join.Messages))
	}
	if member := callsOf(w, "alpha")[0]; member.Last().Text != "first question" || !strings.Contains(string(member.Body), "Be brief.") {
		t.Errorf("alpha was asked %s", member.Body)
	}

	// A restart loses nothing: each member goes on with what it said.
	w.close()
	w.start()
	if res := w.say("second question"); res.Answer != "together 2" || res.Usage.PromptTokens != 400 {
		t.Errorf("%+v", res)
	}
	if body := string(callsOf(w, "beta")[1].Body); !strings.Contains(body, "beta says 1") || !strings.Contains(body, "second question") {
		t.Errorf("beta was asked %s", body)
	}
	if body := string(callsOf(w, "lead")[1].Body); !strings.Contains(body, "together 1") || !strings.Contains(body, "gamma says 2") || strings.Contains(body, `"tool_calls"`) {
		t.Errorf("the join was %s", body)
	}
	if dirs := children(t, w); len(dirs) != 3 {
		t.Error(dirs)
	}
}

// TestATeamNamesTheMembersThatFail has one member whose model fails and one that asks
// for a confirmation.
func TestATeamNamesTheMembersThatFail(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, true)
	w.llm.On(llmtest.Model("alpha"), llmtest.Text("alpha knows"))
	w.llm.On(llmtest.Model("beta"), llmtest.Fail(401, "no such key"))
	w.llm.On(llmtest.Model("gamma"), terminal("touch asked"), llmtest.Text("gamma was not allowed to"))
	w.llm.On(llmtest.Model("lead"), llmtest.Text("The answer."))
	res := w.say("go")
	if res.Outcome != turn.Waiting || len(res.Waiting) != 1 || !strings.Contains(res.Waiting[0].Line, "touch asked") {
		t.Fatalf("%+v", res)
	}
	before := res.Usage
	if n := len(callsOf(w, "lead")); n > 0 {
		t.Errorf("the lead was asked %d times before all members had answered", n)
	}
	res = w.play(turn.Input{Decision: &agentapi.Decision{Reason: "not that one"}, Message: agentapi.Message{Text: "go on"}})
	if res.Outcome != turn.Finished || !strings.HasPrefix(res.Answer, "The answer.\n\nWithout an answer: beta (") || strings.Contains(res.Answer, "gamma (") {
		t.Errorf("%+v", res)
	}
	res.Usage = res.Usage.Plus(before)
	if want := (turn.Usage{PromptTokens: 400, CompletionTokens: 40}); res.Usage != want { // the refused call reported nothing
		t.Errorf("the usage is %+v, the model reported %+v", res.Usage, want)
	}
	join := string(callsOf(w, "lead")[0].Body)
	for _, want := range []string{"alpha knows", "LLMAuthenticationError", "not allowed"} {
		if !strings.Contains(join, want) {
			t.Errorf("the join does not have %q: %s", want, join)
		}
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "asked")); err == nil {
		t.Error("an action ran that nobody confirmed")
	}
}

func TestATeamOfWhichNobodyAnswersFails(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, true)
	for _, name := range []string{"alpha", "beta", "gamma"} {
		w.llm.On(llmtest.Model(name), llmtest.Fail(401, "no"))
	}
	res := w.say("go")
	if res.Outcome != turn.Failed || res.Cause.Code != "TeamFailed" || !strings.Contains(res.Cause.Detail, "beta (") {
		t.Errorf("%+v", res)
	}
	if n := len(callsOf(w, "lead")); n > 0 {
		t.Errorf("the lead was asked %d times", n)
	}
}

func TestStoppingATeamStopsAllOfIt(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{true, false} {
		w, _ := teamWorld(t, all)
		hang := llmtest.Reply{Text: "well", End: llmtest.Hang}
		w.llm.On(llmtest.Model("alpha"), hang)
		w.llm.On(llmtest.Model("beta"), terminal("sleep 1000"))
		w.llm.On(llmtest.Model("gamma"), hang)
		first := 0
		if !all {
			first = 1
			w.llm.On(llmtest.Model("lead"), llmtest.Reply{Calls: []llmtest.Call{
				{ID: "a", Name: "task", Args: `{"prompt":"x","subagent_type":"alpha"}`},
				{ID: "b", Name: "task", Args: `{"prompt":"x","subagent_type":"beta"}`},
				{ID: "c", Name: "task", Args: `{"prompt":"x","subagent_type":"gamma"}`},
			}})
		}
		over := w.background("go")
		w.llm.Await(t, first+3)
		if err := w.open().Interrupt(w.ctx()); err != nil {
			t.Fatal(err)
		}
		if res := <-over; res.Outcome != turn.Interrupted {
			t.Errorf("%+v", res)
		}
		for _, r := range w.llm.Requests() {
			if got := r.Wait(t); got != llmtest.ClientLeft && r.Model != "beta" && r.Model != "lead" {
				t.Errorf("the call of %s is %v", r.Model, got)
			}
		}
		w.status(event.Paused)
		if n := len(w.llm.Requests()); n != first+3 {
			t.Errorf("there were %d calls", n)
		}
		for _, file := range children(t, w) {
			data, err := os.ReadFile(file)
			if err != nil || strings.Contains(string(data), `"execution_status":"running"`) {
				t.Errorf("%s, %v", data, err)
			}
		}
	}
}

func TestALeadHandsWorkToTheMembersOnly(t *testing.T) {
	t.Parallel()
	w, agents := teamWorld(t, false)
	w.llm.On(llmtest.Model("lead"),
		task(`{"prompt":"do it","subagent_type":"beta","description":"the part"}`),
		task(`{"prompt":"do it","subagent_type":"general-purpose"}`),
		llmtest.Text("done"))
	w.llm.On(llmtest.Model("beta"), llmtest.Text("part done"))
	if res := w.say("go"); res.Answer != "done" || res.Usage != spent(w) {
		t.Errorf("%+v", res)
	}
	if body := string(callsOf(w, "lead")[0].Body); !strings.Contains(body, "beta: Knows beta.") || strings.Contains(body, "bash-runner") {
		t.Errorf("the lead was asked %s", body)
	}
	if last := callsOf(w, "lead")[2].Last().Text; !strings.Contains(last, `no agent "general-purpose"; the agents are: alpha, beta, gamma`) {
		t.Errorf("the lead was told %q", last)
	}

	// Without its file a team cannot go on: what its members may do is not stored.
	w.close()
	delete(agents, "team/crew")
	w.start()
	_, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, Workspace: w.workspace, Existing: true})
	if !errors.Is(err, agentapi.ErrRefused) || !strings.Contains(err.Error(), "ohgw agents check") {
		t.Errorf("Open: %v", err)
	}
}

// TestATeamCanBeAMember has a team that joins below one that coordinates.
func TestATeamCanBeAMember(t *testing.T) {
	t.Parallel()
	w, agents := teamWorld(t, true)
	outer := engine.Agent{Profile: "main", Settings: json.RawMessage(`{"tools":[{"name":"task_tool_set"}]}`), Team: &engine.Team{
		Members: []engine.Member{{Name: "crew", Profile: "team/crew"}},
	}}
	agents["team/outer"] = outer
	for _, name := range []string{"alpha", "beta", "gamma", "lead"} {
		w.llm.On(llmtest.Model(name), llmtest.Text(name+" answers"))
	}
	w.llm.On(llmtest.Model("test"), task(`{"prompt":"all of you","subagent_type":"crew"}`), llmtest.Text("done"))
	c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: uuid.New(), Profile: "team/outer", Workspace: w.workspace})
	if err != nil {
		t.Fatal(err)
	}
	res, err := turn.Run(w.ctx(), c, turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(turn.Update) {}})
	if err != nil || res.Answer != "done" || res.Usage != spent(w) || res.Usage.PromptTokens != 600 {
		t.Errorf("%+v, %v", res, err)
	}
	if last := callsOf(w, "test")[1].Last().Text; !strings.Contains(last, "lead answers") {
		t.Errorf("the outer lead was told %q", last)
	}
}

// TestTheMembersOfATeamSeeTheImagesOfAMessage has a message of text and one of nothing
// but an image.
func TestTheMembersOfATeamSeeTheImagesOfAMessage(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, true)
	for _, name := range []string{"alpha", "beta", "gamma", "lead"} {
		w.llm.On(llmtest.Model(name), llmtest.Text("one"), llmtest.Text("two"))
	}
	const first, second = "data:image/png;base64,iVBORw0K", "data:image/png;base64,iVBORw0L"
	w.play(turn.Input{Message: agentapi.Message{Text: "what is this?", Images: []string{first}}})
	w.play(turn.Input{Message: agentapi.Message{Images: []string{second}}})
	for _, name := range []string{"alpha", "beta", "gamma", "lead"} {
		calls := callsOf(w, name)
		if len(calls) != 2 {
			t.Fatalf("%s was asked %d times", name, len(calls))
		}
		for i, image := range []string{first, second} {
			if body := string(calls[i].Body); !strings.Contains(body, image) {
				t.Errorf("%s does not see the image %d: %s", name, i+1, body)
			}
		}
	}
}
