// Package conversation is one conversation of the embedded engine while it is
// open: its goroutine, the run loop, and those who watch.
//
// One goroutine owns everything: the directory, the view, the state. It takes
// commands at any time, also while a model's call or a batch of tools is under
// way in a goroutine of its own, because it waits for that and for commands
// alike. So nothing here is locked, and a log never has an event between two
// that belong together: a message that comes during a step waits for its end.
//
// A [Conversation] has parts. Each knows only those before it, and changes only
// itself:
//
//   - door: what other goroutines talk to. door.try is their only way in.
//   - live: those who watch, and what they get beside the log.
//   - shelf, notices: the messages and the notices that wait for the log.
//   - lease: the hold that this process has on the directory.
//   - branch: the log, and the state that follows from it.
//   - agent: what answers, and the requests that it is sent.
//   - run: what goes on, and its phase.
//   - pursuit: the goal, for which runs follow each other.
//
// Not here: how a directory is written (package store), what the model is
// shown (view, prompt), how a model or a tool works (llm, tool).
package conversation

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/asks"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/spending"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/watch"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Conversation is an open conversation. Its methods may be called at the same
// time.
type Conversation struct {
	cfg     *Config
	door    *door
	live    *live
	shelf   *shelf
	notices *notices
	lease   *lease
	branch  *branch
	agent   *agent
	run     *run
	pursuit *pursuit
	purse   *spending.Purse // run's, for tools, too
}

// Open makes the directory's conversation live, repairing what a crash has
// left. It returns when the goroutine runs; Close ends it.
func Open(cfg Config) (*Conversation, error) {
	if cfg.Concurrency < 1 {
		cfg.Concurrency = 1
	}
	if cfg.Grace == 0 {
		cfg.Grace = 10 * time.Second
	}
	if cfg.RunEnded == nil {
		cfg.RunEnded = func() {}
	}
	if cfg.Memory == nil {
		cfg.Memory = new(atomic.Int64)
	}
	c := assembled(&cfg)
	if err := c.branch.load(cfg.Model.Usage); err != nil {
		return nil, err
	}
	if err := c.shelf.load(c.door.receive); err != nil {
		return nil, err
	}
	c.branch.weigh()
	c.door.serving.Go(c.serve)
	return c, nil
}

// assembled is a conversation of its parts, which has read nothing yet.
func assembled(cfg *Config) *Conversation {
	c, d, a := new(Conversation), newDoor(), new(agent)
	l, s, n := &live{cfg: cfg, id: cfg.Dir.State.ID}, &shelf{cfg: cfg, dir: cfg.Dir}, new(notices)
	h := &lease{cfg: cfg, dir: cfg.Dir, door: d}
	waits := new(asks.Set)
	b := newBranch(cfg, d, l, n, waits, a.toolMemory)
	*a = agent{cfg: cfg, live: l, branch: b, choice: cfg.Model}
	u := spending.NewPurse(b.stats.Took)
	r := &run{cfg: cfg, host: host{c}, door: d, live: l, shelf: s, notices: n, lease: h, branch: b, agent: a, asks: waits, purse: u}
	p := &pursuit{cfg: cfg, door: d, branch: b, agent: a, run: r, purse: u}
	*c = Conversation{cfg: cfg, door: d, live: l, shelf: s, notices: n, lease: h, branch: b, agent: a, run: r, pursuit: p, purse: u}
	return c
}

// Status is where the conversation stands.
func (c *Conversation) Status(ctx context.Context) (s event.Status, err error) {
	err = c.door.try(ctx, func() error { s = c.branch.dir.State.Status; return nil })
	return s, err
}

// State is the state now.
func (c *Conversation) State(ctx context.Context) (event.State, error) {
	var s event.State
	err := c.door.try(ctx, func() error { s = c.branch.state(); return nil })
	return s, err
}

// Profile is the name of the profile that answers next.
func (c *Conversation) Profile(ctx context.Context) (profile string, err error) {
	err = c.door.try(ctx, func() error { profile = c.agent.choice.Profile; return nil })
	return profile, err
}

// Watch opens a stream; see [agentapi.Conversation].
func (c *Conversation) Watch(ctx context.Context, after string) (*watch.Stream, error) {
	var s *watch.Stream
	err := c.door.try(ctx, func() (err error) {
		s, err = c.branch.watch(after)
		return err
	})
	return s, err
}

// Send takes a message of the user and starts a run. While a step of a run
// goes on, it waits for its end: the message follows that step in the log and
// is answered by the same run.
func (c *Conversation) Send(ctx context.Context, m agentapi.Message) error {
	return c.send(ctx, m, nil)
}

// send does what Send does; a goal is nil where the message has none.
func (c *Conversation) send(ctx context.Context, m agentapi.Message, g *goal) error {
	d := &delivery{ctx: ctx, content: m.Content(), run: true, goal: g, meter: m.Meter, taken: make(chan error, 1)}
	err := c.door.try(ctx, func() error {
		if g != nil && c.run.goesOn() {
			return errRunning // which would answer the message, and knows no goal
		}
		c.pursuit.leave() // every message of the user ends it
		c.door.receive(d)
		return nil
	})
	if err != nil {
		return err
	}
	return c.door.delivered(d)
}

// Decide answers actions that wait for a confirmation.
func (c *Conversation) Decide(ctx context.Context, d agentapi.Decision) error {
	return c.door.try(ctx, func() error {
		err := c.run.decide(d)
		if g := c.pursuit.goal; err == nil && d.Accept && g != nil && g.turn {
			err = c.pursuit.begin(g)
		}
		return err
	})
}

// Interrupt stops the run at once, and ends the goal.
func (c *Conversation) Interrupt(ctx context.Context) error {
	return c.door.try(ctx, func() error {
		c.pursuit.leave()
		switch {
		case c.branch.dir.State.Status == event.Running:
			c.run.stop()
		case c.run.beginning: // There is no step yet.
			c.run.pause()
		}
		return nil
	})
}

// Pause ends the run after the step in flight.
func (c *Conversation) Pause(ctx context.Context) error {
	return c.door.try(ctx, func() error {
		if c.run.beginning || c.branch.dir.State.Status == event.Running {
			c.run.pause()
		}
		return nil
	})
}

// Switch makes the following calls of the model go to another profile, and
// gives the name of its model.
func (c *Conversation) Switch(ctx context.Context, profile string) (string, error) {
	var choice Choice
	var agent json.RawMessage
	if err := c.door.try(ctx, func() error { choice, agent = c.agent.choice, c.branch.dir.State.Agent; return nil }); err != nil {
		return "", err
	}
	next := choice
	if choice.Profile != profile {
		var err error
		if next, agent, err = c.cfg.Models.Switched(ctx, agent, profile); err != nil {
			return "", err
		}
	}
	model, err := c.cfg.Models.Model(ctx, next)
	if err != nil || next == choice {
		return name(model), err
	}
	if err := c.door.try(ctx, func() error { return c.agent.use(next, agent, model) }); err != nil {
		return "", err
	}
	return name(model), nil
}

// Log is the log as it is now. It may be read by anybody.
func (c *Conversation) Log(ctx context.Context) (log store.Log, err error) {
	err = c.door.try(ctx, func() error { log = c.branch.dir.From(0); return nil })
	return log, err
}

// Choice is what answers next.
func (c *Conversation) Choice(ctx context.Context) (choice Choice, err error) {
	err = c.door.try(ctx, func() error { choice = c.agent.choice; return nil })
	return choice, err
}

// SwitchOwn makes the following calls go to a model of the conversation's own; change
// makes the stored agent the one with that model.
func (c *Conversation) SwitchOwn(ctx context.Context, usage string, change func(agent json.RawMessage) (json.RawMessage, error)) error {
	next := Choice{Usage: usage}
	model, err := c.cfg.Models.Model(ctx, next)
	if err != nil {
		return err
	}
	return c.door.try(ctx, func() error {
		agent, err := change(c.branch.dir.State.Agent)
		if err != nil {
			return err
		}
		return c.agent.use(next, agent, model)
	})
}

// Confirm makes the following actions wait for a person as the mode says.
func (c *Conversation) Confirm(ctx context.Context, mode agentapi.Confirmation) error {
	return c.door.try(ctx, func() error { return c.branch.confirm(mode) })
}

// name is the model's name, empty without one.
func name(m llm.Model) string {
	if m == nil {
		return ""
	}
	return m.Info().Model
}

// Record is the state now, and meta.json.
func (c *Conversation) Record(ctx context.Context) (s store.State, meta store.RawMeta, err error) {
	err = c.door.try(ctx, func() (err error) {
		s, meta, err = c.branch.stored()
		return err
	})
	return s, meta, err
}

// Change has change change what the directory holds besides its log.
func (c *Conversation) Change(ctx context.Context, change func(*store.Dir) error) error {
	return c.door.try(ctx, func() error { return change(c.branch.dir) })
}

// Fork returns the state and the events with which a copy of this conversation,
// up to and including the event from, begins; see [store.Dir.Fork].
func (c *Conversation) Fork(ctx context.Context, id, from string) (s store.State, events []event.Event, err error) {
	err = c.door.try(ctx, func() (err error) {
		s, events, err = c.branch.fork(id, from)
		return err
	})
	return s, events, err
}

// invoked notes that the model has read a skill.
func (b *branch) invoked(skill string) {
	s := &b.dir.State
	if !slices.Contains(s.InvokedSkills, skill) {
		s.InvokedSkills = append(s.InvokedSkills, skill)
	}
}
