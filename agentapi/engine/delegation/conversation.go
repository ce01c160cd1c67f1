package delegation

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/pluginset"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/internal/budget"
)

// enter makes the conversation of a task, or opens it again.
func (t *tasks) enter(ctx context.Context, task, id string, d definition.Definition, resume bool) (agentapi.Conversation, *conversation.Conversation, error) {
	workspace, shown, err := t.place(ctx, id, d.Name)
	if err != nil {
		return nil, nil, err
	}
	h, conv, err := t.enterAt(ctx, task, id, d, resume, workspace, shown)
	if err != nil { // the member has not begun
		t.collect(ctx, &taskState{conversation: id, agent: d.Name}, "")
	}
	return h, conv, err
}

// enterAt makes the conversation of a task in a workspace, or opens it again there.
func (t *tasks) enterAt(ctx context.Context, task, id string, d definition.Definition, resume bool, workspace string, shown []string) (agentapi.Conversation, *conversation.Conversation, error) {
	var dir *store.Dir
	var err error
	if resume {
		dir, err = t.reopen(ctx, id, workspace)
	} else if dir, err = t.made(ctx, task, id, d, workspace); err == nil {
		t.cfg.Vault.Copy(id, t.env.Conversation)
	}
	if err != nil {
		return nil, nil, err
	}
	h, conv, err := t.open.OpenDir(ctx, dir, agentapi.OpenRequest{ID: id, Workspace: workspace, Profile: dir.State.Tags[conversation.TagProfile]}, shown...)
	if err != nil {
		return nil, nil, errors.Join(err, dir.Close())
	}
	return h, conv, nil
}

// made makes the directory of a task, that of a definition or of a member of a team.
func (t *tasks) made(ctx context.Context, task, id string, d definition.Definition, workspace string) (*store.Dir, error) {
	if t.env.Team == nil {
		return t.create(ctx, task, id, d)
	}
	m, _ := t.env.Team.Member(d.Name) // it is one
	return t.createMember(ctx, task, id, m, workspace)
}

// create makes the directory of a task: an agent with the parent's model, and the
// tools and the limits of the definition.
func (t *tasks) create(ctx context.Context, task, id string, d definition.Definition) (*store.Dir, error) {
	parent, err := t.env.Host.Stored(ctx)
	if err != nil {
		return nil, err
	}
	stored := storedagent.Agent{}
	if err := json.Unmarshal(parent.Agent, &stored); err != nil {
		return nil, err
	}
	tags := map[string]string{tag.Task: task, tag.Subagent: d.Name}
	for _, name := range []string{conversation.TagProfile, conversation.TagUsage, tag.Access} {
		if v, ok := parent.Tags[name]; ok {
			tags[name] = v
		}
	}
	made := storedagent.Agent{}
	made.Set("kind", "Agent")
	made["llm"] = stored["llm"]
	if d.Model != definition.Inherit && d.Model != "" {
		name := strings.TrimSuffix(d.Model, ".json")
		profile, err := t.cfg.Profiles.Load(ctx, name)
		if err != nil {
			return nil, err
		}
		model, err := storedagent.LLM(profile.Name, profile.LLM, storedagent.AgentUsage, false)
		if err != nil {
			return nil, err
		}
		made.Set("llm", model)
		tags[conversation.TagProfile], tags[conversation.TagUsage] = name, storedagent.AgentUsage
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
	tag.SetLimits(tags, budget.Amount{Cost: d.MaxBudget, Tokens: d.MaxTokens})
	confirmed(&state, parent, d)
	if err := equipTask(&state, d); err != nil {
		return nil, err
	}
	now := t.cfg.Now()
	meta := store.Meta{Created: now, Updated: now, Parent: t.env.Conversation}
	if meta.Others, err = pluginset.Inherited(t.env.Shown); err != nil {
		return nil, err
	}
	return store.Create(t.root, state, meta, t.cfg.Options)
}

// equip gives an agent the tools and the words of a definition. The programs that a file of
// a project names are not run: the user has not allowed them.
func (t *tasks) equip(made storedagent.Agent, d definition.Definition) {
	tools := []storedagent.ToolSpec{}
	for _, name := range d.Tools {
		if !storedagent.TaskTool(name) {
			tools = append(tools, storedagent.ToolSpec{Name: name})
		}
	}
	made.Set("tools", tools)
	made.Set("include_default_tools", []string{"FinishTool", "ThinkTool"})
	if d.Prompt != "" {
		made.Set("agent_context", map[string]string{"system_message_suffix": d.Prompt})
	}
	if len(d.Servers) > 0 && d.User {
		made["mcp_config"] = d.Servers
	}
	if (len(d.Servers) > 0 || len(d.Hooks) > 0) && !d.User {
		t.cfg.Log.Warn("MCP servers and hooks of an agent of the workspace are not used", "conversation", t.env.Conversation, "agent", d.Name, "file", d.Path)
	}
}

// confirmed gives a sub-agent the stricter of the parent's policy and its own.
func confirmed(state *store.State, parent store.State, d definition.Definition) {
	state.ConfirmationPolicy, state.SecurityAnalyzer = parent.ConfirmationPolicy, parent.SecurityAnalyzer
	stricter(state, map[string]agentapi.Confirmation{definition.AlwaysConfirm: agentapi.ConfirmAlways, definition.ConfirmRisky: agentapi.ConfirmRisky}[d.Permission])
}
