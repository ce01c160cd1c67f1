package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/delegation"
	"github.com/ohgw/ohgw/agentapi/engine/pluginset"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Fork begins another conversation with what this one knows; see
// [agentapi.Conversation].
func (h *handle) Fork(ctx context.Context, req agentapi.ForkRequest) (agentapi.Conversation, error) {
	state, events, err := h.conv.Fork(ctx, req.ID, req.From)
	if errors.Is(err, store.ErrNoEvent) {
		return nil, apierr.Refused(fmt.Sprintf("The conversation has no event %q to fork at; use the id of an event in it.", req.From), err)
	}
	if err != nil {
		return nil, h.explain(err)
	}
	now := h.backend.cfg.Now()
	return h.backend.copied(ctx, copying{
		state: state, events: events, profile: h.info.Profile,
		meta: store.Meta{Created: now, Updated: now, ForkedFrom: h.info.ID, ForkedAt: req.From},
	})
}

// copying is what a fork begins with.
type copying struct {
	state   store.State
	events  []event.Event
	meta    store.Meta
	profile string // which answers where the copy has no model of its own
}

// copied is a handle on a fork.
func (b *Backend) copied(ctx context.Context, c copying) (agentapi.Conversation, error) {
	id := c.state.ID
	return b.entered(ctx, id, func(e *entry) (created bool, err error) {
		b.table.clear(e)
		if e.now != nil {
			return false, b.opening.Explain(ctx, id, store.ErrExists)
		}
		if about, err := store.PeekMeta(b.cfg.Dir, c.meta.ForkedFrom); err == nil {
			c.meta.Others = about.Only(pluginset.AgentsMember, pluginset.DirsMember)
		}
		dir, err := store.Create(b.cfg.Dir, c.state, c.meta, b.cfg.storeOptions(), c.events...)
		if err != nil {
			return false, b.opening.Explain(ctx, id, err)
		}
		if err := delegation.CopyTaskList(dir.Path(), c.events); err != nil {
			return false, b.opening.Explain(ctx, id, errors.Join(err, dir.Remove()))
		}
		b.vault.Copy(id, c.meta.ForkedFrom)
		b.plugins.ShareCheckouts(ctx, c.meta.ForkedFrom, id)
		b.delegation.Copy(store.Path(b.cfg.Dir, c.meta.ForkedFrom), dir.Path(), c.events)
		return true, b.enter(ctx, e, dir, agentapi.OpenRequest{ID: id, Profile: c.profile})
	})
}

// taskOpener opens the conversations of tasks, which are not in the table of those that are
// open: they end with their task.
type taskOpener struct{ b *Backend }

// OpenDir makes the conversation of an open directory.
func (o taskOpener) OpenDir(ctx context.Context, dir *store.Dir, req agentapi.OpenRequest) (agentapi.Conversation, *conversation.Conversation, error) {
	var memory atomic.Int64
	made, err := o.b.assembler.assemble(ctx, dir, req, seat{memory: &memory, ended: o.b.table.look, tasks: o})
	if err != nil {
		return nil, nil, err
	}
	v := visit{assembled: made, entry: &entry{id: req.ID}, info: agentapi.Info{ID: req.ID, Workspace: req.Workspace}}
	return &handle{visit: v, backend: o.b}, made.conv, nil
}
