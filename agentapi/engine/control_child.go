package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/store"
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
	stored, err := b.founder.childAgent(now.Agent, ch.Suffix)
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
		b.table.clear(e)
		if e.now != nil {
			return false, b.opening.Explain(ctx, ch.ID, store.ErrExists)
		}
		dir, err := store.Create(b.cfg.Dir, state, b.founder.childMeta(about, parent, ch), b.cfg.storeOptions())
		if err != nil {
			return false, b.opening.Explain(ctx, ch.ID, err)
		}
		b.plugins.ShareCheckouts(ctx, parent, ch.ID)
		kept := b.vault.KeptOf(parent)
		if kept.Agent != nil {
			if kept.Agent, err = b.founder.childAgent(kept.Agent, ch.Suffix); err != nil {
				return false, err
			}
		}
		b.vault.Keep(ch.ID, kept)
		return true, b.enter(ctx, e, dir, agentapi.OpenRequest{ID: ch.ID, Profile: c.info.Profile})
	})
	return inControl(made, err)
}
