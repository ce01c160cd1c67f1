package backendtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func hasGoals(f Features) bool { return f.Goals }

// goals lists what becomes of messages with a goal.
func goals() []behaviour {
	return []behaviour{
		{name: "GoalIsPursuedUntilItIsReached", has: hasGoals, check: checkGoalReached},
		{name: "GoalInTheWordsOfItsMessage", has: hasGoals, check: checkGoalCapped},
		{name: "GoalIsReadLater", has: hasGoals, check: checkGoalFollowed},
		{name: "GoalIsLeftWhenItsJudgeFails", has: hasGoals, check: checkGoalUnjudged},
		{name: "GoalIsLeftWhenItsRunFails", has: hasGoals, check: checkGoalFailed},
		{name: "InterruptEndsTheGoalInItsRun", has: func(f Features) bool { return f.Goals && f.Stop }, check: func(t *testing.T, s *Setup) {
			checkGoalStopped(t, s, llmtest.Text("One."), llmtest.Text(lacking))
		}},
		{name: "InterruptEndsTheGoalInItsJudge", has: func(f Features) bool { return f.Goals && f.Stop }, check: func(t *testing.T, s *Setup) {
			checkGoalStopped(t, s, llmtest.Text("One."))
		}},
		{name: "GoalIsRefusedWhereThereAreNone", has: func(f Features) bool { return !f.Goals }, check: checkNoGoal},
		{
			name: "GoalIsRefusedWhereActionsWait", needs: Needs{Confirm: true}, check: checkNoGoal,
			has: func(f Features) bool { return f.Goals && !f.GoalsWait && f.Confirm },
		},
	}
}

// What a judge says.
const (
	lacking = `{"score":0.4,"complete":false,"missing":"the roof"}`
	proved  = `{"score":1,"complete":true,"missing":""}`
)

func allPass(rounds int) *agentapi.Goal {
	return &agentapi.Goal{Objective: "all tests pass", Rounds: rounds}
}

// goalLines are the lines of progress about the goal.
func (p played) goalLines() string {
	lines := slices.DeleteFunc(strings.Split(p.progress(), "\n"), func(l string) bool { return !strings.HasPrefix(l, "Goal: ") })
	return strings.Join(lines, "\n")
}

func (p played) wantGoal(t *testing.T, answer string, want turn.Goal, lines ...string) {
	t.Helper()
	if p.Outcome != turn.Finished || p.Answer != answer || p.Goal == nil {
		t.Fatalf("result %+v", p.Result)
	}
	if *p.Goal != want {
		t.Errorf("the goal is %+v, want %+v", *p.Goal, want)
	}
	if got := p.goalLines(); got != strings.Join(lines, "\n") {
		t.Errorf("the lines are %q, want %q", got, lines)
	}
}

func checkGoalReached(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("One."), llmtest.Text(lacking), llmtest.Tool("terminal", `{"command":"echo two"}`), llmtest.Text("Two."), llmtest.Text("No: "+lacking), llmtest.Text("Three."), llmtest.Text(proved))
	c := s.open(t)
	p := play(t, c, turn.Input{Message: agentapi.Message{Text: "go"}, Goal: allPass(5)})
	p.wantGoal(t, "Three.", turn.Goal{Status: event.GoalComplete, Rounds: 3, Most: 5},
		"Goal: 5 rounds at most", "Goal: not reached in round 1 of 5: the roof",
		"Goal: not reached in round 2 of 5: the roof", "Goal: reached in round 3 of 5")
	if got, want := p.Usage.PromptTokens, int64(7*llmtest.DefaultUsage().Prompt); got != want {
		t.Errorf("%d prompt tokens are counted, want %d", got, want)
	}
	var first string
	for _, m := range s.LLM.Await(t, 1).Messages {
		first += m.Text + "\n"
	}
	if !strings.Contains(first, "go") {
		t.Errorf("the agent was first told %q, without the message", first)
	}
	s.LLM.Reply(llmtest.Text("Fine."))
	if p := say(t, c, "thanks"); p.Answer != "Fine." || p.Goal != nil {
		t.Errorf("the next turn: %+v", p.Result)
	}
}

func checkGoalCapped(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("One."), llmtest.Text(lacking), llmtest.Text("Two."), llmtest.Text(lacking))
	c := s.open(t)
	p := play(t, c, turn.Input{Message: agentapi.Message{Text: "all tests pass"}, Goal: allPass(2)})
	p.wantGoal(t, "Two.", turn.Goal{Status: event.GoalCapped, Rounds: 2, Most: 2, Missing: "the roof"},
		"Goal: 2 rounds at most", "Goal: not reached in round 1 of 2: the roof", "Goal: not reached in 2 rounds: the roof")
}

func checkGoalFollowed(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("One."), llmtest.Text(lacking), llmtest.Text("Two."), llmtest.Text(proved))
	c := s.open(t)
	var base turn.Baseline
	p := play(t, c, turn.Input{
		Message: agentapi.Message{Text: "all tests pass"}, Goal: allPass(3),
		Ready: func(b turn.Baseline) error { base = b; return nil },
	})
	read, err := turn.Follow(within(t, patience), c, base, func(turn.Update) {}, nil)
	if err != nil || read.Answer != p.Answer || read.Outcome != p.Outcome || read.Goal == nil || *read.Goal != *p.Goal {
		t.Errorf("read later: %+v, %v", read, err)
	}
}

func checkGoalUnjudged(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("One."), llmtest.Fail(400, "no judge today"))
	p := play(t, s.open(t), turn.Input{Message: agentapi.Message{Text: "go"}, Goal: allPass(3)})
	if p.Outcome != turn.Finished || p.Answer != "One." || p.Goal == nil || p.Goal.Status != event.GoalInterrupted || p.Goal.Missing == "" {
		t.Errorf("result %+v with the goal %+v", p.Result, p.Goal)
	}
	if got := p.goalLines(); !strings.Contains(got, "Goal: stopped after ") || !strings.Contains(got, "the judge failed") {
		t.Errorf("the lines are %q", got)
	}
}

func checkGoalFailed(t *testing.T, s *Setup) {
	s.LLM.Reply(llmtest.Text("One."), llmtest.Text(lacking), llmtest.Fail(400, "no agent today"))
	p := play(t, s.open(t), turn.Input{Message: agentapi.Message{Text: "go"}, Goal: allPass(3)})
	if p.Outcome != turn.Failed || p.Cause == nil || p.Goal == nil || p.Goal.Status != event.GoalInterrupted || p.Goal.Rounds != 1 {
		t.Errorf("result %+v with the goal %+v", p.Result, p.Goal)
	}
}

// checkGoalStopped stops in the call of the model that follows those before.
func checkGoalStopped(t *testing.T, s *Setup, before ...llmtest.Reply) {
	t.Helper()
	s.LLM.Reply(append(before, llmtest.Reply{End: llmtest.Hang})...)
	c := s.open(t)
	ctx, cancel := context.WithCancel(within(t, patience))
	defer cancel()
	over := beginUnder(ctx, t, c, turn.Input{Message: agentapi.Message{Text: "go"}, Goal: allPass(5)})
	s.LLM.Await(t, len(before)+1)
	cancel()
	p := await(t, "end of the turn", over)
	if p.err != nil || p.Outcome != turn.Interrupted || p.Goal == nil || p.Goal.Status != event.GoalInterrupted {
		t.Errorf("turn %+v with the goal %+v", p, p.Goal)
	}
	s.LLM.Reply(llmtest.Text("Fine."))
	if p := say(t, c, "again"); p.Answer != "Fine." || p.Goal != nil {
		t.Errorf("the next turn: %+v", p.Result)
	}
	if n := len(s.LLM.Requests()); n != len(before)+2 {
		t.Errorf("the model was asked %d times, want %d", n, len(before)+2)
	}
}

func checkNoGoal(t *testing.T, s *Setup) {
	c := s.open(t)
	_, err := turn.Run(within(t, patience), c, turn.Input{
		Message: agentapi.Message{Text: "go"}, Goal: allPass(3), Emit: func(turn.Update) {},
	})
	wantKind(t, err, agentapi.ErrUnsupported)
	if !errors.Is(err, agentapi.ErrNoGoals) {
		t.Errorf("the cause of %v is not ErrNoGoals", err)
	}
	if log := replay(t, c, agentapi.FromStart); len(outline(log)) != 0 {
		t.Errorf("the log has %q", outline(log))
	}
}
