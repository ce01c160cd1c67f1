package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/subagent"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/uuid"
)

// The tags in which the conversation of a sub-agent remembers its task.
const (
	tagTask     = "ohgwtask"
	tagSubagent = "ohgwsubagent"
	tagCall     = "ohgwtaskcall" // the call of the parent that waits with it
)

// subagents is where the conversations of sub-agents are, below that of the parent.
const subagents = "subagents"

// tasks are the sub-agents of one conversation.
type tasks struct {
	backend *Backend
	env     ToolEnv
	root    string
	agents  []definition.Definition

	mu     sync.Mutex
	known  map[string]*taskState // by the id of the task
	closed bool
}

// taskState is one task.
type taskState struct {
	conversation string
	agent        string
	busy         bool
	call         string                     // of the parent, that waits for a person; "": none
	conv         *conversation.Conversation // while it waits; nil: not open
}

// named is a tool of a stored agent.
type named struct {
	Name string `json:"name"`
}

// hasTasks reports whether a stored agent has sub-agents.
func hasTasks(stored json.RawMessage) bool {
	var a struct {
		Tools []named `json:"tools"`
	}
	_ = json.Unmarshal(stored, &a) // none, then
	return slices.ContainsFunc(a.Tools, func(t named) bool { return namesTasks(t.Name) })
}

// namesTasks reports whether a name among an agent's tools stands for sub-agents.
func namesTasks(name string) bool {
	switch name {
	case "task_tool_set", "task", "TaskToolSet", "TaskTool":
		return true
	}
	return false
}

// taskTool is the tool task; nil if the agent does not have it, or is a sub-agent.
func (b *Backend) taskTool(ctx context.Context, e ToolEnv) tool.Tool {
	t := &tasks{backend: b, env: e, root: filepath.Join(e.Dir, subagents), known: make(map[string]*taskState)}
	if e.Team != nil {
		return t.ofTeam()
	}
	if !hasTasks(e.Agent) || filepath.Base(filepath.Dir(e.Dir)) == subagents {
		return nil
	}
	found, problems := definition.Load(ctx, definition.Dirs(e.Workspace, b.cfg.Home)...)
	for _, p := range problems {
		e.Log.Warn("an agent definition has a problem", "conversation", e.Conversation, "file", p.Path, "line", p.Line, "err", p.Msg)
	}
	t.agents = knownAgents(t.sent(), slices.DeleteFunc(found, definition.Definition.IsTeam))
	t.recall()
	return &subagent.Task{Agents: t.agents, Do: t.do, End: t.close}
}

// sent are the definitions that came with the start of the conversation.
func (t *tasks) sent() []definition.Definition {
	meta, err := store.PeekMeta(filepath.Dir(t.env.Dir), t.env.Conversation)
	var sent []definition.Definition
	if err == nil {
		sent, err = definition.Sent(meta[sentAgents])
	}
	if err != nil {
		t.env.Log.Warn("the agent definitions of the conversation cannot be read", "conversation", t.env.Conversation, "err", err)
	}
	return sent
}

// knownAgents are all sub-agents that a model may name. A definition that was sent comes
// before a file, as in OpenHands. Programs send OpenHands' own agents as well: in place of
// those there are ours of the same name, which a file may replace.
func knownAgents(sent, found []definition.Definition) []definition.Definition {
	builtin := subagent.Builtin()
	has := func(all []definition.Definition, name string) bool {
		return slices.ContainsFunc(all, func(d definition.Definition) bool { return d.Name == name })
	}
	var all []definition.Definition
	for _, d := range sent {
		if !has(builtin, d.Name) && !has(all, d.Name) {
			all = append(all, d)
		}
	}
	for _, d := range slices.Concat(found, builtin) {
		if !has(all, d.Name) {
			all = append(all, d)
		}
	}
	return all
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
		if state, err := store.Peek(t.root, id); err == nil && state.Tags[tagTask] != "" {
			known := &taskState{conversation: id, agent: state.Tags[tagSubagent]}
			if state.Status == event.Waiting {
				known.call = state.Tags[tagCall]
			}
			t.known[state.Tags[tagTask]] = known
		}
	}
}

// begin finds the task of a call, or makes one.
func (t *tasks) begin(agent, resume string) (id string, state *taskState, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if resume == "" {
		n := len(t.known) + 1
		for id == "" || t.known[id] != nil {
			id = fmt.Sprintf("task_%08x", n)
			n++
		}
		t.known[id] = &taskState{conversation: t.backend.cfg.NewID(), agent: agent, busy: true}
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

// forget drops a task that has no conversation.
func (t *tasks) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, id)
}

func (t *tasks) end(state *taskState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	state.busy = false
}

// do does one task, or goes on with one that has waited for a person.
func (t *tasks) do(ctx context.Context, a subagent.Args, call tool.Call) (subagent.Outcome, error) {
	if call.Decision != nil {
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
	if t.env.Team != nil && t.env.Team.All {
		a.Resume = t.last(d.Name) // each member knows what it answered before
		var err error
		if message.Images, err = t.env.Host.Images(ctx); err != nil {
			return subagent.Outcome{}, err
		}
	}
	id, state, err := t.begin(d.Name, a.Resume)
	if err != nil {
		return subagent.Outcome{}, err
	}
	defer t.end(state)
	conv, err := t.open(ctx, id, state, d, a.Resume != "")
	if err != nil {
		if a.Resume == "" {
			t.forget(id)
		}
		return subagent.Outcome{ID: id, Text: taskError(err), Failed: true}, nil
	}
	r := taskRun{id: id, label: labelOf(id, a), call: call.ID, state: state, conv: conv}
	return t.run(ctx, r, t.handle(r), turn.Input{Message: message})
}

// taskRun is one run of a task.
type taskRun struct {
	id, label, call string
	state           *taskState
	conv            *conversation.Conversation
}

func (t *tasks) handle(r taskRun) *handle {
	return &handle{
		backend: t.backend, entry: &entry{id: r.state.conversation}, conv: r.conv,
		info: agentapi.Info{ID: r.state.conversation, Workspace: t.env.Workspace},
	}
}

// labelOf is what a task is called for people.
func labelOf(id string, a subagent.Args) string {
	if a.Description != "" {
		return a.Description
	}
	return id
}

// run drives the conversation of a task through one turn, and closes it, unless it
// waits for a person.
func (t *tasks) run(ctx context.Context, r taskRun, c agentapi.Conversation, in turn.Input) (subagent.Outcome, error) {
	in.Emit = func(u turn.Update) {
		if u.Kind == turn.Progress && u.Text != "" {
			t.env.Host.Progress("  " + r.label + ": " + u.Text)
		}
	}
	in.Spent = func(turn.Usage) {
		if err := t.spent(ctx, r); err != nil {
			t.env.Log.Warn("count what a sub-agent costs", "conversation", t.env.Conversation, "err", err)
		}
	}
	res, err := turn.Run(ctx, c, in)
	if err == nil && res.Outcome == turn.Waiting && ctx.Err() == nil {
		waits, failed := t.suspend(ctx, r)
		if failed == nil {
			return subagent.Outcome{}, waits
		}
		err = failed
	}
	err = errors.Join(err, t.spent(ctx, r), r.conv.Close())
	if ctx.Err() != nil {
		return subagent.Outcome{}, ctx.Err()
	}
	return outcomeOf(r.id, res, err), nil
}

// spent has the parent's statistics say what a task has cost.
func (t *tasks) spent(ctx context.Context, r taskRun) error {
	ctx = context.WithoutCancel(ctx)
	state, err := r.conv.State(ctx)
	if err != nil {
		return err
	}
	return t.env.Host.Spent(ctx, "task:"+r.id, state.Stats)
}

// outcomeOf is what the parent's model is told.
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
