package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestScenario01PlainTextIsAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Text("hello"))
	w.say("hi")
	w.expect("SP U M")
	w.status(event.Finished)
	var req struct {
		Tools []struct {
			Function struct {
				Name       string
				Parameters json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(w.llm.Await(t, 1).Body, &req); err != nil || len(req.Tools) == 0 {
		t.Fatalf("tools %+v, %v", req, err)
	}
	for _, tool := range req.Tools {
		readOnly := tool.Function.Name == "finish" || tool.Function.Name == "think"
		params := string(tool.Function.Parameters)
		risk, summary := strings.Index(params, `"security_risk"`), strings.Index(params, `"summary"`)
		if (risk < 0) != readOnly || summary < 0 || risk > summary {
			t.Errorf("tool %s is offered with %s", tool.Function.Name, params)
		}
	}
}

func TestScenario02FinishIsAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Finish("done"))
	if res := w.say("hi"); res.Answer != "done" {
		t.Errorf("answer %q", res.Answer)
	}
	w.expect("SP U A(finish) O")
	w.status(event.Finished)
}

func TestScenario10CallsBehindFinishNeverRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Reply{Calls: []llmtest.Call{
		{Name: "terminal", Args: `{"command":"touch one"}`},
		{Name: "finish", Args: `{"message":"ok"}`},
		{Name: "terminal", Args: `{"command":"touch two"}`},
	}}, terminal("ls"), llmtest.Finish("end"))
	w.say("go")
	w.expect("SP U A(terminal) A(finish) O O")
	w.say("and now")
	w.expect("SP U A(terminal) A(finish) O O U A(terminal) O A(finish) O")
	if got := w.llm.Await(t, 3).Last().Text; !strings.Contains(got, "one") || strings.Contains(got, "two") {
		t.Errorf("the workspace has %q", got)
	}
}

func TestScenario11UnknownToolIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Tool("nope", `{}`), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A0(nope) E A(finish) O")
	if e := lastOf[*event.AgentError](t, w.log()); !strings.Contains(e.Error, "terminal, finish, think") {
		t.Errorf("error %q", e.Error)
	}
	m := w.llm.Await(t, 2).Messages
	if n := len(m); len(m[n-2].Calls) != 1 || m[n-1].Role != "tool" {
		t.Errorf("the model was shown %+v", m[n-2:])
	}
}

func TestScenario12ArgumentsThatAreNoJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Tool("terminal", `{"command":`), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A0(terminal) E A(finish) O")
	for _, e := range w.log() {
		if a, ok := e.Body.(*event.Action); ok && a.ToolName == "terminal" && !strings.HasPrefix(a.ToolCall.Arguments, `{"_openhands_malformed_tool_call":true`) {
			t.Errorf("stored arguments %s", a.ToolCall.Arguments)
		}
	}
}

func TestScenario13BatchOfGoodBadGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Reply{Text: "three", Calls: []llmtest.Call{
		{ID: "a", Name: "terminal", Args: `{"command":"echo 1"}`},
		{ID: "b", Name: "terminal", Args: `{`},
		{ID: "c", Name: "terminal", Args: `{"command":"echo 3"}`},
	}}, llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A(terminal) A0(terminal) E A(terminal) O O A(finish) O")
	m := w.llm.Await(t, 2).Messages
	var roles []string
	for _, x := range m[len(m)-4:] {
		roles = append(roles, x.Role+" "+x.CallID)
	}
	if diff := cmp.Diff([]string{"assistant ", "tool a", "tool b", "tool c"}, roles); diff != "" || len(m[len(m)-4].Calls) != 3 {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestScenario14EmptyRepliesAreNudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Reply{}, llmtest.Reply{Reasoning: "hm"}, llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U M N M N A(finish) O")
	if got := w.llm.Await(t, 3).Last().Text; !strings.Contains(got, "tool call") {
		t.Errorf("the nudge is %q", got)
	}
}

func TestThreeEmptyRepliesAreStuck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Reply{}, llmtest.Reply{}, llmtest.Reply{})
	if res := w.say("go"); res.Outcome != turn.Stuck {
		t.Errorf("outcome %v", res.Outcome)
	}
	w.expect("SP U M N M N M N")
}

func TestScenario15IterationsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Settings = settings(engine.Settings{MaxIterations: 3}) })
	w.llm.Reply(terminal("echo 1"), terminal("echo 2"), terminal("echo 3"), llmtest.Text("back"))
	res := w.say("go")
	if res.Outcome != turn.Failed || res.Cause.Code != "MaxIterationsReached" {
		t.Errorf("result %+v", res)
	}
	w.expect("SP U A(terminal) O A(terminal) O A(terminal) O X(MaxIterationsReached)")
	w.status(event.Failed)
	if res := w.say("go on"); res.Answer != "back" {
		t.Errorf("result %+v", res)
	}
}

// priced makes each call of the model cost something.
type priced struct{ llm.Model }

func TestScenario16BudgetIsLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.MaxCost = 1; withModel(c, func(m llm.Model) llm.Model { return priced{m} }) })
	w.llm.Reply(terminal("echo 1"), terminal("echo 2"))
	res := w.say("go")
	if res.Outcome != turn.Failed || res.Cause.Code != "MaxBudgetReached" || res.Usage.Cost != 1.2 {
		t.Errorf("result %+v", res)
	}
	w.expect("SP U A(terminal) O A(terminal) O X(MaxBudgetReached)")
}

func TestScenario17ApprovedActionRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways })
	w.llm.Reply(terminal("echo hi"), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A(terminal)")
	w.status(event.Waiting)
	if n := len(w.llm.Requests()); n != 1 {
		t.Errorf("%d requests before the decision", n)
	}
	w.play(turn.Input{Decision: &agentapi.Decision{Accept: true}})
	w.expect("SP U A(terminal) O A(finish) O")
	w.status(event.Finished)
}

func TestScenario18RejectedActionIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) { c.Confirm = agentapi.ConfirmAlways })
	w.llm.Reply(terminal("echo hi"), llmtest.Text("as you like"))
	w.say("go")
	if err := w.open().Decide(w.ctx(), agentapi.Decision{Reason: "too loud"}); err != nil {
		t.Fatal(err)
	}
	w.expect("SP U A(terminal) R")
	w.status(event.Idle)
	w.say("instead")
	w.expect("SP U A(terminal) R U M")
	if m := w.llm.Await(t, 2).Messages; !strings.Contains(m[len(m)-2].Text, "too loud") {
		t.Errorf("the model was told %q", m[len(m)-2].Text)
	}
}

func TestScenario19OnlyRiskyActionsWait(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{"high": `"security_risk":"HIGH",`, "unknown": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *engine.Config) { c.Confirm = agentapi.ConfirmRisky })
			w.llm.Reply(
				llmtest.Tool("terminal", `{"security_risk":"LOW","command":"echo 1"}`),
				llmtest.Tool("terminal", `{`+last+`"command":"echo 2"}`),
			)
			if res := w.say("go"); res.Outcome != turn.Waiting {
				t.Errorf("outcome %v", res.Outcome)
			}
			w.expect("SP U A(terminal) S O A(terminal) S")
		})
	}
}

func TestScenario20SameCallSameResultIsStuck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(terminal("echo 1"), terminal("echo 1"), terminal("echo 1"), terminal("echo 1"))
	w.say("go")
	w.expect("SP U A(terminal) O A(terminal) O A(terminal) O A(terminal) O")
	w.status(event.Stuck)
}

func TestScenario21SameFailingCallIsNudgedThenStuck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad := llmtest.Tool("terminal", `{"cmd":"ls"}`)
	w.llm.Reply(bad, bad, bad, bad)
	w.say("go")
	w.expect("SP U A0(terminal) E A0(terminal) E A0(terminal) E N A0(terminal) E")
	w.status(event.Stuck)
}

func TestScenario25PauseLetsTheStepEnd(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	w := newWorld(t, gatedTerminal(gate))
	w.llm.Reply(terminal("echo hi"), llmtest.Finish("ok"))
	over := w.background("go")
	w.awaitAction()
	if err := w.backend.Pause(w.ctx(), w.id); err != nil {
		t.Fatal(err)
	}
	close(gate)
	if res := <-over; res.Outcome != turn.Paused {
		t.Errorf("outcome %v", res.Outcome)
	}
	w.expect("SP U A(terminal) O P")
	w.status(event.Paused)
	if n := len(w.llm.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
	w.say("go on")
	w.expect("SP U A(terminal) O P U A(finish) O")
}

func TestScenario26InterruptOfTheModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Reply{End: llmtest.Hang}, llmtest.Text("back"))
	over := w.background("go")
	req := w.llm.Await(t, 1)
	if err := w.open().Interrupt(w.ctx()); err != nil {
		t.Fatal(err)
	}
	if res := <-over; res.Outcome != turn.Interrupted {
		t.Errorf("outcome %v", res.Outcome)
	}
	if got := req.Wait(t); got != llmtest.ClientLeft {
		t.Errorf("the request ended with %v", got)
	}
	w.expect("SP U I")
	w.status(event.Paused)
	w.say("go on")
	w.expect("SP U I U M")
}

func TestScenario26InterruptOfATool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(terminal("sleep 300"), llmtest.Text("back"))
	over := w.background("go")
	w.awaitAction()
	if err := w.open().Interrupt(w.ctx()); err != nil {
		t.Fatal(err)
	}
	<-over
	w.expect("SP U A(terminal) E I")
	w.status(event.Paused)
	w.say("go on")
	w.expect("SP U A(terminal) E I U M")
}

func TestScenario31WrongKeyIsNotRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Fail(401, "bad key"))
	res := w.say("go")
	w.expect("SP U X(LLMAuthenticationError)")
	w.status(event.Failed)
	if res.Cause == nil || res.Cause.Kind != turn.CauseLLM || res.Cause.Retryable {
		t.Errorf("cause %+v", res.Cause)
	}
}

func TestScenario41StreamedTextIsTheMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Text("one two three"), llmtest.Reply{Text: "Let me end this.", Calls: []llmtest.Call{{Name: "finish", Args: `{"message":"four \"five\" six"}`}}})
	for _, want := range []string{"one two three", "Let me end this.\n\nfour \"five\" six"} {
		var live string
		pieces := 0
		w.play(turn.Input{Message: agentapi.Message{Text: "go"}, Emit: func(u turn.Update) { live += u.Text; pieces++ }})
		if live != want || pieces < 3 {
			t.Errorf("live text %q in %d pieces, want %q", live, pieces, want)
		}
	}
	w.expect("SP U M U A(finish) O")
	for _, name := range w.files("events/*") {
		if strings.Contains(name, "Delta") {
			t.Error(name)
		}
	}
}

func TestScenario42MessageDuringTheLastCallIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	feed := make(chan string)
	w.llm.Reply(llmtest.Reply{Feed: feed}, llmtest.Text("second"))
	over := w.background("one")
	w.llm.Await(t, 1)
	sent := w.sendMeanwhile("two")
	feed <- "first"
	close(feed)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if res := <-over; res.Answer != "second" {
		t.Errorf("answer %q", res.Answer)
	}
	w.expect("SP U M U M")
	w.status(event.Finished)
}

func withCondenser(maxSize, keepFirst int) func(*engine.Config) {
	return func(c *engine.Config) {
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(fmt.Sprintf(`{"condenser":{"max_size":%d,"keep_first":%d}}`, maxSize, keepFirst))})
	}
}

func TestScenario22TooLongARequestIsCondensed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withCondenser(80, 2))
	for i := range 6 {
		w.llm.Reply(terminal(fmt.Sprintf("echo %d", i)))
	}
	w.llm.Reply(llmtest.ContextTooLong(), llmtest.Text("THE SUMMARY"), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U" + strings.Repeat(" A(terminal) O", 6) + " CR C A(finish) O")
	summary := w.llm.Await(t, 8).Messages
	if len(summary) != 2 || summary[0].Role != "system" || summary[1].Role != "user" {
		t.Errorf("the request for a summary has the messages %+v", summary)
	}
	told, calls := "", 0
	for _, m := range w.llm.Await(t, 9).Messages {
		told += m.Text
		calls += len(m.Calls)
		if m.Role == "tool" {
			calls--
		}
	}
	if !strings.Contains(told, "THE SUMMARY") || calls != 0 {
		t.Errorf("the model was told %q; calls without results: %d", told, calls)
	}
}

func TestScenario23LongHistoryIsCondensedAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withCondenser(10, 1))
	w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Text("sum"))
	for i := range 12 {
		w.llm.Reply(terminal(fmt.Sprintf("echo %d", i)))
	}
	w.llm.Reply(llmtest.Finish("ok"))
	w.say("go")
	n := 0
	for _, e := range w.log() {
		if c, ok := e.Body.(*event.Condensation); ok {
			n++
			if len(c.ForgottenEventIDs) == 0 || c.Summary == nil || c.SummaryOffset == nil || *c.SummaryOffset != 2 { // behind the question
				t.Errorf("condensation %+v", c)
			}
		}
	}
	if n < 2 {
		t.Errorf("%d condensations", n)
	}
}

func TestRequestThatStaysTooLongEndsTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withCondenser(80, 2))
	w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Text("sum"))
	// A question alone cannot be shortened, and a summary is not summed up again.
	for i := range 2 {
		w.llm.Reply(llmtest.ContextTooLong())
		res := w.say(fmt.Sprint("go ", i))
		if res.Outcome != turn.Failed || res.Cause.Code != "LLMContextWindowExceedError" {
			t.Errorf("result %+v", res)
		}
		w.status(event.Failed)
	}
	w.llm.Reply(llmtest.Text("at last"))
	if res := w.say("go at last"); res.Answer != "at last" {
		t.Errorf("result %+v", res)
	}
}
