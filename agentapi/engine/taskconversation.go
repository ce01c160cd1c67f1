package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// open makes the conversation of a task, or opens it again.
func (t *tasks) open(ctx context.Context, task string, state *taskState, d definition.Definition, resume bool) (*conversation.Conversation, error) {
	if resume {
		return t.reopen(ctx, state)
	}
	dir, err := t.make(ctx, task, state.conversation, d)
	if err != nil {
		return nil, err
	}
	t.backend.unstored.copy(state.conversation, t.env.Conversation)
	return t.assemble(ctx, dir)
}

// reopen opens the conversation of a task, which may be open because it waits for a
// person.
func (t *tasks) reopen(ctx context.Context, state *taskState) (*conversation.Conversation, error) {
	t.mu.Lock()
	conv := state.conv
	state.conv, state.call = nil, ""
	t.mu.Unlock()
	if conv != nil {
		return conv, nil
	}
	dir, err := store.Open(t.root, state.conversation, t.backend.storeOptions())
	if err != nil {
		return nil, err
	}
	return t.assemble(ctx, dir)
}

func (t *tasks) assemble(ctx context.Context, dir *store.Dir) (*conversation.Conversation, error) {
	id := dir.State.ID
	conv, _, err := t.backend.assemble(ctx, &entry{id: id}, dir, agentapi.OpenRequest{ID: id, Workspace: t.env.Workspace, Profile: dir.State.Tags[conversation.TagProfile]})
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return conv, nil
}

// make makes the directory of a task.
func (t *tasks) make(ctx context.Context, task, id string, d definition.Definition) (*store.Dir, error) {
	if m, ok := t.env.Team.member(d.Name); ok {
		return t.createMember(ctx, task, id, m)
	}
	return t.create(ctx, task, id, d)
}

// create makes the directory of a task: an agent with the parent's model, and the
// tools and the limits of the definition.
func (t *tasks) create(ctx context.Context, task, id string, d definition.Definition) (*store.Dir, error) {
	b := t.backend
	parent, err := t.env.Host.Stored(ctx)
	if err != nil {
		return nil, err
	}
	stored := agent{}
	if err := json.Unmarshal(parent.Agent, &stored); err != nil {
		return nil, err
	}
	tags := map[string]string{tagTask: task, tagSubagent: d.Name}
	for _, name := range []string{conversation.TagProfile, conversation.TagUsage} {
		if v, ok := parent.Tags[name]; ok {
			tags[name] = v
		}
	}
	made := agent{}
	made.set("kind", "Agent")
	made["llm"] = stored["llm"]
	if err := t.ownModel(ctx, made, tags, d); err != nil {
		return nil, err
	}
	if c, ok := stored["condenser"]; ok && !d.NoCondenser {
		made["condenser"] = c
	}
	t.equip(made, d)
	state := store.NewState(id, nil, t.env.Workspace)
	if state.Agent, err = json.Marshal(made); err != nil {
		return nil, err
	}
	state.MaxIterations, state.SecretRegistry, state.Tags = parent.MaxIterations, parent.SecretRegistry, tags
	if d.MaxIterations > 0 {
		state.MaxIterations = d.MaxIterations
	}
	markLimit(tags, agentapi.Limit{Cost: d.MaxBudget, Tokens: d.MaxTokens})
	confirmed(&state, parent, d)
	if state.HookConfig, err = b.withHooks(parent.HookConfig, ownHooks(d)); err != nil {
		return nil, err
	}
	now := b.cfg.Now()
	return store.Create(t.root, state, store.Meta{Created: now, Updated: now, Parent: t.env.Conversation}, b.storeOptions())
}

// ownModel gives an agent the model that its definition names, if it names one.
func (t *tasks) ownModel(ctx context.Context, made agent, tags map[string]string, d definition.Definition) error {
	if d.Model == definition.Inherit || d.Model == "" {
		return nil
	}
	name := strings.TrimSuffix(d.Model, ".json")
	profile, err := t.backend.cfg.Profiles.Load(ctx, name)
	if err != nil {
		return err
	}
	model, err := storedLLM(profile, agentUsage, false)
	if err != nil {
		return err
	}
	made.set("llm", model)
	tags[conversation.TagProfile], tags[conversation.TagUsage] = name, agentUsage
	return nil
}

// equip gives an agent the tools and the words of a definition. The programs that a
// file of a project names are not run: nobody has allowed them.
func (t *tasks) equip(made agent, d definition.Definition) {
	tools := []toolSpec{}
	for _, name := range d.Tools {
		if !namesTasks(name) {
			tools = append(tools, toolSpec{Name: name})
		}
	}
	made.set("tools", tools)
	made.set("include_default_tools", []string{"FinishTool", "ThinkTool"})
	if d.Prompt != "" {
		made.set("agent_context", map[string]string{"system_message_suffix": d.Prompt})
	}
	if len(d.Servers) > 0 && d.User {
		made["mcp_config"] = d.Servers
	}
	if (len(d.Servers) > 0 || len(d.Hooks) > 0) && !d.User {
		t.env.Log.Warn("MCP servers and hooks of an agent of the workspace are not used", "conversation", t.env.Conversation, "agent", d.Name, "file", d.Path)
	}
}

// ownHooks are the hooks of a definition that the user has written.
func ownHooks(d definition.Definition) json.RawMessage {
	if !d.User {
		return nil
	}
	return d.Hooks
}

// confirmed gives a sub-agent the stricter of the parent's policy and its own.
func confirmed(state *store.State, parent store.State, d definition.Definition) {
	state.ConfirmationPolicy, state.SecurityAnalyzer = parent.ConfirmationPolicy, parent.SecurityAnalyzer
	stricter(state, map[string]agentapi.Confirmation{definition.AlwaysConfirm: agentapi.ConfirmAlways, definition.ConfirmRisky: agentapi.ConfirmRisky}[d.Permission])
}
