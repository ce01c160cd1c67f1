package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/modelset"
	"github.com/ohgw/ohgw/agentapi/engine/prompt"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/uuid"
)

// entry is a conversation of the table, open or about to be. Its mutex is held while it is
// opened or closed, so that neither happens twice.
type entry struct {
	id string

	mu   sync.Mutex
	conv *conversation.Conversation // nil: not open
	dead bool                       // out of the table
	info agentapi.Info

	memory atomic.Int64 // what conv holds, in bytes

	// These tell of conv: its prompt, its models, and its MCP servers once there are
	// tools.
	words   *prompt.Prompt
	models  *modelset.Own
	agent   string // the name of the agent that it is a conversation with; "" for a profile
	servers atomic.Pointer[func() []agentapi.MCPServer]

	// These belong to Backend.mu.
	handles int
	idle    time.Time // since when there is no handle
	once    bool      // no other turn is expected
	closing bool      // it is being closed because it is idle
}

// Open makes or continues a conversation.
func (b *Backend) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if req.New && req.Existing {
		return nil, apierr.Refused("A conversation cannot be both new and existing.", nil)
	}
	return b.entered(ctx, req.ID, func(e *entry) (bool, error) {
		b.expect(e, !req.Once)
		b.clear(e)
		if e.conv != nil {
			return false, nil
		}
		if req.Existing {
			return b.start(ctx, e, req, nil)
		}
		return b.start(ctx, e, req, func() (founding, error) { return b.ofTurn(ctx, req) })
	})
}

// entered returns a handle on the conversation of id. If the conversation is not open, it
// calls open for it. No other goroutine opens or closes the conversation meanwhile.
func (b *Backend) entered(ctx context.Context, id string, open func(*entry) (created bool, err error)) (agentapi.Conversation, error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return nil, apierr.Refused(fmt.Sprintf("%q is not a conversation id; use a UUID in lower case with dashes.", id), err)
	}
	for {
		e, err := b.acquire(id)
		if err != nil {
			return nil, err
		}
		h, again, err := b.openEntry(ctx, e, open)
		if err != nil || again {
			b.release(e)
		}
		if !again {
			return h, agentapi.InProcess(err)
		}
	}
}

// clear lets go of a conversation that has ended by itself; the mutex of its
// entry is held.
func (b *Backend) clear(e *entry) {
	if e.conv == nil || !e.conv.Ended() {
		return
	}
	if err := e.conv.Close(); err != nil {
		b.cfg.Log.Warn("close conversation", "conversation", e.id, "err", err)
	}
	e.conv = nil
}

// openEntry opens the conversation of an entry. It asks for another try if the
// entry was closed in the meantime.
func (b *Backend) openEntry(ctx context.Context, e *entry, open func(*entry) (bool, error)) (h agentapi.Conversation, again bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dead {
		return nil, true, nil
	}
	created, err := open(e)
	if err != nil {
		return nil, false, err
	}
	info := e.info
	info.Created = created
	if profile, err := e.conv.Profile(ctx); err == nil && (info.Profile != "" || profile == "") {
		info.Profile, info.OwnModel = profile, profile == ""
	}
	if e.agent != "" {
		info.Profile, info.OwnModel = agentapi.AgentPrefix+e.agent, false
	}
	return &handle{backend: b, entry: e, conv: e.conv, info: info}, false, nil
}

// start opens the directory of a conversation, or makes it of what begin gives, and the
// conversation in it. Without begin it opens only one that is there.
func (b *Backend) start(ctx context.Context, e *entry, req agentapi.OpenRequest, begin func() (founding, error)) (created bool, err error) {
	var dir *store.Dir
	if err = store.ErrNotFound; !req.New {
		dir, err = store.Open(b.cfg.Dir, req.ID, b.cfg.storeOptions())
	}
	if errors.Is(err, store.ErrNotFound) && begin != nil {
		created = true
		dir, err = b.found(begin)
	}
	if err != nil {
		return false, b.opening.Explain(ctx, req.ID, err)
	}
	return created, b.enter(ctx, e, dir, req)
}

// enter makes the conversation of an open directory that of an entry.
func (b *Backend) enter(ctx context.Context, e *entry, dir *store.Dir, req agentapi.OpenRequest) error {
	conv, info, err := b.assemble(ctx, e, dir, req)
	if err != nil {
		return b.opening.Explain(ctx, req.ID, errors.Join(err, dir.Close()))
	}
	e.conv, e.info = conv, info
	return nil
}

func (cfg *Config) storeOptions() store.Options {
	return store.Options{Files: cfg.Files, Now: cfg.Now, Holder: cfg.Holder}
}

func (b *Backend) settings(ctx context.Context) (Settings, error) {
	if b.cfg.Settings == nil {
		return Settings{}, nil
	}
	s, err := b.cfg.Settings(ctx)
	return s, apierr.Of(ctx, err, agentapi.ErrUnavailable, "OpenHands' settings cannot be read.")
}

// Remove deletes a conversation, interrupting its run.
func (b *Backend) Remove(ctx context.Context, id string) error {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return apierr.NotFound(id)
	}
	e, err := b.acquire(id)
	if err != nil {
		return err
	}
	defer b.release(e)
	e.mu.Lock()
	defer e.mu.Unlock()
	b.clear(e)
	b.vault.Drop(id)
	if e.conv == nil {
		if err = store.Remove(b.cfg.Dir, id, b.cfg.storeOptions()); err == nil {
			b.plugins.DropCheckouts(ctx, id)
		}
		return agentapi.InProcess(b.opening.Explain(ctx, id, err))
	}
	err = e.conv.Remove()
	b.forget(e)
	if err == nil {
		b.plugins.DropCheckouts(ctx, id)
	} else {
		b.cfg.Log.Error("delete conversation", "conversation", id, "directory", store.Path(b.cfg.Dir, id), "err", err)
	}
	return agentapi.InProcess(apierr.Of(ctx, err, agentapi.ErrUnavailable,
		"The conversation was not deleted completely; the log of ohgw serve names its directory. Delete it again."))
}

// acquire finds or makes the entry of a conversation and keeps it from being
// closed until release.
func (b *Backend) acquire(id string) (*entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	e := b.open[id]
	if e == nil {
		e = &entry{id: id}
		b.open[id] = e
	}
	e.handles++
	return e, nil
}

func (b *Backend) release(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.handles--; e.handles > 0 {
		return
	}
	e.idle = b.cfg.Now()
	if e.mu.TryLock() {
		if e.conv == nil && b.open[e.id] == e {
			b.catalog.Note(e.id) // it was changed, or removed
			delete(b.open, e.id)
			e.dead = true
		}
		e.mu.Unlock()
	}
	b.look()
}

// look has the goroutine that closes what is idle look for it.
func (b *Backend) look() {
	select {
	case b.released <- struct{}{}:
	default: // it will look anyway
	}
}

// forget takes an entry out of the table; its mutex is held.
func (b *Backend) forget(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[e.id] == e {
		b.catalog.Note(e.id)
		delete(b.open, e.id)
	}
	e.dead, e.conv = true, nil
}
