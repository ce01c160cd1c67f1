package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/pluginset"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
)

// open makes the conversation of a task, or opens it again.
func (t *tasks) open(ctx context.Context, task, id string, d definition.Definition, resume bool) (*conversation.Conversation, error) {
	b := t.backend
	var dir *store.Dir
	var err error
	if resume {
		dir, err = store.Open(t.root, id, b.cfg.storeOptions())
	} else if dir, err = t.create(ctx, task, id, d); err == nil {
		b.vault.Copy(id, t.env.Conversation)
	}
	if err != nil {
		return nil, err
	}
	conv, _, err := b.assemble(ctx, &entry{id: id}, dir, agentapi.OpenRequest{ID: id, Workspace: t.env.Workspace, Profile: dir.State.Tags[conversation.TagProfile]})
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return conv, nil
}

// create makes the directory of a task: an agent with the parent's model, and the
// tools and the limits of the definition.
func (t *tasks) create(ctx context.Context, task, id string, d definition.Definition) (*store.Dir, error) {
	b := t.backend
	parent, err := t.env.Host.Stored(ctx)
	if err != nil {
		return nil, err
	}
	stored := storedagent.Agent{}
	if err := json.Unmarshal(parent.Agent, &stored); err != nil {
		return nil, err
	}
	tags := map[string]string{tagTask: task, tagSubagent: d.Name}
	for _, name := range []string{conversation.TagProfile, conversation.TagUsage, tagAccess} {
		if v, ok := parent.Tags[name]; ok {
			tags[name] = v
		}
	}
	made := storedagent.Agent{}
	made.Set("kind", "Agent")
	made["llm"] = stored["llm"]
	if d.Model != definition.Inherit && d.Model != "" {
		name := strings.TrimSuffix(d.Model, ".json")
		profile, err := b.cfg.Profiles.Load(ctx, name)
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
	if d.MaxBudget > 0 {
		tags[tagBudget] = strconv.FormatFloat(d.MaxBudget, 'g', -1, 64)
	}
	confirmed(&state, parent, d)
	now := b.cfg.Now()
	meta := store.Meta{Created: now, Updated: now, Parent: t.env.Conversation}
	if meta.Others, err = pluginset.Inherited(t.env.Shown); err != nil {
		return nil, err
	}
	return store.Create(t.root, state, meta, b.cfg.storeOptions())
}

// equip gives an agent the tools and the words of a definition. The programs that a file of
// a project names are not run: the user has not allowed them.
func (t *tasks) equip(made storedagent.Agent, d definition.Definition) {
	tools := []storedagent.ToolSpec{}
	for _, name := range d.Tools {
		if !storedagent.HasTasks(json.RawMessage(`{"tools":[{"name":` + strconv.Quote(name) + `}]}`)) {
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
		t.env.Log.Warn("MCP servers and hooks of an agent of the workspace are not used", "conversation", t.env.Conversation, "agent", d.Name, "file", d.Path)
	}
}

// confirmed gives a sub-agent the stricter of the parent's policy and its own.
func confirmed(state *store.State, parent store.State, d definition.Definition) {
	state.ConfirmationPolicy, state.SecurityAnalyzer = parent.ConfirmationPolicy, parent.SecurityAnalyzer
	own := map[string]agentapi.Confirmation{definition.AlwaysConfirm: agentapi.ConfirmAlways, definition.ConfirmRisky: agentapi.ConfirmRisky}[d.Permission]
	if own == "" || own.MetBy(parent.ConfirmationPolicy) {
		return
	}
	state.ConfirmationPolicy = own.Policy()
	if !agentapi.Rated(state.SecurityAnalyzer) {
		state.SecurityAnalyzer = json.RawMessage(agentapi.AnalyzerLLM)
	}
}
