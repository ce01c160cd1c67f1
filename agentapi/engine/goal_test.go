//go:build unix

package engine_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// pursued plays a turn with a goal, and returns its lines about the goal, too.
func (w *world) pursued(rounds int, in turn.Input) (turn.Result, []string) {
	w.t.Helper()
	var lines []string
	in.Message.Text = "go"
	if rounds > 0 {
		in.Goal = &agentapi.Goal{Objective: "all tests pass", Rounds: rounds}
	}
	emit := in.Emit
	in.Emit = func(u turn.Update) {
		if u.Kind == turn.Progress && strings.HasPrefix(u.Text, "Goal: ") {
			lines = append(lines, u.Text)
		}
		if emit != nil {
			emit(u)
		}
	}
	return w.play(in), lines
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the lines are %q, want %q", got, want)
	}
}

const (
	missing = `{"score":0.4,"complete":false,"missing":"the \u001b[31mroof"}`
	reached = `{"score":1,"complete":true,"missing":""}`
)

func TestATurnEndsWithItsGoal(t *testing.T) {
	t.Parallel()
	type end struct {
		answer, status, missing string
		rounds                  int
		outcome                 turn.Outcome
	}
	for name, c := range map[string]struct {
		replies []llmtest.Reply
		rounds  int
		want    end
		lines   []string
	}{
		"in the third round": {
			[]llmtest.Reply{llmtest.Text("One."), llmtest.Text(missing), terminal("echo two"), llmtest.Finish("Two."), llmtest.Text("No: " + missing), llmtest.Text("Three."), llmtest.Text(reached)},
			5,
			end{"Three.", event.GoalComplete, "", 3, turn.Finished},
			[]string{
				"Goal: 5 rounds at most", "Goal: not reached in round 1 of 5: the [31mroof", "Goal: not reached in round 2 of 5: the [31mroof",
				"Goal: reached in round 3 of 5",
			},
		},
		"never": {
			[]llmtest.Reply{llmtest.Text("One."), llmtest.Text(missing), llmtest.Text("Two."), llmtest.Text(missing)},
			2,
			end{"Two.", event.GoalCapped, "the [31mroof", 2, turn.Finished},
			[]string{"Goal: 2 rounds at most", "Goal: not reached in round 1 of 2: the [31mroof", "Goal: not reached in 2 rounds: the [31mroof"},
		},
		"the judge writes nonsense": {
			[]llmtest.Reply{llmtest.Text("One."), llmtest.Text("hard to say")},
			1,
			end{"One.", event.GoalCapped, "The judge gave no verdict that can be read.", 1, turn.Finished},
			[]string{"Goal: 1 round at most", "Goal: not reached in 1 round: The judge gave no verdict that can be read."},
		},
		"the judge fails": {
			[]llmtest.Reply{llmtest.Text("One."), llmtest.Fail(400, "no judge today")},
			3,
			end{"One.", event.GoalInterrupted, "no judge today", 0, turn.Finished},
			[]string{"Goal: 3 rounds at most", "Goal: stopped after 0 of 3 rounds", "Goal: the judge failed: no judge today"},
		},
		"a run fails": {
			[]llmtest.Reply{llmtest.Text("One."), llmtest.Text(missing), llmtest.Fail(400, "no agent today")},
			3,
			end{"One.", event.GoalInterrupted, "no agent today", 1, turn.Failed},
			[]string{"Goal: 3 rounds at most", "Goal: not reached in round 1 of 3: the [31mroof", "Goal: stopped after 1 of 3 rounds"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, realTools)
			w.llm.Reply(c.replies...)
			var base turn.Baseline
			res, lines := w.pursued(c.rounds, turn.Input{Ready: func(b turn.Baseline) error { base = b; return nil }})
			if res.Goal == nil {
				t.Fatalf("the result is %+v", res)
			}
			got := end{res.Answer, res.Goal.Status, res.Goal.Missing, res.Goal.Rounds, res.Outcome}
			if !strings.Contains(got.missing, c.want.missing) {
				t.Errorf("what is missing is %q, want %q", got.missing, c.want.missing)
			}
			if got.missing = c.want.missing; got != c.want {
				t.Errorf("the end is %+v, want %+v", got, c.want)
			}
			if len(lines) == len(c.lines) && strings.HasPrefix(lines[len(lines)-1], c.lines[len(lines)-1]) {
				lines[len(lines)-1] = c.lines[len(lines)-1] // a provider's words may follow
			}
			wantLines(t, lines, c.lines...)
			if n := len(w.llm.Requests()); n != len(c.replies) {
				t.Errorf("the model was asked %d times, want %d", n, len(c.replies))
			}
			if name == "in the third round" && res.Usage.PromptTokens != int64(7*llmtest.DefaultUsage().Prompt) {
				t.Errorf("the usage is %+v, want that of 7 calls", res.Usage)
			}
			read, err := turn.Follow(w.ctx(), w.conv, base, func(turn.Update) {}, nil)
			if err != nil || read.Answer != res.Answer || read.Outcome != res.Outcome || read.Goal == nil || *read.Goal != *res.Goal {
				t.Errorf("read later: %+v, %v", read, err)
			}
			// The next message is a turn without a goal.
			w.llm.Reply(llmtest.Text("Fine."))
			if res := w.say("thanks"); res.Answer != "Fine." || res.Goal != nil {
				t.Errorf("the next turn = %+v", res)
			}
			if read, err := turn.Follow(w.ctx(), w.conv, base, func(turn.Update) {}, nil); err != nil || read.Answer != res.Answer || read.Goal == nil {
				t.Errorf("read with the next turn behind it: %+v, %v", read, err)
			}
		})
	}
}

// TestStopEndsAGoal stops in a run for it, and while its judge hangs.
func TestStopEndsAGoal(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]llmtest.Reply{
		"in the first run":  nil,
		"in a later run":    {llmtest.Text("One."), llmtest.Text(missing)},
		"in the judge":      {llmtest.Text("One.")},
		"in a second judge": {llmtest.Text("One."), llmtest.Text(missing), llmtest.Text("Two.")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, realTools)
			w.llm.Reply(append(before, llmtest.Reply{End: llmtest.Hang})...)
			ctx, stop := context.WithCancel(w.ctx())
			defer stop()
			go func() {
				w.llm.Await(t, len(before)+1)
				stop()
			}()
			res, err := turn.Run(ctx, w.open(), turn.Input{
				Message: agentapi.Message{Text: "go"}, Goal: &agentapi.Goal{Objective: "all", Rounds: 5}, Emit: func(turn.Update) {},
			})
			if err != nil || res.Outcome != turn.Interrupted || res.Goal == nil || res.Goal.Status != event.GoalInterrupted {
				t.Errorf("the result is %+v: %v", res, err)
			}
			w.llm.Reply(llmtest.Text("Fine."))
			if res := w.say("again"); res.Answer != "Fine." {
				t.Errorf("the next turn = %+v", res)
			}
			if n := len(w.llm.Requests()); n != len(before)+2 {
				t.Errorf("the model was asked %d times, want %d", n, len(before)+2)
			}
		})
	}
}

// TestAGoalGoesOnAfterAConfirmation has the first turn end where a person is asked. The one
// that allows the action ends with the goal.
func TestAGoalGoesOnAfterAConfirmation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools, func(c *engine.Config) { c.Settings = settings(engine.Settings{Confirm: agentapi.ConfirmAlways}) })
	w.llm.Reply(terminal("echo one"), llmtest.Finish("One."), llmtest.Text(missing), llmtest.Text("Two."), llmtest.Text(reached))
	res, _ := w.pursued(3, turn.Input{})
	if res.Outcome != turn.Waiting || res.Goal == nil || res.Goal.Status != event.GoalRunning {
		t.Fatalf("the first turn = %+v, want one that waits", res)
	}
	res, lines := w.pursued(0, turn.Input{Decision: &agentapi.Decision{Accept: true}})
	if res.Answer != "Two." || res.Goal == nil || res.Goal.Status != event.GoalComplete || res.Goal.Rounds != 2 {
		t.Errorf("the second turn = %+v, want the end of the goal", res)
	}
	wantLines(t, lines, "Goal: 3 rounds at most", "Goal: not reached in round 1 of 3: the [31mroof", "Goal: reached in round 2 of 3")
}

// TestAMessageThatAHookRefusesHasNoGoal asks no judge.
func TestAMessageThatAHookRefusesHasNoGoal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hooks(t, [3]string{"UserPromptSubmit", "*", "echo not that >&2; exit 2"}))
	res, lines := w.pursued(3, turn.Input{})
	if res.Outcome != turn.Refused || res.Goal != nil || len(lines) > 0 || len(w.llm.Requests()) > 0 {
		t.Errorf("the result is %+v with %q", res, lines)
	}
}

// TestTheMeterOfAMessageHasAllRunsOfItsGoal has the judge counted, too: a call costs 60
// cents.
func TestTheMeterOfAMessageHasAllRunsOfItsGoal(t *testing.T) {
	t.Parallel()
	w := limitedWorld(t, budget.Amount{})
	goal := &agentapi.Goal{Objective: "all tests pass", Rounds: 5}
	m := &meter{allows: 100}
	w.llm.Reply(llmtest.Text("One."), llmtest.Text(missing), llmtest.Text("Two."), llmtest.Text(reached))
	w.play(turn.Input{Message: agentapi.Message{Text: "go", Meter: m}, Goal: goal})
	if math.Abs(m.cost-2.4) > 1e-9 {
		t.Errorf("the meter learned of %g, want 2.4: two runs and two judgements", m.cost)
	}
	w.llm.Reply(llmtest.Text("Three."))
	if w.say("more"); math.Abs(m.cost-2.4) > 1e-9 {
		t.Errorf("the meter learned of a message without it: %g", m.cost)
	}
	m, before := &meter{allows: 1.7}, len(w.llm.Requests())
	w.llm.Reply(llmtest.Text("One."), llmtest.Text(missing), llmtest.Text("Two."))
	res := w.play(turn.Input{Message: agentapi.Message{Text: "go", Meter: m}, Goal: goal})
	if n := len(w.llm.Requests()) - before; n != 3 || math.Abs(m.cost-1.8) > 1e-9 || res.Goal == nil || res.Goal.Status == event.GoalComplete {
		t.Errorf("the LLM was asked %d times, the meter learned of %g, and the result is %+v; want 3, 1.8 and a goal that was left", n, m.cost, res)
	}
}

// TestAGoalWithoutBudgetForItsJudgeReachesALimit has a run that is well take all there is.
func TestAGoalWithoutBudgetForItsJudgeReachesALimit(t *testing.T) {
	t.Parallel()
	w := limitedWorld(t, budget.Amount{})
	w.llm.Reply(llmtest.Text("One."))
	res, lines := w.pursued(5, turn.Input{Message: agentapi.Message{Meter: &meter{allows: 0.5}}})
	if res.Outcome != turn.Failed || res.Cause == nil || res.Cause.Code != agentapi.CodeBudget || res.Answer != "One." {
		t.Errorf("the result is %+v, want one that has reached its limit", res)
	}
	if len(lines) != 3 || !strings.HasPrefix(lines[2], "Goal: the limit is reached: ") {
		t.Errorf("the lines are %q", lines)
	}
}

// TestAGoalIsInterruptedByTheDeathOfItsProcess has it die in a run and in the judge.
func TestAGoalIsInterruptedByTheDeathOfItsProcess(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]llmtest.Reply{
		"in the first run":  nil,
		"in a later run":    {llmtest.Text("One."), llmtest.Text(missing)},
		"in the judge":      {llmtest.Text("One.")},
		"in a second judge": {llmtest.Text("One."), llmtest.Text(missing), terminal("echo two"), llmtest.Text("Two.")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := &mortal{left: 1 << 30}
			w := newWorld(t, realTools, func(c *engine.Config) { c.Files = disk })
			w.llm.Reply(append(before, llmtest.Reply{End: llmtest.Hang})...)
			var base turn.Baseline
			var over sync.WaitGroup
			conv := w.open()
			over.Go(func() {
				_, _ = turn.Run(w.ctx(), conv, turn.Input{ // it dies
					Message: agentapi.Message{Text: "go"}, Goal: &agentapi.Goal{Objective: "all", Rounds: 5},
					Ready: func(b turn.Baseline) error { base = b; return nil }, Emit: func(turn.Update) {},
				})
			})
			w.llm.Await(t, len(before)+1)
			w.crash(disk)
			over.Wait()
			res, err := turn.Follow(w.ctx(), w.open(), base, func(turn.Update) {}, nil)
			if err != nil || res.Goal == nil || res.Goal.Status != event.GoalInterrupted {
				t.Errorf("the turn of before is %+v with the goal %+v, %v; want an interrupted goal", res, res.Goal, err)
			}
			w.llm.Reply(llmtest.Text("Fine."))
			if res := w.say("again"); res.Answer != "Fine." || res.Goal != nil {
				t.Errorf("the next turn = %+v", res)
			}
		})
	}
}
