package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/prompt"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/uuid"
)

// tableConfig bounds the conversations that are open and not in use; see [Config].
type tableConfig struct {
	Idle       time.Duration
	MaxIdle    int
	IdleMemory int64
	Catalog    *store.Catalog // is told which conversations have changed
	Now        func() time.Time
	Log        *slog.Logger
}

// table has the conversations that are open. Each has an entry, whose mutex is held while it
// is opened or closed. A goroutine closes those that are not in use; close ends it.
type table struct {
	cfg   tableConfig
	sweep *time.Ticker
	stop  chan struct{}
	tidy  sync.WaitGroup
	// released, of one place, says that a handle or a run has ended.
	released chan struct{}

	mu     sync.Mutex
	open   map[string]*entry
	closed bool
}

func newTable(cfg tableConfig) *table {
	t := &table{
		cfg: cfg, sweep: time.NewTicker(cfg.Idle / 4), stop: make(chan struct{}),
		released: make(chan struct{}, 1), open: make(map[string]*entry),
	}
	t.tidy.Go(t.closeIdle)
	return t
}

// entry is a conversation of the table, open or about to be. Its mutex is held while it is
// opened or closed, so that neither happens twice.
type entry struct {
	id string

	mu     sync.Mutex
	now    *assembled    // nil: not open
	unkept *store.Unkept // its disk, if it was opened without being kept; nil otherwise
	dead   bool          // out of the table

	memory atomic.Int64 // what the conversation holds, in bytes

	// These belong to table.mu.
	handles int
	idle    time.Time // since when there is no handle
	once    bool      // no other turn is expected
	closing bool      // it is being closed because it is idle
}

// visit is one opening of a conversation, until its entry is released.
type visit struct {
	*assembled

	entry *entry
	info  agentapi.Info
}

var errClosed = &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The engine was closed; start it again.", InProcess: true}

// entered returns a visit of the conversation of id, which is to be released. If the conversation is not open, it
// calls open for it. No other goroutine opens or closes the conversation meanwhile.
func (t *table) entered(ctx context.Context, id string, open func(*entry) (created bool, err error)) (visit, error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return visit{}, apierr.Refused(fmt.Sprintf("%q is not a conversation id; use a UUID in lower case with dashes.", id), err)
	}
	for {
		e, err := t.acquire(id)
		if err != nil {
			return visit{}, err
		}
		v, again, err := t.openEntry(ctx, e, open)
		if err != nil || again {
			t.release(e)
		}
		if !again {
			return v, agentapi.InProcess(err)
		}
	}
}

// clear lets go of a conversation that has ended by itself; the mutex of its
// entry is held.
func (t *table) clear(e *entry) {
	if e.now == nil || !e.now.conv.Ended() {
		return
	}
	if err := e.now.conv.Close(); err != nil {
		t.cfg.Log.Warn("close conversation", "conversation", e.id, "err", err)
	}
	e.now = nil
}

// openEntry opens the conversation of an entry. It asks for another try if the
// entry was closed in the meantime.
func (t *table) openEntry(ctx context.Context, e *entry, open func(*entry) (bool, error)) (v visit, again bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dead {
		return visit{}, true, nil
	}
	t.clear(e)
	created, err := open(e)
	if err != nil {
		return visit{}, false, err
	}
	info := e.now.info
	info.Created = created
	if profile, err := e.now.conv.Profile(ctx); err == nil && (info.Profile != "" || profile == "") {
		info.Profile, info.OwnModel = profile, profile == ""
	}
	if e.now.agent != "" {
		info.Profile, info.OwnModel = agentapi.AgentProfile(e.now.agent), false
	}
	return visit{assembled: e.now, entry: e, info: info}, false, nil
}

// acquire finds or makes the entry of a conversation and keeps it from being
// closed until release.
func (t *table) acquire(id string) (*entry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosed
	}
	e := t.open[id]
	if e == nil {
		e = &entry{id: id}
		t.open[id] = e
	}
	e.handles++
	return e, nil
}

func (t *table) release(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.handles--; e.handles > 0 {
		return
	}
	e.idle = t.cfg.Now()
	if e.mu.TryLock() {
		if e.now == nil && t.open[e.id] == e {
			t.cfg.Catalog.Note(e.id) // it was changed, or removed
			delete(t.open, e.id)
			e.dead = true
		}
		e.mu.Unlock()
	}
	t.look()
}

// look has the goroutine that closes what is idle look for it.
func (t *table) look() {
	select {
	case t.released <- struct{}{}:
	default: // it will look anyway
	}
}

// forget takes an entry out of the table; its mutex is held.
func (t *table) forget(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[e.id] == e {
		t.cfg.Catalog.Note(e.id)
		delete(t.open, e.id)
	}
	e.dead, e.now = true, nil
}

// opened are the prompt and the MCP servers of a conversation that is open here;
// nil where there is none, or no tools yet.
func (t *table) opened(id string) (words *prompt.Prompt, status func() []agentapi.MCPServer) {
	now := t.current(id)
	if now == nil {
		return nil, nil
	}
	if f := now.servers.Load(); f != nil {
		status = *f
	}
	return now.words, status
}

// IDs are the conversations that are open here, or on their way.
func (t *table) IDs() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := make([]string, 0, len(t.open))
	for id := range t.open {
		ids = append(ids, id)
	}
	return ids
}

// Live is a conversation that is open here, nil if it is not, or is on its way.
func (t *table) Live(id string) *conversation.Conversation {
	t.mu.Lock()
	e := t.open[id]
	t.mu.Unlock()
	if e == nil || !e.mu.TryLock() {
		return nil
	}
	defer e.mu.Unlock()
	if e.now == nil {
		return nil
	}
	return e.now.conv
}

// current is a conversation that is open here, nil if it is not. It waits for one that is
// on its way.
func (t *table) current(id string) *assembled {
	t.mu.Lock()
	e := t.open[id]
	t.mu.Unlock()
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

// alone calls f for the entry of a conversation. No other goroutine opens or closes the
// conversation meanwhile.
func (t *table) alone(id string, f func(*entry) error) error {
	e, err := t.acquire(id)
	if err != nil {
		return err
	}
	defer t.release(e)
	e.mu.Lock()
	defer e.mu.Unlock()
	t.clear(e)
	return f(e)
}

// ended reports whether the table was closed.
func (t *table) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}
