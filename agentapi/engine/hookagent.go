package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// hookAgents is where the conversations of agents for hooks are while they decide,
// below the conversation that has the hooks.
const hookAgents = "hooks"

// noHooks is the hook_config of a conversation without hooks, also without those of
// the home directory.
const noHooks = `{"stop":[]}`

// hookPlace is the conversation that a hook belongs to.
type hookPlace struct {
	id, dir, workspace string
	host               conversation.Host
}

// hookAgent has an agent with the model of a conversation decide for one of its
// hooks. It works in the same workspace and in a sandbox of its own, without hooks
// and confirmations. Nothing is left of it but what it has cost.
func (b *Backend) hookAgent(ctx context.Context, at hookPlace, q hook.Question) (answer string, err error) {
	parent, err := at.host.Stored(ctx)
	if err != nil {
		return "", err
	}
	id := b.cfg.NewID()
	state, err := hookState(id, parent, q)
	if err != nil {
		return "", err
	}
	now := b.cfg.Now()
	dir, err := store.Create(filepath.Join(at.dir, hookAgents), state, store.Meta{Created: now, Updated: now, Parent: at.id}, b.storeOptions())
	if err != nil {
		return "", err
	}
	b.unstored.copy(id, at.id)
	defer b.unstored.drop(id)
	e := &entry{id: id}
	conv, info, err := b.assemble(ctx, e, dir, agentapi.OpenRequest{ID: id, Workspace: at.workspace, Profile: state.Tags[conversation.TagProfile]})
	if err != nil {
		return "", errors.Join(err, dir.Remove())
	}
	defer func() { err = errors.Join(err, conv.Remove()) }()
	h := &handle{backend: b, entry: e, conv: conv, info: info}
	res, err := turn.Run(ctx, h, turn.Input{Message: agentapi.Message{Text: q.Text}, Emit: func(turn.Update) {}})
	if spent, failed := conv.State(context.WithoutCancel(ctx)); failed == nil {
		err = errors.Join(err, at.host.SpentMore(context.WithoutCancel(ctx), q.Usage, spent.Stats))
	}
	if err == nil && res.Outcome == turn.Failed && res.Cause != nil {
		err = fmt.Errorf("%s: %s", res.Cause.Code, res.Cause.Detail)
	}
	return res.Answer, err
}

// hookState is what the conversation of an agent for a hook begins with.
func hookState(id string, parent store.State, q hook.Question) (store.State, error) {
	stored, made := agent{}, agent{}
	if err := json.Unmarshal(parent.Agent, &stored); err != nil {
		return store.State{}, err
	}
	made.set("kind", "Agent")
	made["llm"] = stored["llm"]
	tools := []toolSpec{}
	for _, name := range q.Tools {
		if !namesTasks(name) {
			tools = append(tools, toolSpec{Name: name})
		}
	}
	made.set("tools", tools)
	made.set("include_default_tools", []string{"FinishTool"})
	if q.System != "" {
		made.set("system_prompt", q.System)
	}
	state := store.NewState(id, nil, parent.Workspace.WorkingDir)
	var err error
	state.Agent, err = json.Marshal(made)
	state.MaxIterations, state.SecretRegistry = q.MaxIterations, parent.SecretRegistry
	state.HookConfig = json.RawMessage(noHooks)
	state.Tags = map[string]string{conversation.TagUsage: q.Usage}
	if profile, ok := parent.Tags[conversation.TagProfile]; ok {
		state.Tags[conversation.TagProfile] = profile
	}
	return state, err
}
