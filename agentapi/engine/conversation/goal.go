package conversation

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

// KeyGoal is the key of the state updates that tell of a goal.
const KeyGoal = "goal"

// What has become of a goal, in OpenHands' words.
const (
	goalRunning     = "running"
	goalComplete    = "complete"
	goalCapped      = "capped" // judged as often as allowed
	goalInterrupted = "interrupted"
)

var (
	//go:embed judge.md
	judgeText string
	//go:embed goal_followup.md
	followupText string
	//go:embed goal_resume.md
	resumeText string
)

// goal is an objective that is pursued: the agent runs, a judge looks at what it
// did, and the agent is told what is missing, again and again.
type goal struct {
	objective  string
	iterations int    // that are allowed
	iteration  int    // how often it was judged
	next       string // what the agent is told before it runs again; "": it has run
}

// goalJSON is a goal as it is told and stored.
type goalJSON struct {
	Active        bool     `json:"active"`
	Status        string   `json:"status"`
	Iteration     int      `json:"iteration"`
	MaxIterations int      `json:"max_iterations"`
	Objective     string   `json:"objective"`
	Verdict       *verdict `json:"verdict"`
}

// StartGoal runs the agent until a judge says that the objective is reached, at
// most so many times. Every message of the user, pause and error ends that. The
// error is agentapi.ErrBusy while something goes on.
func (c *Conversation) StartGoal(ctx context.Context, objective string, iterations int) error {
	if strings.TrimSpace(objective) == "" {
		return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The goal has no objective; say what is to be reached."}
	}
	if iterations < 1 {
		return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The goal has no iterations; allow at least one."}
	}
	return c.door.try(ctx, func() error { return c.begins(&goal{objective: objective, iterations: iterations, next: objective}) })
}

// ResumeGoal goes on with the goal that was interrupted last; control.ErrNoGoal
// without one.
func (c *Conversation) ResumeGoal(ctx context.Context) error {
	return c.door.try(ctx, func() error {
		if c.busy() {
			return errRunning
		}
		last, err := c.branch.lastGoal()
		if err != nil {
			return c.branch.storageError(err)
		}
		if last == nil || last.Status == goalComplete || last.Status == goalCapped {
			return control.ErrNoGoal
		}
		return c.begins(&goal{
			objective: last.Objective, iterations: last.MaxIterations, iteration: last.Iteration, next: strings.TrimSpace(resumeText),
		})
	})
}

func (c *Conversation) begins(g *goal) error {
	switch {
	case c.busy():
		return errRunning
	case c.branch.dir.State.Status == event.Waiting:
		return errUndecided
	}
	c.goal = g
	return c.branch.storageError(c.tellGoal(goalRunning, nil))
}

// StopGoal ends the goal. A run that goes on is left to its end. The error is
// control.ErrNoGoal where there is none.
func (c *Conversation) StopGoal(ctx context.Context) error {
	return c.door.try(ctx, func() error {
		if c.goal == nil {
			return control.ErrNoGoal
		}
		c.leaveGoal()
		return nil
	})
}

// leaveGoal interrupts the goal, if there is one, and its judge.
func (c *Conversation) leaveGoal() {
	if c.goal == nil {
		return
	}
	if c.run.job != nil && c.branch.dir.State.Status != event.Running {
		c.run.job.cancel()
	}
	c.endGoal(goalInterrupted, nil)
}

func (c *Conversation) endGoal(status string, v *verdict) {
	if err := c.tellGoal(status, v); err != nil {
		c.cfg.Log.Error("store what became of the goal", "conversation", c.branch.id, "err", err)
	}
	c.goal = nil
}

func (c *Conversation) tellGoal(status string, v *verdict) error {
	g := c.goal
	if v != nil {
		v.Missing = c.cfg.Secrets.Mask(v.Missing)
	}
	return c.branch.update(KeyGoal, goalJSON{
		Active: status == goalRunning, Status: status, Iteration: g.iteration, MaxIterations: g.iterations,
		Objective: c.cfg.Secrets.Mask(g.objective), Verdict: v,
	})
}

// pursue does the next thing for the goal: a run, or a judgement of the last one.
func (c *Conversation) pursue() {
	c.run.stopping = false
	g := c.goal
	if g.next != "" {
		err := c.tell(g)
		if err == nil {
			c.run.toEnd()
			return
		}
		c.failGoal(g, err)
		return
	}
	// A repetition is no reason to end: the judge sees it, and the agent hears so.
	if s := c.branch.dir.State.Status; s == event.Paused || s == event.Failed {
		c.endGoal(goalInterrupted, nil)
		return
	}
	v, err := c.judge(g)
	switch {
	case c.goal != g: // somebody has ended it meanwhile
	case err != nil:
		c.failGoal(g, err)
	case v.Complete:
		c.endGoal(goalComplete, &v)
	case g.iteration >= g.iterations:
		c.endGoal(goalCapped, &v)
	default:
		g.next = followup(g.iteration, v)
		if err := c.tellGoal(goalRunning, &v); err != nil {
			c.failGoal(g, err)
		}
	}
}

// failGoal ends a goal that cannot be pursued, and says why.
func (c *Conversation) failGoal(g *goal, cause error) {
	if c.goal != g {
		return
	}
	c.cfg.Log.Warn("a goal was left", "conversation", c.branch.id, "err", c.cfg.Secrets.Mask(cause.Error()))
	c.endGoal(goalInterrupted, nil)
	if c.door.closing || c.door.lost != nil {
		return
	}
	if _, err := c.branch.append(event.SourceEnvironment, conversationError(cause), durable); err != nil {
		c.cfg.Log.Error("store an error", "conversation", c.branch.id, "err", err)
	}
	if err := c.branch.changed(); err != nil {
		c.cfg.Log.Error("save conversation", "conversation", c.branch.id, "err", err)
	}
}

var errGoalLeft = errors.New("the goal was left")

// tell tells the agent what is to be done now.
func (c *Conversation) tell(g *goal) error {
	if err := c.run.ready(context.Background()); err != nil {
		return err
	}
	if c.goal != g || c.run.stopping {
		return errGoalLeft
	}
	text := g.next
	g.next = ""
	if err := errors.Join(c.branch.answerOpen(), c.agent.introduce()); err != nil {
		return err
	}
	return c.run.take(&delivery{content: texts(text), always: true})
}

// judge asks the model, with nothing but the objective and what was said and done,
// whether that is enough.
func (c *Conversation) judge(g *goal) (v verdict, err error) {
	model, was := c.branch.model, c.branch.stats.calls
	text := strings.NewReplacer("{{objective}}", g.objective, "{{transcript}}", c.agent.transcript(model.Info())).Replace(judgeText)
	req := llm.Request{Messages: []event.LLMMessage{message("user", texts(text))}, CacheKey: c.branch.id}
	var resp llm.Response
	broke := c.run.await(context.Background(), func(j *job) { resp, err = call(j.ctx, model, req, c.run.announcing(j, nil)) })
	if broke != nil {
		return v, broke
	}
	if err != nil {
		return v, err
	}
	g.iteration++
	c.branch.stats.add(model.Info(), resp, c.cfg.Now())
	if err := errors.Join(c.branch.updateStats(was), c.branch.save(lazily)); err != nil {
		return v, err
	}
	return parseVerdict(plainText(resp.Message.Content)), nil
}

// verdict is what a judge says of a goal.
type verdict struct {
	Score    float64 `json:"score"` // how sure it is that all is done, from 0 to 1
	Complete bool    `json:"complete"`
	Missing  string  `json:"missing"`
}

// parseVerdict reads a judge's answer. One that cannot be read says that nothing
// is proved: it is better to go on than to end too early.
func parseVerdict(text string) verdict {
	var in struct {
		Score    *float64 `json:"score"`
		Complete *bool    `json:"complete"`
		Missing  string   `json:"missing"`
	}
	from, to := strings.Index(text, "{"), strings.LastIndex(text, "}")
	if from < 0 || to < from || json.Unmarshal([]byte(text[from:to+1]), &in) != nil {
		return verdict{Missing: "The judge gave no verdict that can be read."}
	}
	v := verdict{Missing: in.Missing}
	if in.Score != nil {
		v.Score = min(1, max(0, *in.Score))
	}
	v.Complete = v.Score >= 1
	if in.Complete != nil {
		v.Complete = *in.Complete
	}
	return v
}

func followup(iteration int, v verdict) string {
	missing := v.Missing
	if missing == "" {
		missing = "not everything is proved yet."
	}
	return strings.TrimSpace(strings.NewReplacer("{{iteration}}", strconv.Itoa(iteration), "{{missing}}", missing).Replace(followupText))
}

// lastGoal is what the log says last of a goal; nil for nothing.
func (b *branch) lastGoal() (*goalJSON, error) {
	for i := b.dir.Len() - 1; i >= 0; i-- {
		e, _, _, err := b.dir.From(i).Next()
		if err != nil {
			return nil, err
		}
		u, ok := e.Body.(*event.StateUpdate)
		if !ok || u.Key != KeyGoal {
			continue
		}
		var g goalJSON
		if err := json.Unmarshal(u.Value, &g); err != nil || g.Objective == "" || g.MaxIterations < 1 {
			return nil, nil //nolint:nilerr // a goal that cannot be read is none
		}
		return &g, nil
	}
	return nil, nil
}
