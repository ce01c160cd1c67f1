package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/event"
)

func (w *world) pursue(objective string, iterations int) {
	w.t.Helper()
	w.do(func(ctx context.Context) error { return w.conv.StartGoal(ctx, objective, iterations) })
}

// goalOver reads until the goal is not active any more, and gives what came.
func (w *world) goalOver() []event.Event {
	w.t.Helper()
	var events []event.Event
	for {
		e := w.next(1)[0]
		if _, snapshot, _ := e.FullState(); !snapshot {
			events = append(events, e)
		}
		if u, ok := e.Body.(*event.StateUpdate); ok && u.Key == conversation.KeyGoal && strings.Contains(string(u.Value), `"active":false`) {
			return events
		}
	}
}

func goalsOf(t *testing.T, events []event.Event) (told []string) {
	t.Helper()
	for _, e := range events {
		u, ok := e.Body.(*event.StateUpdate)
		if !ok || u.Key != conversation.KeyGoal {
			continue
		}
		var g struct {
			Status    string `json:"status"`
			Iteration int    `json:"iteration"`
			Max       int    `json:"max_iterations"`
			Objective string `json:"objective"`
			Verdict   *struct{ Missing string }
		}
		if err := json.Unmarshal(u.Value, &g); err != nil {
			t.Fatal(err)
		}
		line := g.Objective + ": " + g.Status + " " + string(rune('0'+g.Iteration)) + "/" + string(rune('0'+g.Max))
		if g.Verdict != nil {
			line += " " + g.Verdict.Missing
		}
		told = append(told, strings.TrimSpace(line))
	}
	return told
}

func wantGoals(t *testing.T, events []event.Event, list ...string) {
	t.Helper()
	if got := strings.Join(goalsOf(t, events), ", "); got != strings.Join(list, ", ") {
		t.Errorf("told is %q, want %q", got, list)
	}
}

func TestAGoalIsPursuedUntilItIsReached(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{
		answer("r1", "", look("c1")), answer("r2", "I looked."), answer("j1", `No: {"score":0.4,"complete":false,"missing":"the roof"}`),
		answer("r3", "Roofed."), answer("j2", `{"score":1,"complete":true,"missing":""}`),
	}}, nil)
	w.pursue("build a house", 3)
	if err := w.conv.StartGoal(t.Context(), "another", 1); !errors.Is(err, agentapi.ErrBusy) {
		t.Errorf("another goal: %v, want ErrBusy", err)
	}
	events := w.goalOver()
	wantGoals(t, events, "build a house: running 0/3", "build a house: running 1/3 the roof", "build a house: complete 2/3")
	judged := event.PlainText(w.model.requests()[2].Messages[0].Content)
	for _, part := range []string{"<objective>\nbuild a house\n", "assistant calls the tool look", "tool: seen", "assistant: I looked."} {
		if !strings.Contains(judged, part) {
			t.Errorf("the judge is not told %q", part)
		}
	}
	if strings.Contains(judged, "You are a test.") {
		t.Error("the judge is told the system prompt")
	}
	last := w.model.requests()[3].Messages
	if got := event.PlainText(last[len(last)-1].Content); !strings.Contains(got, "What is missing: the roof") {
		t.Errorf("the agent is told %q", got)
	}
	if err := w.conv.StopGoal(t.Context()); !errors.Is(err, control.ErrNoGoal) {
		t.Errorf("stop: %v, want ErrNoGoal", err)
	}
	if err := w.conv.ResumeGoal(t.Context()); !errors.Is(err, control.ErrNoGoal) {
		t.Errorf("resume: %v, want ErrNoGoal", err)
	}
}

func TestAGoalIsJudgedAsOftenAsAllowed(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "One."), answer("j1", "hard to say"), answer("r2", "Two."), answer("j2", "{}")}}, nil)
	w.pursue("all", 2)
	wantGoals(t, w.goalOver(), "all: running 0/2", "all: running 1/2 The judge gave no verdict that can be read.", "all: capped 2/2")
}

func TestAMessageOfTheUserEndsTheGoal(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	w := open(t, &model{todo: []reply{answer("r1", "One."), asking(asked, nil, nil), answer("r2", "As you wish.")}}, nil)
	w.pursue("all", 5)
	<-asked // the judge
	w.add("leave it", true)
	events := w.goalOver()
	wantGoals(t, events, "all: running 0/5", "all: interrupted 0/5")
	want(t, w.rest(), "status idle", "user says leave it", "status running", "agent says As you wish.", "status finished")
}

func TestAnInterruptedGoalGoesOn(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	w := open(t, &model{todo: []reply{
		answer("r1", "One."), answer("j1", `{"missing":"two"}`), asking(asked, nil, nil),
		answer("r3", "Two."), answer("j2", `{"score":1}`),
	}}, nil)
	w.pursue("all", 5)
	<-asked
	w.do(w.conv.Halt)
	wantGoals(t, w.goalOver(), "all: running 0/5", "all: running 1/5 two", "all: interrupted 1/5")
	w.rest()
	if got := w.status(); got != event.Paused {
		t.Errorf("it is %s", got)
	}
	w.reopen()
	w.do(w.conv.ResumeGoal)
	wantGoals(t, w.goalOver(), "all: running 1/5", "all: complete 2/5")
}

func TestAGoalWhoseJudgeFailsSaysWhy(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "One."), fails("LLMRateLimitError")}}, nil)
	w.pursue("all", 5)
	wantGoals(t, w.goalOver(), "all: running 0/5", "all: interrupted 0/5")
	want(t, w.rest(), "error LLMRateLimitError")
	if got := w.status(); got != event.Finished {
		t.Errorf("it is %s", got)
	}
}

// A goal waits for the person as every run does, and goes on after the decision.
func TestAGoalWaitsForConfirmation(t *testing.T) {
	t.Parallel()
	w := open(t, &model{todo: []reply{answer("r1", "", look("c1")), answer("r2", "Done."), answer("j1", `{"complete":true}`)}}, always)
	w.pursue("all", 1)
	w.rest()
	if got := w.status(); got != event.Waiting {
		t.Errorf("it is %s", got)
	}
	w.do(func(ctx context.Context) error { return w.conv.Decide(ctx, agentapi.Decision{Accept: true}) })
	wantGoals(t, w.goalOver(), "all: complete 1/1")
}

func TestAStoppedGoalLeavesItsRun(t *testing.T) {
	t.Parallel()
	asked, answering := make(chan struct{}), make(chan struct{})
	w := open(t, &model{todo: []reply{asking(asked, answering, answer("r1", "One."))}}, nil)
	w.pursue("all", 5)
	<-asked
	w.do(w.conv.StopGoal)
	close(answering)
	want(t, w.rest(), "SystemPromptEvent", "user says all", "status running", "agent says One.", "status finished")
	if n := len(w.model.requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestAGoalNeedsAnObjective(t *testing.T) {
	t.Parallel()
	w := open(t, &model{}, nil)
	if err := w.conv.StartGoal(t.Context(), " \n", 3); !errors.Is(err, agentapi.ErrRefused) {
		t.Errorf("error %v, want ErrRefused", err)
	}
	if err := w.conv.StartGoal(t.Context(), "all", 0); !errors.Is(err, agentapi.ErrRefused) {
		t.Errorf("error %v, want ErrRefused", err)
	}
}

// TestAJudgeThatHangsLeavesTheGoal waits as long as a judge may take.
func TestAJudgeThatHangsLeavesTheGoal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{})
		w := open(t, &model{todo: []reply{answer("r1", "One."), asking(asked, nil, nil)}}, nil)
		began := time.Now()
		w.pursue("all", 5)
		<-asked
		wantGoals(t, w.goalOver(), "all: running 0/5", "all: interrupted 0/5")
		want(t, w.rest(), "error ConversationRunError")
		if took := time.Since(began); took != 5*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

func TestAGoalIsRefusedWhileARunGoesOn(t *testing.T) {
	t.Parallel()
	asked, answering := make(chan struct{}), make(chan struct{})
	w := open(t, &model{todo: []reply{asking(asked, answering, answer("r1", "One."))}}, nil)
	w.add("go", true)
	<-asked
	if err := w.conv.Pursue(t.Context(), agentapi.Message{Text: "more"}, agentapi.Goal{Objective: "all", Rounds: 1}); !errors.Is(err, agentapi.ErrBusy) {
		t.Errorf("error %v, want ErrBusy", err)
	}
	close(answering)
	want(t, w.rest(), "SystemPromptEvent", "user says go", "status running", "agent says One.", "status finished")
}
