package fakeserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// sinceGoals is the version from which on there are goals, and sinceGoalsReconciled the one
// from which on a server that starts ends those of the one before.
const (
	sinceGoals           = 1029
	sinceGoalsReconciled = 1058
)

// goal is a loop of runs, after each of which the model is asked as a judge.
type goal struct {
	event.Goal
	cancel context.CancelFunc
	done   chan struct{}
}

// startGoal begins a goal, unless something goes on.
func (s *Server) startGoal(w http.ResponseWriter, r *http.Request, c *conversation) {
	in := struct {
		Objective string `json:"objective"`
		Rounds    int    `json:"max_iterations"`
	}{Rounds: 10}
	if !decode(w, r, &in) {
		return
	}
	if strings.TrimSpace(in.Objective) == "" || in.Rounds < 1 {
		refuse(w, 400, "Goal objective must not be empty.")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run != nil || c.goal != nil {
		refuse(w, 409, "Conversation run or goal loop already running.")
		return
	}
	if !s.runs.enter() {
		refuse(w, 429, runLimit)
		return
	}
	ctx, cancel := context.WithCancel(c.life.ctx)
	g := &goal{Goal: event.Goal{Objective: in.Objective, MaxIterations: in.Rounds}, cancel: cancel, done: make(chan struct{})}
	c.goal = g
	life := c.life
	life.wg.Go(func() {
		defer close(g.done)
		defer cancel()
		c.pursue(ctx, g)
	})
	done(w)
}

// stopGoal ends the goal, if there is one, and waits for that.
func (c *conversation) stopGoal(ctx context.Context) {
	c.mu.Lock()
	g := c.goal
	c.mu.Unlock()
	if g == nil {
		return
	}
	g.cancel()
	select {
	case <-g.done:
	case <-ctx.Done():
	}
}

// pursue runs the loop. It holds room for a run that it hands to each of its runs.
func (c *conversation) pursue(ctx context.Context, g *goal) {
	life := c.life.ctx
	status, verdict, err := c.rounds(ctx, g)
	if err != nil {
		status, verdict = event.GoalInterrupted, nil
	}
	if life.Err() != nil {
		return
	}
	_ = c.report(life, g, status, verdict) // it fails only with the process
	c.mu.Lock()
	defer c.mu.Unlock()
	c.goal = nil
	c.server.runs.leave()
}

// rounds runs the agent until a judge is content, or the last round is over.
func (c *conversation) rounds(ctx context.Context, g *goal) (status string, v *event.Verdict, err error) {
	next := g.Objective
	for {
		if err := c.report(ctx, g, event.GoalRunning, v); err != nil {
			return "", nil, err
		}
		m := event.LLMMessage{Role: "user", Content: []event.Content{event.Text(next)}, ThinkingBlocks: []json.RawMessage{}}
		if _, err := c.send(ctx, m, false); err != nil {
			return "", nil, err
		}
		if ended, err := c.round(ctx); err != nil || ended == event.Paused || ended == event.Failed {
			return event.GoalInterrupted, nil, err
		}
		if v, err = c.judge(ctx, g.Objective); err != nil {
			return "", nil, err
		}
		g.Iteration++
		switch {
		case v.Complete:
			return event.GoalComplete, v, nil
		case g.Iteration >= g.MaxIterations:
			return event.GoalCapped, v, nil
		}
		next = fmt.Sprintf("The goal is NOT yet complete (audit iteration %d).\nOutstanding: %s", g.Iteration, cmp.Or(v.Missing, "Some requirements are not yet verified."))
	}
}

// report logs what became of the goal, as soon as no step holds the lock.
func (c *conversation) report(ctx context.Context, g *goal, status string, v *event.Verdict) error {
	if err := c.hold(ctx); err != nil {
		return err
	}
	defer c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	g.Active, g.Status, g.Verdict = status == event.GoalRunning, status, v
	c.update(event.KeyGoal, g.Goal)
	return nil
}

// round runs the agent and gives the status that it ends with.
func (c *conversation) round(ctx context.Context) (event.Status, error) {
	c.mu.Lock()
	if c.life == nil {
		c.mu.Unlock()
		return "", errors.New("killed")
	}
	if c.run == nil {
		c.begin()
	}
	r := c.run
	c.mu.Unlock()
	select {
	case <-r.done: // it has left the room
		c.server.runs.n.Add(1)
	case <-ctx.Done():
		<-r.done
		c.server.runs.n.Add(1)
		return "", ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status, nil
}

// judge asks the model.
func (c *conversation) judge(ctx context.Context, objective string) (*event.Verdict, error) {
	c.mu.Lock()
	text, _ := json.Marshal(c.messages()[1:]) // they came as JSON
	usage, prompt := c.llm.UsageID, Prompt{Model: c.llm.Model, BaseURL: c.llm.BaseURL, Key: c.llm.Key}
	c.mu.Unlock()
	prompt.Messages = []Message{
		{Role: "system", Content: []event.Content{event.Text("You are auditing whether a long-running GOAL has been COMPLETED.")}},
		{Role: "user", Content: []event.Content{event.Text("<objective>\n" + objective + "\n</objective>\n\n<transcript>\n" + string(text) + "\n</transcript>")}},
	}
	reply, err := c.server.opts.Model(ctx, prompt, func(string) {})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(usage, prompt.Model, reply.Usage)
	v := event.Verdict{}
	from, to := strings.Index(reply.Text, "{"), strings.LastIndex(reply.Text, "}")
	if from < 0 || to < from || json.Unmarshal([]byte(reply.Text[from:to+1]), &v) != nil {
		v = event.Verdict{Missing: "Judge verdict could not be parsed."}
	}
	return &v, nil
}

// reconcile ends a goal of the process before. It is called with mu held.
func (c *conversation) reconcile() {
	if c.server.version < sinceGoalsReconciled {
		return
	}
	for i := len(c.log) - 1; i >= 0; i-- {
		g, ok := c.log[i].Goal()
		if !ok {
			continue
		}
		if g.Active {
			g.Active, g.Status, g.Verdict = false, event.GoalInterrupted, nil
			c.update(event.KeyGoal, g)
		}
		return
	}
}
