package engine

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
)

// Child makes a conversation that is a part of this one: with its agent, settings and
// secrets as they are now, and a log of its own.
func (c controlledConversation) Child(ctx context.Context, ch control.Child) (control.Conversation, error) {
	b, parent := c.backend, c.info.ID
	if ch.ID == "" {
		ch.ID = b.cfg.NewID()
	}
	now, about, err := c.conv.Record(ctx)
	if err != nil {
		return nil, c.explain(err)
	}
	stored, err := b.childAgent(now.Agent, ch.Suffix)
	if err != nil {
		return nil, agentapi.InProcess(err)
	}
	if ch.Workspace == "" {
		ch.Workspace = now.Workspace.WorkingDir
	}
	state := store.NewState(ch.ID, stored, ch.Workspace)
	state.MaxIterations, state.StuckDetection = now.MaxIterations, now.StuckDetection
	state.ConfirmationPolicy, state.SecurityAnalyzer = now.ConfirmationPolicy, now.SecurityAnalyzer
	state.SecretRegistry, state.HookConfig, state.Tags = now.SecretRegistry, now.HookConfig, now.Tags
	made, err := b.entered(ctx, ch.ID, func(e *entry) (bool, error) {
		b.clear(e)
		if e.conv != nil {
			return false, b.opening.Explain(ctx, ch.ID, store.ErrExists)
		}
		dir, err := store.Create(b.cfg.Dir, state, b.childMeta(about, parent, ch), b.cfg.storeOptions())
		if err != nil {
			return false, b.opening.Explain(ctx, ch.ID, err)
		}
		b.plugins.ShareCheckouts(ctx, parent, ch.ID)
		kept := b.vault.KeptOf(parent)
		if kept.Agent != nil {
			if kept.Agent, err = b.childAgent(kept.Agent, ch.Suffix); err != nil {
				return false, err
			}
		}
		b.vault.Keep(ch.ID, kept)
		return true, b.enter(ctx, e, dir, agentapi.OpenRequest{ID: ch.ID, Profile: c.info.Profile})
	})
	return inControl(made, err)
}

// childAgent is the agent of a part: it begins now, and is told where it works.
func (b *Backend) childAgent(parent json.RawMessage, suffix string) (json.RawMessage, error) {
	made := storedagent.Agent{}
	if err := json.Unmarshal(parent, &made); err != nil {
		return nil, apierr.Refused("The stored agent of this conversation cannot be read.", err)
	}
	words := made.Object("agent_context")
	if raw := words["current_datetime"]; len(raw) > 0 && string(raw) != "null" { // null: its model is not to know
		delete(words, "current_datetime")
		made.Set("agent_context", words)
	}
	made.Date(b.cfg.Now())
	if suffix != "" {
		made.AddSuffix(suffix)
	}
	return json.Marshal(made)
}

// childMeta is what is said of a part: what the request for the whole said, but for what
// belongs to that alone.
func (b *Backend) childMeta(about store.RawMeta, parent string, ch control.Child) store.Meta {
	others := maps.Clone(map[string]json.RawMessage(about))
	for _, name := range []string{"parent_conversation_id", "forked_from_conversation_id", "forked_from_event_id", "initial_message"} {
		delete(others, name)
	}
	if _, said := others["worktree"]; said || ch.Worktree {
		others["worktree"] = json.RawMessage(map[bool]string{true: "true", false: "false"}[ch.Worktree])
	}
	now := b.cfg.Now()
	return store.Meta{
		Created: now, Updated: now, Parent: parent, Title: ch.Title, WantsTitle: string(about["autotitle"]) == "true", Others: others,
	}
}
