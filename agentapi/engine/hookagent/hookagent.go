// Package hookagent has an agent decide for a hook of a conversation. The agent works in a
// conversation of its own below the directory of that one, in the same workspace, in a sandbox
// of its own, and with the tools of the hook. It has neither hooks nor MCP servers nor
// confirmations. Nothing is left of it but what it has cost. The package opens no conversation
// itself: see [Opener].
package hookagent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/pluginset"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/engine/vault"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

// Config is what the agents of all conversations share.
type Config struct {
	Vault   *vault.Vault
	Options store.Options
	Now     func() time.Time
	NewID   func() string
}

// Place is where the conversation is that a hook belongs to.
type Place struct {
	Dir   string
	Shown []string // directories of its plugins, which its box shows
}

// Opener makes the conversation of an open directory, without MCP servers and titles, and a
// handle on it.
type Opener interface {
	OpenBare(ctx context.Context, dir *store.Dir, req agentapi.OpenRequest) (agentapi.Conversation, *conversation.Conversation, error)
}

// agents is where these conversations are, below the one with the hook.
const agents = "hooks"

// noHooks is the hook_config of a conversation without hooks, also without those of the user.
const noHooks = `{"stop":[]}`

// Ask has an agent with the model of a conversation, whose state is parent, answer the question
// of one of its hooks. It returns what that has cost also with an error.
func Ask(ctx context.Context, cfg Config, at Place, parent store.State, open Opener, q hook.Question) (answer string, spent event.Stats, err error) {
	id := cfg.NewID()
	state, err := stateOf(id, parent, q)
	if err != nil {
		return "", spent, err
	}
	meta := store.Meta{Created: cfg.Now(), Updated: cfg.Now(), Parent: parent.ID}
	if meta.Others, err = pluginset.Inherited(at.Shown); err != nil {
		return "", spent, err
	}
	root := filepath.Join(at.Dir, agents)
	if err := os.RemoveAll(root); err != nil { // one that a killed ohgw has left; hooks run one after the other
		return "", spent, err
	}
	opts := cfg.Options
	opts.Unkept = &store.Unkept{} // It ends with the hook, and so does all that it has written.
	dir, err := store.Create(root, state, meta, opts)
	if err != nil {
		return "", spent, err
	}
	cfg.Vault.Copy(id, parent.ID)
	defer cfg.Vault.Drop(id)
	profile := state.Tags[conversation.TagProfile]
	h, conv, err := open.OpenBare(ctx, dir, agentapi.OpenRequest{ID: id, Workspace: parent.Workspace.WorkingDir, Profile: profile})
	if err != nil {
		return "", spent, errors.Join(err, dir.Remove())
	}
	answer, err = decide(ctx, h, q.Text)
	now, failed := conv.State(context.WithoutCancel(ctx))
	return answer, now.Stats, errors.Join(err, failed, conv.Remove())
}

// decide runs the agent. One that has reached its limit gives no answer.
func decide(ctx context.Context, h agentapi.Conversation, text string) (string, error) {
	res, err := turn.Run(ctx, h, turn.Input{Message: agentapi.Message{Text: text}, Emit: func(turn.Update) {}})
	switch {
	case err != nil:
		return "", err
	case res.Outcome == turn.Finished:
		return res.Answer, nil
	case res.Outcome == turn.Failed && res.Cause != nil && res.Cause.Code != "MaxIterationsReached":
		return "", &agentapi.Error{Kind: agentapi.ErrRefused, Msg: res.Cause.Detail, Err: errors.New(res.Cause.Code), InProcess: true}
	}
	return "", nil
}

// stateOf makes what the conversation of an agent begins with.
func stateOf(id string, parent store.State, q hook.Question) (store.State, error) {
	stored, made := storedagent.Agent{}, storedagent.Agent{}
	if err := json.Unmarshal(parent.Agent, &stored); err != nil {
		return store.State{}, err
	}
	made.Set("kind", "Agent")
	made["llm"] = stored["llm"]
	tools := []storedagent.ToolSpec{}
	for _, name := range q.Tools {
		if !storedagent.TaskTool(name) {
			tools = append(tools, storedagent.ToolSpec{Name: name})
		}
	}
	made.Set("tools", tools)
	made.Set("include_default_tools", []string{"FinishTool"})
	made.Set("agent_context", map[string]bool{"load_user_skills": false, "load_project_skills": false})
	if q.System != "" {
		made.Set("system_prompt", q.System)
	}
	state := store.NewState(id, nil, parent.Workspace.WorkingDir)
	var err error
	state.Agent, err = json.Marshal(made)
	state.MaxIterations, state.SecretRegistry = q.MaxIterations, parent.SecretRegistry
	state.HookConfig = json.RawMessage(noHooks)
	for _, name := range []string{conversation.TagProfile, tag.Access} {
		if v, ok := parent.Tags[name]; ok {
			state.Tags[name] = v
		}
	}
	if state.Tags[conversation.TagProfile] != "" {
		state.Tags[conversation.TagUsage] = q.Usage
	}
	return state, err
}
