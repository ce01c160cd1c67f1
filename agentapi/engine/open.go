package engine

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/session"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Open makes or continues a conversation.
func (b *Backend) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if req.New && req.Existing {
		return nil, apierr.Refused("A conversation cannot be both new and existing.", nil)
	}
	begin := func() (founding, error) { return b.founder.ofTurn(ctx, req) }
	if req.Existing {
		begin = nil
	}
	s, err := b.opened(ctx, req, begin)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// opened returns a session of a conversation. If the conversation is not open, it is opened;
// see [Backend.start].
func (b *Backend) opened(ctx context.Context, req agentapi.OpenRequest, begin func() (founding, error)) (*session.Session, error) {
	return b.entered(ctx, req.ID, func(e *entry) (created bool, err error) {
		b.table.expect(e, !req.Once)
		if e.now != nil {
			return false, b.keep(ctx, e, req)
		}
		return b.start(ctx, e, req, begin)
	})
}

// begun returns a session of a new conversation, in the directory that create makes.
func (b *Backend) begun(ctx context.Context, req agentapi.OpenRequest, create func() (*store.Dir, error)) (*session.Session, error) {
	return b.entered(ctx, req.ID, func(e *entry) (created bool, err error) {
		if e.now != nil {
			return false, b.opening.Explain(ctx, req.ID, store.ErrExists)
		}
		dir, err := create()
		if err != nil {
			return false, b.opening.Explain(ctx, req.ID, err)
		}
		return true, b.enter(ctx, e, dir, req)
	})
}

// entered returns a session of the conversation of id; see [table.entered].
func (b *Backend) entered(ctx context.Context, id string, open func(*entry) (created bool, err error)) (*session.Session, error) {
	v, err := b.table.entered(ctx, id, open)
	if err != nil {
		return nil, err
	}
	return b.session(v.assembled, v.info, func() { b.table.release(v.entry) }), nil
}

// session is a session of a conversation, which calls release when it is closed.
func (b *Backend) session(made *assembled, info agentapi.Info, release func()) *session.Session {
	return session.New(b.sessions, opener{b}, session.Subject{
		Conv: made.conv, Info: info, Agent: made.agent, Models: made.models, Prompt: made.words, Release: release,
	})
}

// start opens the directory of a conversation, or makes it of what begin gives, and the
// conversation in it. Without begin it opens only one that is there.
func (b *Backend) start(ctx context.Context, e *entry, req agentapi.OpenRequest, begin func() (founding, error)) (created bool, err error) {
	var dir *store.Dir
	disk := b.cfg.storeOptions()
	if e.unkept = nil; req.Unkept {
		e.unkept = &store.Unkept{}
		disk.Unkept = e.unkept
	}
	if err = store.ErrNotFound; !req.New {
		dir, err = store.Open(b.cfg.Dir, req.ID, disk)
	}
	if errors.Is(err, store.ErrNotFound) && begin != nil {
		created = true
		dir, err = b.founder.found(begin, disk)
	}
	if err != nil {
		return false, b.opening.Explain(ctx, req.ID, err)
	}
	return created, b.enter(ctx, e, dir, req)
}

// keep has the disk keep an open conversation, unless its client does not need that.
func (b *Backend) keep(ctx context.Context, e *entry, req agentapi.OpenRequest) error {
	if e.unkept == nil || req.Unkept {
		return nil
	}
	if err := e.unkept.Keep(); err != nil {
		return b.opening.Explain(ctx, req.ID, err)
	}
	return nil
}

// enter makes the conversation of an open directory that of an entry.
func (b *Backend) enter(ctx context.Context, e *entry, dir *store.Dir, req agentapi.OpenRequest) error {
	made, err := b.assembler.assemble(ctx, dir, req, seat{memory: &e.memory, ended: b.table.look, others: opener{b}, kept: !req.OneShot})
	if err != nil {
		return b.opening.Explain(ctx, req.ID, errors.Join(err, dir.Close()))
	}
	e.now = made
	return nil
}

func (cfg *Config) storeOptions() store.Options {
	return store.Options{Files: cfg.Files, Journal: cfg.journal, Now: cfg.Now, Holder: cfg.Holder}
}

// Remove deletes a conversation, interrupting its run.
func (b *Backend) Remove(ctx context.Context, id string) error {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return apierr.NotFound(id)
	}
	return b.table.alone(id, func(e *entry) error { return agentapi.InProcess(b.remove(ctx, e)) })
}

// remove deletes the conversation of an entry, whose mutex is held.
func (b *Backend) remove(ctx context.Context, e *entry) error {
	id := e.id
	defer b.vault.Drop(id) // hooks for the end may need secrets
	if e.now == nil {
		err := store.Remove(b.cfg.Dir, id, b.cfg.storeOptions())
		if err == nil {
			b.plugins.DropCheckouts(ctx, id)
		}
		return b.opening.Explain(ctx, id, err)
	}
	err := e.now.conv.Remove()
	b.table.forget(e)
	if err == nil {
		b.plugins.DropCheckouts(ctx, id)
	} else {
		b.cfg.Log.Error("delete conversation", "conversation", id, "directory", store.Path(b.cfg.Dir, id), "err", err)
	}
	return apierr.Of(ctx, err, agentapi.ErrUnavailable,
		"The conversation was not deleted completely; the log of ohgw serve names its directory. Delete it again.")
}
