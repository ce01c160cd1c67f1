//go:build unix

package engine_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

const withTerminal = `{"tools":[{"name":"terminal"}],"tool_concurrency_limit":4}`

// teamWorld has the team crew of alpha, beta and gamma, each with a model of its own name.
// gamma has each action confirmed. The team's own model is lead.
func teamWorld(t *testing.T, all bool, change ...func(*engine.Config)) (*world, named) {
	t.Helper()
	agents := named{}
	crew := &team.Team{All: all}
	for _, name := range []string{"alpha", "beta", "gamma"} {
		agents[name] = engine.Agent{Profile: name, Settings: json.RawMessage(withTerminal)}
		crew.Members = append(crew.Members, team.Member{Name: name, Profile: "agent_" + name, Description: "Knows " + name + "."})
	}
	gamma := agents["gamma"]
	gamma.Confirm = agentapi.ConfirmAlways
	agents["gamma"] = gamma
	agents["team/crew"] = engine.Agent{
		Profile: "lead", Settings: json.RawMessage(`{"tools":[{"name":"task_tool_set"}],"tool_concurrency_limit":3}`), Team: crew,
	}
	w := newWorld(t, append(change, realTools, func(c *engine.Config) { c.Agents = agents })...)
	for _, name := range []string{"alpha", "beta", "gamma", "lead"} {
		w.profiles.Set(name, name)
	}
	w.begin("team_crew")
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

// handOut is an answer with a task for each member.
func handOut(members ...string) llmtest.Reply {
	var r llmtest.Reply
	for _, name := range members {
		r.Calls = append(r.Calls, llmtest.Call{ID: "call_" + name, Name: "task", Args: `{"prompt":"do it","description":"` + name + `","subagent_type":"` + name + `"}`})
	}
	return r
}

func TestALeadHandsWorkToTheMembersOnly(t *testing.T) {
	t.Parallel()
	w, agents := teamWorld(t, false)
	if p := w.conv.Info().Profile; p != "team_crew" {
		t.Errorf("profile = %q", p)
	}
	w.llm.On(llmtest.Model("lead"),
		task(`{"prompt":"do it","subagent_type":"beta","description":"the part"}`),
		task(`{"prompt":"do it","subagent_type":"general-purpose"}`),
		llmtest.Text("done"), handOut("alpha", "beta"), llmtest.Text("done again"))
	w.llm.On(llmtest.Model("beta"), terminal("touch made"), llmtest.Text("part done"), llmtest.Text("another part"))
	if res := w.say("go"); res.Answer != "done" || res.Usage != spent(w) {
		t.Errorf("result = %+v, want the usage %+v", res, spent(w))
	}
	w.awaitFile("made")
	if body := string(callsOf(w, "lead")[0].Body); !strings.Contains(body, "beta: Knows beta.") || strings.Contains(body, "bash-runner") {
		t.Errorf("the lead was asked %s", body)
	}
	if last := callsOf(w, "lead")[2].Last().Text; !strings.Contains(last, `no agent "general-purpose"; the agents are: alpha, beta, gamma`) {
		t.Errorf("the lead was told %q", last)
	}
	if body := string(callsOf(w, "beta")[0].Body); strings.Contains(body, `"name":"task"`) || !strings.Contains(body, `"name":"terminal"`) {
		t.Errorf("the member was asked %s", body)
	}

	// Without its file the team continues with the members that it began with. One of them
	// is not there any more.
	w.close()
	delete(agents, "team/crew")
	delete(agents, "alpha")
	w.start()
	if res := w.say("go on"); res.Answer != "done again" {
		t.Errorf("result = %+v", res)
	}
	body := string(callsOf(w, "lead")[4].Body)
	if !strings.Contains(body, "another part") || !strings.Contains(body, "could not work") || strings.Contains(body, "bash-runner") {
		t.Errorf("the lead was told %s", body)
	}
}

func TestStoppingATeamStopsAllOfIt(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"coordinate": false, "collaborate": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := teamWorld(t, all)
			hang := llmtest.Reply{Text: "well", End: llmtest.Hang}
			w.llm.On(llmtest.Model("alpha"), hang)
			w.llm.On(llmtest.Model("beta"), terminal("sleep 1000"))
			w.llm.On(llmtest.Model("gamma"), hang)
			calls := 3
			if !all {
				calls++
				w.llm.On(llmtest.Model("lead"), handOut("alpha", "beta", "gamma"))
			}
			over := w.background("go")
			w.llm.Await(t, calls)
			if err := w.open().Interrupt(w.ctx()); err != nil {
				t.Fatal(err)
			}
			if res := <-over; res.Outcome != turn.Interrupted {
				t.Errorf("result = %+v, want the outcome %d", res, turn.Interrupted)
			}
			nothingRuns(t, w)
			if n := len(w.llm.Requests()); n != calls {
				t.Errorf("%d calls were made, want %d", n, calls)
			}
		})
	}
}

// nothingRuns fails if an LLM call is open, or a member runs.
func nothingRuns(t *testing.T, w *world) {
	t.Helper()
	for _, r := range w.llm.Requests() {
		r.Wait(t)
	}
	w.status(event.Paused)
	for _, file := range children(t, w) {
		data, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(data), `"execution_status":"running"`) {
			t.Errorf("the state of a member = %s, %v, want it not to run", data, err)
		}
	}
}

func TestEveryMemberOfATeamAnswersAndOneCallJoins(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, true)
	w.llm.On(llmtest.Model("alpha"), terminal("touch made"), llmtest.Text("alpha says 1"), llmtest.Text("alpha says 2"))
	w.llm.On(llmtest.Model("beta"), llmtest.Text("beta says 1"), llmtest.Text("beta says 2"))
	w.llm.On(llmtest.Model("gamma"), llmtest.Text("gamma says 1"), llmtest.Text("gamma says 2"))
	w.llm.On(llmtest.Model("lead"), llmtest.Text("together 1"), llmtest.Text("together 2"))
	var lines []string
	var streamed strings.Builder
	res := w.play(turn.Input{Message: agentapi.Message{Text: "first question"}, Emit: func(u turn.Update) {
		switch u.Kind {
		case turn.Progress:
			lines = append(lines, u.Text)
		case turn.Text:
			streamed.WriteString(u.Text)
		}
	}})
	w.expect("SP U A(task) A(task) A(task) O O O M")
	if want := spent(w); res.Answer != "together 1" || res.Usage != want || want.PromptTokens != 500 || streamed.String() != "together 1" {
		t.Errorf("result = %+v, streamed %q, want the usage %+v", res, streamed.String(), want)
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "  alpha: ") || !strings.Contains(text, "touch made") {
		t.Errorf("the progress is %q", text)
	}
	join := callsOf(w, "lead")[0]
	for _, want := range []string{"first question", "alpha says 1", "beta says 1", "gamma says 1", "Be brief."} {
		if !strings.Contains(string(join.Body), want) {
			t.Errorf("the join lacks %q: %s", want, join.Body)
		}
	}
	if len(join.Tools) > 0 || len(join.Messages) != 2 {
		t.Errorf("the join has the tools %q and %d messages", join.Tools, len(join.Messages))
	}
	if member := callsOf(w, "alpha")[0]; member.Last().Text != "first question" || !strings.Contains(string(member.Body), "Be brief.") {
		t.Errorf("alpha was asked %s", member.Body)
	}

	// A restart loses nothing: each member knows what it said.
	w.close()
	w.start()
	if res := w.say("second question"); res.Answer != "together 2" || res.Usage.PromptTokens != 400 {
		t.Errorf("result = %+v", res)
	}
	if body := string(callsOf(w, "beta")[1].Body); !strings.Contains(body, "beta says 1") || !strings.Contains(body, "second question") {
		t.Errorf("beta was asked %s", body)
	}
	if body := string(callsOf(w, "lead")[1].Body); !strings.Contains(body, "together 1") || !strings.Contains(body, "gamma says 2") || strings.Contains(body, `"tool_calls"`) {
		t.Errorf("the join was %s", body)
	}
	if dirs := children(t, w); len(dirs) != 3 {
		t.Errorf("members = %q, want 3", dirs)
	}
}

func TestATeamOfWhichNoMemberAnswersFails(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, true)
	for _, name := range []string{"alpha", "beta", "gamma"} {
		w.llm.On(llmtest.Model(name), llmtest.Fail(401, "no"))
	}
	res := w.say("go")
	if res.Outcome != turn.Failed || res.Cause.Code != "TeamFailed" || !strings.Contains(res.Cause.Detail, "beta (") {
		t.Errorf("result = %+v", res)
	}
	if n := len(callsOf(w, "lead")); n > 0 {
		t.Errorf("the lead was asked %d times", n)
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

// TestConfirmationsOfATeamAreThoseOfItsMembers has all actions confirmed: asking the members
// is the person's own wish.
func TestConfirmationsOfATeamAreThoseOfItsMembers(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, true, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways })
	for _, name := range []string{"alpha", "beta", "gamma", "lead"} {
		w.llm.On(llmtest.Model(name), llmtest.Text(name+" answers"))
	}
	if res := w.say("go"); res.Answer != "lead answers" {
		t.Errorf("result = %+v", res)
	}
}

var (
	accept = turn.Input{Decision: &agentapi.Decision{Accept: true}}
	refuse = turn.Input{Decision: &agentapi.Decision{Reason: "not that one"}, Message: agentapi.Message{Text: "go on"}}
)

// waitsFor fails unless the turn waits for one action of a member.
func waitsFor(t *testing.T, res turn.Result, line string) {
	t.Helper()
	if res.Outcome != turn.Waiting || len(res.Waiting) != 1 || res.Waiting[0].Tool != "terminal" || res.Waiting[0].Line != line {
		t.Fatalf("result = %+v, want it to wait for %q", res, line)
	}
}

// TestATeamNamesTheMembersThatFail has one member whose model fails and one that asks for a
// confirmation, which it waits for over a restart.
func TestATeamNamesTheMembersThatFail(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, true)
	w.llm.On(llmtest.Model("alpha"), llmtest.Text("alpha knows"))
	w.llm.On(llmtest.Model("beta"), llmtest.Fail(401, "no such key"))
	w.llm.On(llmtest.Model("gamma"), terminal("touch asked"), terminal("touch again"), llmtest.Text("gamma did it"))
	w.llm.On(llmtest.Model("lead"), llmtest.Text("The answer."))
	var cards []turn.Call
	res := w.play(turn.Input{Message: agentapi.Message{Text: "go"}, Details: func() bool { return true }, Emit: func(u turn.Update) {
		if u.Call != nil && u.Call.State == turn.CallWaiting {
			cards = append(cards, *u.Call)
		}
	}})
	waitsFor(t, res, "gamma: $ touch asked")
	if len(cards) != 1 || cards[0].Line != "gamma: $ touch asked" || cards[0].Input != "touch asked" || cards[0].Kind != turn.KindCommand {
		t.Errorf("cards = %+v", cards)
	}
	usage := res.Usage
	if n := len(callsOf(w, "lead")); n > 0 || made(w, "asked") {
		t.Errorf("the lead was asked %d times before all members had answered; the action ran: %t", n, made(w, "asked"))
	}
	w.close()
	w.start()
	state, err := w.open().State(w.ctx())
	if err != nil || state.Status != event.Waiting || len(state.Asked) != 1 || state.Asked[0].Label != "gamma" {
		t.Fatalf("state = %+v, %v", state, err)
	}
	res = w.play(accept)
	waitsFor(t, res, "gamma: $ touch again")
	usage = usage.Plus(res.Usage)
	if !made(w, "asked") || made(w, "again") {
		t.Error("the first action did not run, or the second did")
	}
	res = w.play(accept)
	if res.Outcome != turn.Finished || !strings.HasPrefix(res.Answer, "The answer.\n\nWithout an answer: beta (") || strings.Contains(res.Answer, "gamma (") || !made(w, "again") {
		t.Errorf("result = %+v", res)
	}
	want := turn.Usage{PromptTokens: 500, CompletionTokens: 50} // of five answers: the refused call reported nothing
	if usage = usage.Plus(res.Usage); usage != want {
		t.Errorf("the usage is %+v, the model reported %+v", usage, want)
	}
	join := string(callsOf(w, "lead")[0].Body)
	for _, want := range []string{"alpha knows", "LLMAuthenticationError", "gamma did it"} {
		if !strings.Contains(join, want) {
			t.Errorf("the join lacks %q: %s", want, join)
		}
	}
	w.expect("SP U A(task) A(task) A(task) O O O M")
}

// TestAnActionOfAMemberIsRefused has the person say no: the member does not do it, and the
// next message reaches all members.
func TestAnActionOfAMemberIsRefused(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"coordinate": false, "collaborate": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := teamWorld(t, all)
			w.llm.On(llmtest.Model("alpha"), llmtest.Text("alpha knows"))
			w.llm.On(llmtest.Model("beta"), llmtest.Text("beta knows"))
			w.llm.On(llmtest.Model("gamma"), terminal("touch asked"), llmtest.Text("gamma leaves it"))
			lead := []llmtest.Reply{llmtest.Text("The answer.")}
			if !all {
				lead = append([]llmtest.Reply{handOut("gamma")}, lead...)
			}
			w.llm.On(llmtest.Model("lead"), lead...)
			waitsFor(t, w.say("go"), "gamma: $ touch asked")
			if res := w.play(refuse); res.Outcome != turn.Finished || res.Answer != "The answer." || made(w, "asked") {
				t.Errorf("result = %+v, the action ran: %t", res, made(w, "asked"))
			}
			if body := string(callsOf(w, "lead")[len(lead)-1].Body); !strings.Contains(body, "go on") || strings.Contains(body, "gamma leaves it") != all {
				t.Errorf("the lead was asked %s", body)
			}
			w.status(event.Finished)
		})
	}
}

// TestALeadsMemberAsksForItsAction is the same in the mode coordinate, confirmed.
func TestALeadsMemberAsksForItsAction(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, false)
	w.llm.On(llmtest.Model("lead"), handOut("gamma", "alpha"), llmtest.Text("done"))
	w.llm.On(llmtest.Model("alpha"), llmtest.Text("alpha knows"))
	w.llm.On(llmtest.Model("gamma"), terminal("touch asked"), llmtest.Text("gamma did it"))
	waitsFor(t, w.say("go"), "gamma: $ touch asked")
	if res := w.play(accept); res.Answer != "done" || !made(w, "asked") {
		t.Errorf("result = %+v, the action ran: %t", res, made(w, "asked"))
	}
	if body := string(callsOf(w, "lead")[1].Body); !strings.Contains(body, "gamma did it") || !strings.Contains(body, "alpha knows") {
		t.Errorf("the lead was asked %s", body)
	}
}

// TestMembersFollowTheConfirmationsOfTheirTeam changes them between two messages, also for a
// member whose file is removed.
func TestMembersFollowTheConfirmationsOfTheirTeam(t *testing.T) {
	t.Parallel()
	w, agents := teamWorld(t, true)
	w.llm.On(llmtest.Model("alpha"), terminal("touch one"), llmtest.Text("done"), terminal("touch two"), llmtest.Text("done"))
	for _, name := range []string{"beta", "gamma", "lead"} {
		w.llm.On(llmtest.Model(name), llmtest.Text("one"), llmtest.Text("two"))
	}
	confirm := func(mode agentapi.Confirmation) {
		t.Helper()
		if err := w.open().Confirm(w.ctx(), mode); err != nil {
			t.Fatal(err)
		}
	}
	if res := w.say("go"); res.Outcome != turn.Finished || !made(w, "one") {
		t.Errorf("result = %+v", res)
	}
	confirm(agentapi.ConfirmAlways)
	delete(agents, "alpha") // its conversation stays
	waitsFor(t, w.say("go on"), "alpha: $ touch two")
	if res := w.play(accept); res.Outcome != turn.Finished || !made(w, "two") {
		t.Errorf("result = %+v", res)
	}
}

// TestALeadAsksForItsTasksAndAMemberForItsAction has all actions confirmed, those of the lead
// first.
func TestALeadAsksForItsTasksAndAMemberForItsAction(t *testing.T) {
	t.Parallel()
	w, _ := teamWorld(t, false, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways })
	w.llm.On(llmtest.Model("lead"), handOut("alpha"), llmtest.Text("done"))
	w.llm.On(llmtest.Model("alpha"), terminal("touch asked"), llmtest.Text("alpha did it"))
	if res := w.say("go"); res.Outcome != turn.Waiting || len(res.Waiting) != 1 || res.Waiting[0].Tool != "task" {
		t.Fatalf("result = %+v, want it to wait for the task", res)
	}
	waitsFor(t, w.play(accept), "alpha: $ touch asked")
	if res := w.play(accept); res.Answer != "done" || !made(w, "asked") {
		t.Errorf("result = %+v, the action ran: %t", res, made(w, "asked"))
	}
}

// TestAMemberThatIsBackAnswersAgain has its file broken for the first message.
func TestAMemberThatIsBackAnswersAgain(t *testing.T) {
	t.Parallel()
	w, agents := teamWorld(t, true)
	for _, name := range []string{"alpha", "beta", "gamma", "lead"} {
		w.llm.On(llmtest.Model(name), llmtest.Text(name+" answers"))
	}
	alpha := agents["alpha"]
	delete(agents, "alpha")
	if res := w.say("go"); !strings.HasPrefix(res.Answer, "lead answers\n\nWithout an answer: alpha (") {
		t.Errorf("result = %+v, want it to name alpha", res)
	}
	agents["alpha"] = alpha
	if res := w.say("again"); res.Answer != "lead answers" || len(callsOf(w, "alpha")) != 1 {
		t.Errorf("result = %+v, alpha was asked %d times", res, len(callsOf(w, "alpha")))
	}
}
