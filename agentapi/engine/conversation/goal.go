package conversation

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/failure"
	"github.com/ohgw/ohgw/agentapi/engine/judge"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/spending"
	"github.com/ohgw/ohgw/agentapi/event"
)

// KeyGoal is the key of the state updates that tell of a goal.
const KeyGoal = event.KeyGoal

// judgeWait bounds a judgement. A judge that hangs leaves the goal.
const judgeWait = 5 * time.Minute

// goal is an objective that is pursued: the agent runs, a judge looks at what it
// did, and the agent is told what is missing, again and again.
type goal struct {
	objective  string
	iterations int    // that are allowed
	iteration  int    // how often it was judged
	next       string // what the agent is told before it runs again; "": it has run
	turn       bool   // it is that of a message, whose turn ends with it
}

// pursuit has the goal of a conversation. It is above the run, which knows no goal: a
// run for a goal is a run like any other.
type pursuit struct {
	cfg    *Config
	door   *door
	branch *branch
	agent  *agent
	run    *run
	purse  *spending.Purse // that of the run
	goal   *goal           // nil: none
}

// StartGoal runs the agent until a judge says that the objective is reached, at
// most so many times. Every message of the user, pause and error ends that. The
// error is agentapi.ErrBusy while something goes on.
func (c *Conversation) StartGoal(ctx context.Context, objective string, iterations int) error {
	if err := valid(objective, iterations); err != nil {
		return err
	}
	return c.door.try(ctx, func() error {
		return c.pursuit.begin(&goal{objective: objective, iterations: iterations, next: objective})
	})
}

// Pursue takes a message of the user like Send, and runs the agent until a judge says that
// the goal of the message is reached.
func (c *Conversation) Pursue(ctx context.Context, m agentapi.Message, g agentapi.Goal) error {
	if err := valid(g.Objective, g.Rounds); err != nil {
		return err
	}
	return c.send(ctx, m, &goal{objective: g.Objective, iterations: g.Rounds, turn: true})
}

// valid refuses a goal that cannot be pursued.
func valid(objective string, iterations int) error {
	if strings.TrimSpace(objective) == "" {
		return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The goal has no objective; say what is to be reached."}
	}
	if iterations < 1 {
		return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The goal has no iterations; allow at least one."}
	}
	return nil
}

// ResumeGoal continues the goal that was interrupted last, or returns control.ErrNoGoal
// without one.
func (c *Conversation) ResumeGoal(ctx context.Context) error {
	return c.door.try(ctx, func() error {
		if c.pursuit.busy() {
			return errRunning
		}
		last, err := c.pursuit.last()
		if err != nil {
			return c.branch.storageError(err)
		}
		if last == nil || last.Status == event.GoalComplete || last.Status == event.GoalCapped {
			return control.ErrNoGoal
		}
		return c.pursuit.begin(&goal{
			objective: last.Objective, iterations: last.MaxIterations, iteration: last.Iteration, next: judge.Resume(),
		})
	})
}

// begin makes a goal that of the conversation. For that of a message, the message was taken;
// it is told again where a person has let its run go on: who follows that run alone finds
// that it is not the last.
func (p *pursuit) begin(g *goal) error {
	switch {
	case g.turn:
	case p.busy():
		return errRunning
	case p.branch.dir.State.Status == event.Waiting:
		return errUndecided
	}
	p.goal = g
	return p.branch.storageError(p.report(event.GoalRunning, nil))
}

// StopGoal ends the goal. A run that goes on is left to its end. The error is
// control.ErrNoGoal where there is none.
func (c *Conversation) StopGoal(ctx context.Context) error {
	return c.door.try(ctx, func() error {
		if c.pursuit.goal == nil {
			return control.ErrNoGoal
		}
		c.pursuit.leave()
		return nil
	})
}

// leave interrupts the goal, if there is one, and its judge.
func (p *pursuit) leave() {
	if p.goal == nil {
		return
	}
	g := p.goal
	if p.run.job != nil && p.branch.dir.State.Status != event.Running {
		p.run.job.cancel()
	}
	p.end(event.GoalInterrupted, nil)
	p.over(g)
}

// over publishes the state behind the end of the goal of a message, with which its turn
// ends. A run that goes on does that itself.
func (p *pursuit) over(g *goal) {
	if g.turn && p.branch.dir.State.Status != event.Running {
		p.branch.publishState()
	}
}

func (p *pursuit) end(status string, v *judge.Verdict) {
	if err := p.report(status, v); err != nil {
		p.cfg.Log.Error("store what became of the goal", "conversation", p.branch.id, "err", err)
	}
	p.goal = nil
	p.purse.EndGoal()
}

func (p *pursuit) report(status string, v *judge.Verdict) error {
	g := p.goal
	if v != nil {
		v.Missing = p.cfg.Secrets.Mask(v.Missing)
	}
	return p.branch.update(KeyGoal, event.Goal{
		Active: status == event.GoalRunning, Status: status, Iteration: g.iteration, MaxIterations: g.iterations,
		Objective: p.cfg.Secrets.Mask(g.objective), Verdict: v,
	})
}

// advance does the next thing for the goal: a run, or a judgement of the last one.
func (p *pursuit) advance() {
	p.run.beginWork()
	g := p.goal
	if g.next != "" {
		err := p.instruct(g)
		if err == nil {
			p.run.toEnd()
			return
		}
		p.fail(g, err)
		return
	}
	// A repetition does not end the goal: the judge sees it, and the agent is told of it.
	if s := p.branch.dir.State.Status; s == event.Paused || s == event.Failed {
		p.end(event.GoalInterrupted, nil)
		p.over(g)
		return
	}
	var v judge.Verdict
	err := overBudget(p.purse.UsedUp())
	if err == nil {
		v, err = p.judge(g)
	}
	switch {
	case p.goal != g: // a client has ended the goal meanwhile
	case err != nil:
		p.fail(g, err)
	case v.Complete:
		p.end(event.GoalComplete, &v)
		p.over(g)
	case g.iteration >= g.iterations:
		p.end(event.GoalCapped, &v)
		p.over(g)
	default:
		g.next = judge.Followup(g.iteration, v)
		if err := p.report(event.GoalRunning, &v); err != nil {
			p.fail(g, err)
		}
	}
}

// fail ends a goal that cannot be pursued, and says why.
func (p *pursuit) fail(g *goal, cause error) {
	if p.goal != g {
		return
	}
	p.cfg.Log.Warn("a goal was left", "conversation", p.branch.id, "err", p.cfg.Secrets.Mask(cause.Error()))
	p.end(event.GoalInterrupted, nil)
	defer p.over(g)
	if p.door.life != alive {
		return
	}
	if _, err := p.branch.append(event.SourceEnvironment, failure.Event(cause), durable); err != nil {
		p.cfg.Log.Error("store an error", "conversation", p.branch.id, "err", err)
	}
	if err := p.branch.changed(); err != nil {
		p.cfg.Log.Error("save conversation", "conversation", p.branch.id, "err", err)
	}
}

var (
	errGoalLeft  = errors.New("the goal was left")
	errSlowJudge = &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The judge did not answer within 5 minutes."}
)

// instruct appends the message that says what is to be done now.
func (p *pursuit) instruct(g *goal) error {
	if err := p.run.ready(context.Background()); err != nil {
		return err
	}
	if p.goal != g || p.run.phase == stopping {
		return errGoalLeft
	}
	text := g.next
	g.next = ""
	if err := errors.Join(p.branch.answerOpen(), p.agent.introduce()); err != nil {
		return err
	}
	return p.run.take(&delivery{content: texts(text), always: true})
}

// judge asks the model, with nothing but the objective and what was said and done,
// whether that is enough.
func (p *pursuit) judge(g *goal) (v judge.Verdict, err error) {
	model, was := p.branch.model, p.branch.stats.Calls()
	text := judge.Question(g.objective, p.agent.transcript(model.Info()))
	req := llm.Request{Messages: []event.LLMMessage{message("user", texts(text))}, CacheKey: p.branch.id}
	var resp llm.Response
	broke := p.run.await(context.Background(), func(j *job) {
		limited, cancel := context.WithTimeoutCause(j.ctx, judgeWait, errSlowJudge)
		defer cancel()
		if resp, err = call(limited, model, req, p.run.announcing(j, nil)); err != nil && errors.Is(context.Cause(limited), errSlowJudge) {
			err = errSlowJudge
		}
	})
	if broke != nil {
		return v, broke
	}
	p.branch.spent(model, &resp, err)
	if err != nil {
		return v, errors.Join(err, p.branch.updateStats(was))
	}
	g.iteration++
	if err := errors.Join(p.branch.updateStats(was), p.branch.save(lazily)); err != nil {
		return v, err
	}
	return judge.Parse(plainText(resp.Message.Content)), nil
}

// last finds what the log says last of a goal; nil for nothing.
func (p *pursuit) last() (*event.Goal, error) {
	for i := p.branch.dir.Len() - 1; i >= 0; i-- {
		e, _, _, err := p.branch.dir.From(i).Next()
		if err != nil {
			return nil, err
		}
		u, ok := e.Body.(*event.StateUpdate)
		if !ok || u.Key != KeyGoal {
			continue
		}
		if g, ok := e.Goal(); ok && g.Objective != "" && g.MaxIterations >= 1 {
			return &g, nil
		}
		return nil, nil // a goal that cannot be read is not one
	}
	return nil, nil
}

// busy reports whether the log is about to grow.
func (p *pursuit) busy() bool {
	return p.run.job != nil || p.door.wanted || len(p.door.inbox) > 0 || p.goal != nil || p.branch.dir.State.Status == event.Running
}
