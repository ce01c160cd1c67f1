// Package conversation is one conversation of the embedded engine while it is
// open: its goroutine, the run loop, and those who watch.
//
// One goroutine owns everything: the directory, the view, the state. It takes
// commands at any time, also while a model's call or a batch of tools is under
// way in a goroutine of its own, because it waits for that and for commands
// alike. So nothing here is locked, and a log never has an event between two
// that belong together: a message that comes during a step waits for its end.
//
// Not here: how a directory is written (package store), what the model is
// shown (view, prompt), how a model or a tool works (llm, tool).
package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// PromptSize is how much the agent is told about its work and its tools.
type PromptSize string

// The sizes.
const (
	AutoPrompt  PromptSize = ""      // by the context that the model's server gives it
	FullPrompt  PromptSize = "full"  // about 4,000 tokens with the usual tools
	SmallPrompt PromptSize = "small" // below 1,500
)

// Config is what a conversation needs of the engine. Every field without a
// default is required.
type Config struct {
	Dir    *store.Dir
	Models Models
	// Model says which model answers when the conversation is opened.
	Model Choice
	// PromptSize says how much the agent is told; the zero value: AutoPrompt.
	PromptSize PromptSize
	// Condenser says when the history is too long; the zero value: never.
	Condenser condenser.Settings
	// Tools makes the conversation's tools; it is called once, before the
	// first message is taken.
	Tools func(ctx context.Context, host Host) ([]tool.Tool, error)
	// Schemas are shared with other conversations. May be nil.
	Schemas *tool.Schemas
	// Secrets are masked in all that is stored, shown to the model and told to
	// watchers. May be nil.
	Secrets *secretenv.Registry
	// Prompt is what the agent is told besides its history.
	Prompt Prompt
	// Hooks are told of what happens, and may refuse it. May be nil.
	Hooks *hook.Runner
	// Concurrency is how many calls of one answer may run at once. Default: 1.
	Concurrency int
	// Titles has the model find a title for a new conversation.
	Titles bool
	// MaxCost ends a run when the conversation has cost that much, in US
	// dollars. 0: no limit.
	MaxCost float64
	// MaxRunCost ends a run when that run has cost that much. 0: no limit.
	MaxRunCost float64
	// RunEnded is told that a run has ended. It must not wait for the
	// conversation. May be nil.
	RunEnded func()
	// Memory is kept at what the conversation holds in memory, in bytes: an
	// estimate by what its model is shown. May be nil.
	Memory *atomic.Int64
	// Grace is how long an interrupted call or tool may take to obey before it
	// is left alone. Default: 10 s.
	Grace time.Duration
	Now   func() time.Time
	NewID func() string
	Log   *slog.Logger
}

// Choice is a profile and the key of its numbers in the statistics.
type Choice struct{ Profile, Usage string }

// Models gives the models that profiles stand for. Its errors are
// [agentapi.Error]s.
type Models interface {
	// Model is the model as its profile is now. It is asked at the beginning of
	// each run, so a model must not be made again for an unchanged profile.
	Model(ctx context.Context, c Choice) (llm.Model, error)
	// Switched is the choice of a profile in a conversation that used another,
	// and the stored agent with that profile's model.
	Switched(ctx context.Context, agent json.RawMessage, profile string) (Choice, json.RawMessage, error)
}

// Prompt is what the agent is told besides its history.
type Prompt interface {
	// System is what a SystemPromptEvent holds besides the tools; dynamic may
	// be empty.
	System(tools []tool.Definition, model string) (static, dynamic string)
	// Small is System for a model with a small context.
	Small(tools []tool.Definition, model string) (static, dynamic string)
	// Message finds what belongs to a message of the user: the contents of the
	// skills that it triggers, without those that are active already.
	Message(text string, active []string) (extended []event.Content, activated []string)
	// Path finds the rules for a file that a tool looked at.
	Path(path string, active []string) (extended []event.Content, activated []string)
}

// Host is what tools may ask of their conversation while they run.
type Host interface {
	// Switch makes the next call of the model go to another profile, and gives
	// the name of its model.
	Switch(ctx context.Context, profile string) (model string, err error)
	// SwitchOwn is Switch to a model of the conversation's own.
	SwitchOwn(ctx context.Context, usage string, change func(agent json.RawMessage) (json.RawMessage, error)) error
	// Recent is what the last n messages say.
	Recent(ctx context.Context, n int) (string, error)
	// Consult asks a model something that is not part of the conversation.
	Consult(ctx context.Context, choice Choice, system, user string) (string, error)
	// SkillInvoked records that the model has read a skill.
	SkillInvoked(ctx context.Context, name string) error
	// Notice tells the model and the person something about the agent's
	// surroundings, with the next message of the user, once in a conversation.
	Notice(text string)
	// Blocked tells the model and those who watch what a box has refused. It does
	// not wait, and may be called at any time.
	Blocked(b sandbox.Block)
	// ExplainPaths says how to find out whether a path that a command failed at is
	// refused. What it says is told, and nothing is decided by it.
	ExplainPaths(explain func(path string) (sandbox.Block, bool))
	// Vision reports whether the model that answers next is shown images.
	Vision() bool
	// Progress tells those who watch a line about what a tool is doing.
	Progress(line string)
	// Spent replaces what the statistics have under a key by the sum of others.
	Spent(ctx context.Context, key string, s event.Stats) error
	// Stored is the state as it is stored.
	Stored(ctx context.Context) (store.State, error)
	// ReplaceMCP offers other tools in the place of those of MCP servers, from
	// the next step on. It does not wait for it.
	ReplaceMCP(tools []tool.Tool)
}

// Conversation is an open conversation. Its methods may be called at the same
// time.
type Conversation struct {
	cfg     *Config
	door    *door
	branch  *branch
	agent   *agent
	run     *run
	pursuit *pursuit
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
	c := &Conversation{cfg: &cfg, door: newDoor(), agent: &agent{cfg: &cfg, choice: cfg.Model}}
	c.branch = newBranch(c.cfg, c.door, c.agent.toolMemory)
	c.agent.branch = c.branch
	c.run = &run{cfg: c.cfg, host: c, door: c.door, branch: c.branch, agent: c.agent}
	c.pursuit = &pursuit{cfg: c.cfg, door: c.door, branch: c.branch, agent: c.agent, run: c.run}
	if err := c.branch.load(cfg.Model.Usage); err != nil {
		return nil, err
	}
	if err := c.branch.loadWaiting(); err != nil {
		return nil, err
	}
	c.branch.weigh()
	c.door.serving.Go(c.serve)
	return c, nil
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
func (c *Conversation) Watch(ctx context.Context, after string) (*Stream, error) {
	var s *Stream
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
	d := &delivery{ctx: ctx, content: m.Content(), run: true, taken: make(chan error, 1)}
	err := c.door.try(ctx, func() error {
		c.pursuit.leave() // every message of the user ends it
		c.door.inbox = append(c.door.inbox, d)
		return nil
	})
	if err != nil {
		return err
	}
	return c.door.delivered(d)
}

// Decide answers actions that wait for a confirmation.
func (c *Conversation) Decide(ctx context.Context, d agentapi.Decision) error {
	return c.door.try(ctx, func() error { return c.run.decide(d) })
}

// Interrupt stops the run at once.
func (c *Conversation) Interrupt(ctx context.Context) error {
	return c.door.try(ctx, func() error {
		if c.branch.dir.State.Status == event.Running {
			c.run.stop()
		}
		return nil
	})
}

// Pause ends the run after the step in flight.
func (c *Conversation) Pause(ctx context.Context) error {
	return c.door.try(ctx, func() error {
		if c.branch.dir.State.Status == event.Running {
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
		s, meta = c.branch.dir.State, c.branch.dir.Meta()
		s.Stats, err = c.branch.stats.stored()
		s = s.Clone()
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
		s, events, err = c.branch.dir.Fork(id, from)
		return err
	})
	return s, events, err
}

// Notice adds a notice for the model and the person to the next message.
func (c *Conversation) Notice(text string) {
	// Nobody is told by a conversation that is closed.
	_ = c.door.try(context.Background(), func() error { c.branch.notices = append(c.branch.notices, text); return nil })
}

// SkillInvoked records that the model has read a skill.
func (c *Conversation) SkillInvoked(ctx context.Context, name string) error {
	return c.door.try(ctx, func() error {
		s := &c.branch.dir.State
		if !slices.Contains(s.InvokedSkills, name) {
			s.InvokedSkills = append(s.InvokedSkills, name)
		}
		return nil
	})
}

// Close interrupts a run, ends the tools and lets the directory go.
func (c *Conversation) Close() error {
	return c.end(errClosed, func() error { return c.branch.dir.Close() })
}

// CloseForChange is Close, where the conversation is opened again as soon as its directory
// was changed. Its handles and streams end with control.ErrReopened.
func (c *Conversation) CloseForChange() error {
	return c.end(errReopened, func() error { return c.branch.dir.Close() })
}

// Remove does what Close does, and deletes the directory.
func (c *Conversation) Remove() error {
	return c.end(errRemoved, func() error { return c.branch.dir.Remove() })
}

// end ends the goroutine and its workers. It waits for each of them for the grace
// of the configuration and a little more: a tool or a disk that does not obey
// keeps what it holds, and nobody else waits for it. why is what those hear who use it.
func (c *Conversation) end(why *agentapi.Error, last func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.Grace+endWait)
	defer cancel()
	// Nobody else ends the goroutine but a lost lease or a panic, which is fine too.
	_ = c.door.try(ctx, func() error {
		c.door.close()
		c.door.ended = why
		c.run.stop()
		return nil
	})
	if !ends(ctx, &c.door.serving) {
		go func() { // the directory is the goroutine's until it has ended
			c.door.serving.Wait()
			if err := last(); err != nil {
				c.cfg.Log.Warn("close conversation", "conversation", c.branch.id, "err", err)
			}
		}()
		return fmt.Errorf("conversation %s does not end: it is waiting for the disk or for a tool", c.branch.id)
	}
	ctx, cancel = context.WithTimeout(context.Background(), c.cfg.Grace+endWait)
	defer cancel()
	if !ends(ctx, &c.door.workers) {
		c.cfg.Log.Error("an LLM call or a tool did not stop and was abandoned", "conversation", c.branch.id)
	}
	if !ends(ctx, &c.door.closers) { // on a busy machine a shell may need longer
		c.cfg.Log.Warn("the conversation's tools are still being closed", "conversation", c.branch.id)
	}
	return last()
}

// endWait is how long the end of a conversation may take beyond the grace of
// what it interrupts.
const endWait = 2 * time.Second

// ends waits for a group until ctx ends.
func ends(ctx context.Context, group *sync.WaitGroup) bool {
	over := make(chan struct{})
	go func() {
		group.Wait()
		close(over)
	}()
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// Ended reports whether the conversation has ended by itself: another process
// has taken it, or it broke. It can be closed, and opened again.
func (c *Conversation) Ended() bool { return c.door.over() }
