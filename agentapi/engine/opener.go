package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/delegation"
	"github.com/ohgw/ohgw/agentapi/engine/pluginset"
	"github.com/ohgw/ohgw/agentapi/engine/session"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/team"
)

// opener opens conversations for those that are open. Those of tasks are not in the table:
// they end with their task.
type opener struct{ b *Backend }

// MayBecome refuses a change of the model that a conversation cannot make.
func (o opener) MayBecome(ctx context.Context, agent, profile string) error {
	return o.b.roster.mayBecome(ctx, agent, profile)
}

// Record is a conversation as it is now.
func (o opener) Record(ctx context.Context, id string) (control.Record, error) {
	return o.b.library.Record(ctx, id)
}

// CopyOf makes a conversation that knows the log of another one.
func (o opener) CopyOf(ctx context.Context, c session.Copying) (*session.Session, error) {
	b, id, from := o.b, c.State.ID, c.Meta.ForkedFrom
	return b.begun(ctx, agentapi.OpenRequest{ID: id, Profile: c.Profile}, func() (*store.Dir, error) {
		if about, err := store.PeekMeta(b.cfg.Dir, from); err == nil {
			c.Meta.Others = about.Only(pluginset.AgentsMember, pluginset.DirsMember, team.MetaMember)
		}
		dir, err := store.Create(b.cfg.Dir, c.State, c.Meta, b.cfg.storeOptions(), c.Events...)
		if err != nil {
			return nil, err
		}
		if err := delegation.CopyTaskList(dir.Path(), c.Events); err != nil {
			return nil, errors.Join(err, dir.Remove())
		}
		b.vault.Copy(id, from)
		b.plugins.ShareCheckouts(ctx, from, id)
		b.delegation.Copy(store.Path(b.cfg.Dir, from), dir.Path(), c.Events)
		return dir, nil
	})
}

// PartOf makes a conversation that is a part of another one.
func (o opener) PartOf(ctx context.Context, p session.Part) (*session.Session, error) {
	b, id := o.b, p.State.ID
	return b.begun(ctx, agentapi.OpenRequest{ID: id, Profile: p.Profile}, func() (*store.Dir, error) {
		dir, err := store.Create(b.cfg.Dir, p.State, p.Meta, b.cfg.storeOptions())
		if err != nil {
			return nil, err
		}
		b.plugins.ShareCheckouts(ctx, p.Meta.Parent, id)
		b.vault.Keep(id, p.Kept)
		return dir, nil
	})
}

// OpenDir makes the conversation of an open directory. Its box shows other directories,
// read-only.
func (o opener) OpenDir(ctx context.Context, dir *store.Dir, req agentapi.OpenRequest, shown ...string) (agentapi.Conversation, *conversation.Conversation, error) {
	return o.open(ctx, dir, req, seat{shown: shown})
}

// OpenBare makes the conversation of an open directory, without MCP servers and titles.
func (o opener) OpenBare(ctx context.Context, dir *store.Dir, req agentapi.OpenRequest) (agentapi.Conversation, *conversation.Conversation, error) {
	return o.open(ctx, dir, req, seat{bare: true})
}

func (o opener) open(ctx context.Context, dir *store.Dir, req agentapi.OpenRequest, at seat) (agentapi.Conversation, *conversation.Conversation, error) {
	var memory atomic.Int64
	at.memory, at.ended, at.others = &memory, o.b.table.look, o
	made, err := o.b.assembler.assemble(ctx, dir, req, at)
	if err != nil {
		return nil, nil, err
	}
	return o.b.session(made, agentapi.Info{ID: req.ID, Workspace: req.Workspace}, func() {}), made.conv, nil
}
