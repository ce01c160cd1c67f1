package turn

import (
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Goal is what has become of the goal of a turn.
type Goal struct {
	Status  string `json:"status"` // one of event.Goal…
	Rounds  int    `json:"rounds"` // how often it was judged
	Most    int    `json:"most"`   // how often it may be
	Missing string `json:"missing,omitempty"`
}

// pursues reports whether a run follows each run of the turn, unless a judge says that the
// goal is reached.
func (r *Reader) pursues() bool { return r.goal != nil && r.goal.Active }

// pursued reads what has become of a goal. One that is told before the turn begins is kept:
// it may be that of the message that follows.
func (r *Reader) pursued(e event.Event, g event.Goal) []Update {
	if !r.began {
		r.told = &g
		return nil
	}
	if g.Verdict == nil && r.goal != nil {
		g.Verdict = r.goal.Verdict
	}
	r.goal = &g
	r.ends.place(e)
	r.text.boundary()
	return []Update{{Kind: Progress, Text: goalLine(g)}}
}

// adopted reads the goal that was told before the message with which the turn began. It is
// that of the turn only if the message is its objective: an agent-server sends that itself.
func (r *Reader) adopted(e event.Event, m *event.Message) []Update {
	g := r.told
	r.told = nil
	if g == nil || !g.Active || digest(m.LLMMessage.Content) != digest([]event.Content{event.Text(g.Objective)}) {
		return nil
	}
	return r.pursued(e, *g)
}

// goalLine writes what has become of a goal in one line for a person.
func goalLine(g event.Goal) string {
	missing := ""
	if g.Verdict != nil && g.Verdict.Missing != "" {
		missing = ": " + g.Verdict.Missing
	}
	line := ""
	switch {
	case g.Status == event.GoalComplete:
		line = fmt.Sprintf("Goal: reached in round %d of %d", g.Iteration, g.MaxIterations)
	case g.Status == event.GoalCapped:
		line = "Goal: not reached in " + rounds(g.Iteration) + missing
	case g.Status == event.GoalInterrupted:
		line = fmt.Sprintf("Goal: stopped after %d of %d rounds", g.Iteration, g.MaxIterations)
	case g.Iteration == 0:
		line = "Goal: " + rounds(g.MaxIterations) + " at most"
	default:
		line = fmt.Sprintf("Goal: not reached in round %d of %d%s", g.Iteration, g.MaxIterations, missing)
	}
	return shorten(line, maxLine)
}

func rounds(n int) string {
	if n == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d rounds", n)
}

// judgeless tells why a goal was left whose judge failed. The run before it was well, and
// is the end of the turn.
func (r *Reader) judgeless(e *event.ConversationError) []Update {
	if r.goal == nil || r.goal.Status != event.GoalInterrupted || r.status == event.Failed {
		return nil
	}
	why := "the judge failed: "
	if e.Code == agentapi.CodeBudget {
		why = "the limit is reached: "
	}
	return []Update{{Kind: Progress, Text: shorten("Goal: "+why+e.Detail, maxLine)}}
}

// leftForBudget reports whether the goal was left because its turn may take nothing more. The
// run before was well, and yet the turn has not done what it was to do.
func (r *Reader) leftForBudget() bool {
	return r.goal != nil && r.goal.Status == event.GoalInterrupted && r.failure != nil && r.failure.Code == agentapi.CodeBudget
}

// unjudged is all that is known of a goal that was left after a run that was well, where the
// log has no reason. That of an agent-server never has one.
const unjudged = "the judge failed, or the goal was stopped elsewhere"

// unexplained says so of a goal that was left without a reason in the log.
func (r *Reader) unexplained() []Update {
	if !r.leftUnjudged() {
		return nil
	}
	return []Update{{Kind: Progress, Text: "Goal: " + unjudged}}
}

func (r *Reader) leftUnjudged() bool {
	return r.goal != nil && r.goal.Status == event.GoalInterrupted && r.status == event.Finished && r.failure == nil && !r.halting
}

// goalEnd returns what has become of the goal; nil without one.
func (r *Reader) goalEnd() *Goal {
	if r.goal == nil {
		return nil
	}
	g := &Goal{Status: r.goal.Status, Rounds: r.goal.Iteration, Most: r.goal.MaxIterations}
	if v := r.goal.Verdict; v != nil && g.Status != event.GoalComplete {
		g.Missing = shorten(v.Missing, maxDetail)
	}
	if r.failure != nil && g.Status == event.GoalInterrupted {
		g.Missing = shorten(r.failure.Detail, maxDetail)
	}
	if r.leftUnjudged() {
		g.Missing = unjudged
	}
	return g
}
