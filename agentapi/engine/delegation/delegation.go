// Package delegation gives tasks of an agent to sub-agents. Each task is a conversation of its
// own, below the directory of its parent; the package makes and resumes it, runs one turn, and
// charges the parent with what it costs. It opens no conversation itself: see [Opener].
package delegation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/modelset"
	"github.com/ohgw/ohgw/agentapi/engine/pluginset"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/subagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/vault"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Config is what conversations with sub-agents share. Home and Base may be empty.
type Config struct {
	Home, Base string // of the user, and OpenHands' directory of the user
	Profiles   modelset.Profiles
	Plugins    *pluginset.Set
	Vault      *vault.Vault
	// Member puts together an agent that is a member of a team, by its profile. system is
	// what the client of the conversation says to agents.
	Member func(ctx context.Context, profile, workspace, system string) (Member, error)
	// Box makes a box of a sub-agent in which ohgw itself runs git, with the environment of
	// programs there. The sub-agent has no other box at that time.
	Box     func(ctx context.Context, at Place) (sandbox.Box, []string, error)
	Options store.Options
	Now     func() time.Time
	NewID   func() string
	Log     *slog.Logger
}

// Place is what a box of a sub-agent is made for.
type Place struct {
	Conversation, Dir string // of the sub-agent
	Workspace         string
	Shown             []string // directories without links that the box shows, read-only
}

// Env is a conversation that has sub-agents.
type Env struct {
	Conversation string // its id
	Dir          string // its directory
	Workspace    string
	Agent        storedagent.Agent // what of it says which tools it has
	Shown        []string          // directories of its plugins, which its box shows
	Host         conversation.Host
	Team         *team.Team  // whose members are its only sub-agents; nil: there is no team
	Panel        *team.Panel // has all of them answer each message; nil: they do not
	ReadOnly     bool        // programs do not change the workspace
}

// Opener makes the conversation of an open directory, and a handle on it.
type Opener interface {
	// shown are directories without links that its box shows, read-only.
	OpenDir(ctx context.Context, dir *store.Dir, req agentapi.OpenRequest, shown ...string) (agentapi.Conversation, *conversation.Conversation, error)
}

// Delegation makes the tool by which an agent gives tasks to sub-agents, and copies the
// conversations of tasks.
type Delegation struct{ cfg Config }

// New makes a delegation.
func New(cfg Config) *Delegation { return &Delegation{cfg} }

// subagents is where the conversations of sub-agents are, below that of the parent.
const subagents = "subagents"

// taskUsage begins the key of a task in the statistics.
const taskUsage = "task:"

// tasks are the sub-agents of one conversation.
type tasks struct {
	cfg    Config
	env    Env
	open   Opener
	root   string
	agents []definition.Definition

	mu    sync.Mutex
	known map[string]*taskState // by the id of the task
	last  int                   // number of a task, once one was begun
}

// taskState is one task.
type taskState struct {
	conversation string
	agent        string
	busy         bool
	call         string // the mark of the parent's call that waits with it for a person; "": none does
}

// Tool makes the tool task of a conversation; nil if its agent does not have it, or is a
// sub-agent. open opens the conversations of tasks.
func (l *Delegation) Tool(ctx context.Context, e Env, open Opener) tool.Tool {
	if !storedagent.HasTasks(e.Agent) || filepath.Base(filepath.Dir(e.Dir)) == subagents {
		return nil
	}
	t := &tasks{cfg: l.cfg, env: e, open: open, root: filepath.Join(e.Dir, subagents), known: make(map[string]*taskState)}
	if e.Team != nil {
		return t.ofTeam(ctx)
	}
	found, problems := definition.Load(ctx, definition.Dirs(e.Workspace, l.cfg.Home, l.cfg.Base)...)
	for _, p := range problems {
		l.cfg.Log.Warn("an agent definition has a problem", "conversation", e.Conversation, "file", p.Path, "line", p.Line, "err", p.Msg)
	}
	t.agents = l.cfg.Plugins.Agents(e.Conversation)
	for _, d := range append(found, subagent.Builtin()...) {
		if !slices.ContainsFunc(t.agents, func(f definition.Definition) bool { return f.Name == d.Name }) {
			t.agents = append(t.agents, d)
		}
	}
	t.recall()
	return &subagent.Task{Agents: t.agents, Do: t.do}
}

// recall finds the tasks that there were when the conversation was open before.
func (t *tasks) recall() {
	entries, err := os.ReadDir(t.root)
	if err != nil {
		return // there were none
	}
	for _, entry := range entries {
		id, err := uuid.Parse(entry.Name())
		if err != nil {
			continue
		}
		if state, err := store.Peek(t.root, id); err == nil && state.Tags[tag.Task] != "" {
			known := &taskState{conversation: id, agent: state.Tags[tag.Subagent]}
			if state.Status == event.Waiting {
				known.call = state.Tags[tag.Call]
			}
			t.known[state.Tags[tag.Task]] = known
		}
	}
}

// begin finds the task of a call, or makes one.
func (t *tasks) begin(agent, resume string) (id string, state *taskState, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if resume == "" {
		if t.last == 0 { // a number that was given is never given again
			t.last = t.highestTask()
			for id := range t.known {
				t.last = max(t.last, taskNumber(id))
			}
		}
		t.last++
		id = taskID(t.last)
		t.known[id] = &taskState{conversation: t.cfg.NewID(), agent: agent, busy: true}
		return id, t.known[id], nil
	}
	state = t.known[resume]
	switch {
	case state == nil:
		return "", nil, fmt.Errorf("there is no task %q; the tasks so far are: %s", resume, strings.Join(slices.Sorted(maps.Keys(t.known)), ", "))
	case state.busy:
		return "", nil, fmt.Errorf("the task %s has not ended yet", resume)
	}
	state.busy = true
	return resume, state, nil
}

// forget drops a task whose conversation was never made: it cannot be resumed.
func (t *tasks) forget(id string, state *taskState) {
	if store.Exists(t.root, state.conversation) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, id)
}

func (t *tasks) end(state *taskState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	state.busy = false
}

// do does one task, or continues with one that has waited for a person.
func (t *tasks) do(ctx context.Context, a subagent.Args, call tool.Call) (subagent.Outcome, error) {
	if call.Accepted {
		return t.goOn(ctx, a, call)
	}
	d, ok := subagent.Find(t.agents, a.Type)
	if !ok {
		names := make([]string, len(t.agents))
		for i, known := range t.agents {
			names[i] = known.Name
		}
		return subagent.Outcome{}, fmt.Errorf("there is no agent %q; the agents are: %s", a.Type, strings.Join(names, ", "))
	}
	message := agentapi.Message{Text: a.Prompt}
	if t.env.Panel != nil { // each member knows what it answered before
		a.Resume, message.Images = t.newest(d.Name), t.env.Panel.Images()
	}
	id, state, err := t.begin(d.Name, a.Resume)
	if err != nil {
		return subagent.Outcome{}, err
	}
	defer t.end(state)
	h, conv, err := t.enter(ctx, id, state.conversation, d, a.Resume != "")
	if err != nil {
		t.forget(id, state)
		t.cfg.Log.Warn("a sub-agent could not work", "conversation", t.env.Conversation, "task", id, "agent", d.Name, "err", err)
		return subagent.Outcome{ID: id, Text: taskError(err), Failed: true}, nil
	}
	r := taskRun{id: id, label: t.label(id, state, a), call: call.ID, prompt: a.Prompt, state: state, conv: conv}
	return t.run(ctx, r, h, turn.Input{Message: message})
}

// taskRun is one run of a task.
type taskRun struct {
	id, label, call, prompt string
	state                   *taskState
	conv                    *conversation.Conversation
}

// label is what a task is called for people: the member of a team that does it.
func (t *tasks) label(id string, state *taskState, a subagent.Args) string {
	switch {
	case t.env.Team != nil:
		return state.agent
	case a.Description != "":
		return a.Description
	}
	return id
}

// run drives the conversation of a task through one turn, and closes it.
func (t *tasks) run(ctx context.Context, r taskRun, h agentapi.Conversation, in turn.Input) (subagent.Outcome, error) {
	meter, err := t.env.Host.Meter(ctx)
	if err != nil {
		err = errors.Join(err, r.conv.Close())
		t.collect(ctx, r.state, r.prompt)
		return subagent.Outcome{}, err
	}
	if in.Message.Meter = meter; in.Decision != nil {
		in.Decision.Meter = meter
	}
	in.Emit = func(u turn.Update) {
		if u.Kind == turn.Progress && u.Text != "" {
			t.env.Host.Progress("  " + r.label + ": " + u.Text)
		}
	}
	res, err := turn.Run(ctx, h, in)
	var waits *tool.WaitingError
	if err == nil && res.Outcome == turn.Waiting {
		if t.env.Team != nil && ctx.Err() == nil {
			waits, err = t.suspend(ctx, r)
		} else {
			res.Answer = t.refuse(ctx, r.conv, res)
		}
	}
	err = errors.Join(err, t.settle(ctx, r.id, r.conv))
	kept := t.collect(ctx, r.state, r.prompt)
	t.progress(kept)
	switch {
	case ctx.Err() != nil:
		t.notice(kept)
		return subagent.Outcome{}, ctx.Err()
	case err == nil && waits != nil:
		t.notice(kept)
		return subagent.Outcome{}, waits
	}
	o := outcomeOf(r.id, res, err)
	o.Text += kept
	return o, nil
}

// cannotAsk is why an action of a sub-agent is refused that a person has to confirm.
const cannotAsk = "A sub-agent cannot ask a person for a confirmation. Report what you wanted to do."

// refuse refuses what waits for a confirmation, and says what it is: the parent can
// do it itself, and asks then.
func (t *tasks) refuse(ctx context.Context, conv *conversation.Conversation, res turn.Result) string {
	var b strings.Builder
	b.WriteString("The sub-agent was stopped because these actions need a confirmation, for which only you can ask. Do them yourself, or leave them; resume tells the sub-agent how to go on.\n")
	for _, w := range res.Waiting {
		fmt.Fprintf(&b, "- %s: %s\n", w.Tool, w.Line)
	}
	if err := conv.Decide(ctx, agentapi.Decision{Reason: cannotAsk}); err != nil {
		t.cfg.Log.Warn("refuse actions of a sub-agent", "conversation", t.env.Conversation, "err", err)
	}
	return b.String()
}

// settle ends the conversation of a task. What it has cost is the parent's.
func (t *tasks) settle(ctx context.Context, id string, conv *conversation.Conversation) error {
	state, err := conv.State(context.WithoutCancel(ctx))
	if err == nil {
		err = t.env.Host.Spent(context.WithoutCancel(ctx), taskUsage+id, state.Stats)
	}
	return errors.Join(err, conv.Close())
}

// outcomeOf reports to the parent's model how a task ended.
func outcomeOf(id string, res turn.Result, err error) subagent.Outcome {
	o := subagent.Outcome{ID: id, Text: res.Answer, Failed: err != nil || res.Outcome != turn.Finished}
	why := ""
	switch {
	case err != nil:
		why = taskError(err)
	case res.Outcome == turn.Failed && res.Cause != nil:
		why = res.Cause.Code + ": " + res.Cause.Detail
	case res.Outcome == turn.Stuck:
		why = "The sub-agent repeated itself and was stopped."
	case res.Outcome == turn.Refused:
		why = "A hook refused the task: " + res.Refusal
	case res.Outcome == turn.Paused || res.Outcome == turn.Interrupted:
		why = "The sub-agent was stopped."
	}
	switch {
	case why != "" && o.Text != "":
		o.Text = why + "\nWhat it said before:\n" + o.Text
	case why != "":
		o.Text = why
	case o.Text == "":
		o.Text = "The sub-agent ended without an answer."
	}
	return o
}

// taskError is an error of a task without the places of files.
func taskError(err error) string {
	return "The sub-agent could not work: " + agentapi.PublicMessage(err, "the log of ohgw serve has the cause")
}
