package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/run/journal"
	"github.com/ohgw/ohgw/daemon/run/sharing"
	"github.com/ohgw/ohgw/internal/rescue"
	"github.com/ohgw/ohgw/internal/uuid"
)

// shots are the conversations that no client asked to keep: those of this process and its
// state directory, or those of all gateways.
type shots interface {
	Add(id string) (undo func(), err error)
	Ended(id string, began bool)
	Keep(id string) error
	Hold(id string) error
	Has(id string) bool
	Removed(id string)
	Close() error
}

// openShots returns the one-shots of all gateways, or those of this process where it is the
// only one.
func openShots(m *Manager) shots {
	if m.cfg.Shots == nil {
		return openOneShots(m.cfg, m.removeConversation, m.clear)
	}
	return sharing.OpenShots(m.cfg.Shots, sharing.Removal{
		TTL: m.cfg.OneShotTTL, Orphan: max(m.cfg.OneShotTTL, orphanTTL), Logger: m.cfg.Logger,
		Remove: vacancy{m}.expire, Guard: func(f func()) { m.cfg.guard("", f) }, Explain: explained,
	})
}

// oneShots removes conversations that no client asked to keep, after their
// time, where this process is the only gateway.
//
// Each is noted in a journal before it is made and struck out after it was
// removed, so that neither a crash nor a restart leaves one behind. The notes
// are not synced, but for one: that a client keeps the conversation is on the
// disk before its turn begins. So losing the last lines with the machine leaves
// a conversation, and never removes one that was promised.
//
// Removals take the conversation's queue; expiry.go has their order.
type oneShots struct {
	cfg     Config
	remove  func(ctx context.Context, id string) error
	clear   func(id string) (release func(), ok bool)
	journal *journal.Journal
	wg      sync.WaitGroup
	life    context.Context
	end     context.CancelFunc

	loading sync.Mutex // held while the journal is read
	loaded  bool       // guarded by loading
	before  int64      // the length of the journal when this process began; negative: unknown

	mu      sync.Mutex
	shots   map[string]*oneShot
	others  map[string]journal.Note // of other backends, by backend and id
	closed  bool
	queue   expiries
	timer   *time.Timer
	workers int
	pause   time.Duration // after the last failure of the backend; 0: it works
	paused  time.Time     // when removing goes on
}

// oneShot is a conversation that is to be removed. The mutex of oneShots guards
// it.
type oneShot struct {
	id    string
	ends  time.Time // zero while it runs
	due   time.Time // when it is removed, or the removal is tried again
	place int       // in the queue, from 1; 0: not there
	tries int       // removals that failed
}

const (
	// orphanTTL is how long a one-shot stays at least whose run was not over when
	// the gateway died: its client may come back for it with its idempotency key.
	orphanTTL = 15 * time.Minute
	// loadAgain is when a journal that could not be read is tried again.
	loadAgain = time.Minute
	// giveUp is how long a one-shot is noted that cannot be removed: because
	// removing it fails, or because its backend is not used any more.
	giveUp = 30 * 24 * time.Hour
)

func openOneShots(cfg Config, remove func(context.Context, string) error, clear func(string) (func(), bool)) *oneShots {
	o := &oneShots{cfg: cfg, remove: remove, clear: clear, shots: make(map[string]*oneShot), others: make(map[string]journal.Note)}
	o.life, o.end = context.WithCancel(context.Background())
	o.journal = &journal.Journal{Open: journal.OpenFile, Living: o.living, Failed: func(err error) { o.cfg.Logger.Warn("cannot rewrite the journal of one-shot conversations", "err", err) }}
	if cfg.StateDir == "" {
		o.loaded = true
		return o
	}
	o.journal.Path = filepath.Join(cfg.StateDir, "one-shots.jsonl")
	o.before = o.journal.Length()
	o.wg.Go(func() { o.cfg.guard("", o.load) })
	return o
}

// load reads the journal while requests are served already, until that works.
func (o *oneShots) load() {
	for {
		err := o.ready()
		if err == nil {
			return
		}
		o.cfg.Logger.Warn("cannot read the one-shot conversations of an earlier process", "err", err)
		select {
		case <-time.After(loadAgain):
		case <-o.life.Done():
			return
		}
	}
}

// ready returns when the one-shots of earlier processes are known.
func (o *oneShots) ready() error {
	o.loading.Lock()
	defer o.loading.Unlock()
	if o.loaded {
		return nil
	}
	left := make(map[string]journal.Note)
	lines, err := o.journal.Read(o.before, func(n journal.Note) {
		// The id becomes part of a path below the workspaces.
		if id, err := uuid.Parse(n.ID); err != nil || id != n.ID {
			return
		}
		key := n.Backend + "\x00" + n.ID
		if n.Gone {
			delete(left, key)
			return
		}
		if n.Made.IsZero() {
			n.Made = left[key].Made
		}
		left[key] = n
	})
	if err != nil {
		return err
	}
	o.loaded = true
	o.journal.Counted(lines)
	o.adopt(left)
	return nil
}

// adopt takes over what an earlier process left.
func (o *oneShots) adopt(left map[string]journal.Note) {
	now := o.cfg.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, n := range left {
		last := n.Ends
		if last.IsZero() {
			last = n.Made
		}
		switch {
		case !last.IsZero() && now.Sub(last) > giveUp: // struck out by the next rewrite
		case n.Backend != "" && n.Backend != o.cfg.BackendID:
			o.others[key] = n
		case o.shots[n.ID] == nil: // not one of this process
			s := &oneShot{id: n.ID, ends: n.Ends}
			// By the clock of the wall, which may have been set: none stays longer
			// than one that ends now.
			most := now.Add(max(o.cfg.OneShotTTL, orphanTTL))
			if s.ends.IsZero() || s.ends.After(most) { // zero: the gateway died during its run
				s.ends = most
			}
			s.ends = now.Add(s.ends.Sub(now)) // from here on by the monotonic clock, which cannot be set
			o.shots[n.ID] = s
			o.push(s, s.ends)
		}
	}
}

// living are the notes of what is alive, for the journal.
func (o *oneShots) living() []journal.Note {
	o.mu.Lock()
	defer o.mu.Unlock()
	notes := make([]journal.Note, 0, len(o.shots)+len(o.others))
	for _, s := range o.shots {
		notes = append(notes, journal.Note{ID: s.id, Backend: o.cfg.BackendID, Ends: s.ends})
	}
	for _, n := range o.others {
		notes = append(notes, n)
	}
	return notes
}

// Add notes a one-shot that is about to be made. Where it cannot be noted, it
// must not be made.
func (o *oneShots) Add(id string) (undo func(), err error) {
	s := &oneShot{id: id}
	o.mu.Lock()
	o.shots[id] = s
	o.mu.Unlock()
	at, err := o.journal.Write(journal.Note{ID: id, Backend: o.cfg.BackendID, Made: o.cfg.Now()}, false)
	if err != nil {
		o.drop(s)
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	return func() { o.unmade(id, at) }, nil
}

// unmade takes Add back: there is no such conversation.
func (o *oneShots) unmade(id string, at journal.Span) {
	o.mu.Lock()
	s := o.shots[id]
	o.mu.Unlock()
	if s != nil && o.drop(s) && !o.journal.Undo(at) {
		o.gone(id)
	}
}

// Ended starts the time of a one-shot whose run is over; one that never began
// has none.
func (o *oneShots) Ended(id string, began bool) {
	now := o.cfg.Now()
	o.mu.Lock()
	s := o.shots[id]
	if s == nil || o.closed { // kept, never made, or for the next gateway
		o.mu.Unlock()
		return
	}
	s.ends = now
	if began {
		s.ends = now.Add(o.cfg.OneShotTTL)
	}
	ends := s.ends
	o.mu.Unlock()
	if ends.After(now) {
		if _, err := o.journal.Write(journal.Note{ID: id, Backend: o.cfg.BackendID, Ends: ends}, false); err != nil {
			o.cfg.Logger.Warn("cannot record the end of a one-shot conversation", "err", err) // it is removed all the same
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shots[id] == s {
		o.push(s, ends)
	}
}

// Keep strikes out a one-shot that its client continues. When it returns nil,
// the conversation is not removed any more, whatever happens to this process
// or this machine. The caller has the conversation's queue.
func (o *oneShots) Keep(id string) error {
	if err := o.ready(); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	o.mu.Lock()
	s := o.shots[id]
	o.mu.Unlock()
	if s == nil || !o.drop(s) {
		return nil
	}
	// Dropped first: a rewrite between the two must not write it again.
	_, err := o.journal.Write(journal.Note{ID: id, Backend: o.cfg.BackendID, Gone: true}, true)
	if err == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.ends.IsZero() { // its end found it dropped
		s.ends = o.cfg.Now().Add(o.cfg.OneShotTTL)
	}
	o.shots[id] = s
	o.push(s, s.ends)
	return fmt.Errorf("%w: %w", ErrState, err)
}

// Has reports whether a conversation is a one-shot that is there.
func (o *oneShots) Has(id string) bool {
	if o.ready() != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.shots[id] != nil
}

// Hold keeps a one-shot while its client continues it; Ended starts its time
// again. The caller has the conversation's queue.
func (o *oneShots) Hold(id string) error {
	if err := o.ready(); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	o.mu.Lock()
	s := o.shots[id]
	if s != nil {
		s.ends = time.Time{}
		o.queue.remove(s)
	}
	o.mu.Unlock()
	if s == nil {
		return nil
	}
	if _, err := o.journal.Write(journal.Note{ID: id, Backend: o.cfg.BackendID, Made: o.cfg.Now()}, false); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err) // Ended gives it its time again
	}
	return nil
}

// drop forgets s in memory and reports whether it was known.
func (o *oneShots) drop(s *oneShot) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shots[s.id] != s {
		return false
	}
	delete(o.shots, s.id)
	o.queue.remove(s)
	return true
}

// gone strikes id out. Where that fails, it is removed again after a restart,
// which finds nothing.
func (o *oneShots) gone(id string) {
	if _, err := o.journal.Write(journal.Note{ID: id, Backend: o.cfg.BackendID, Gone: true}, false); err != nil {
		o.cfg.Logger.Warn("cannot record the removal of a one-shot conversation", "err", err)
	}
}

// Close stops removing. What is left stays in the journal.
func (o *oneShots) Close() error {
	o.mu.Lock()
	o.closed = true
	if o.timer != nil {
		o.timer.Stop()
	}
	o.mu.Unlock()
	o.end()
	o.wg.Wait()
	return o.journal.Close()
}

// removeConversation removes a one-shot with what belongs to it.
func (m *Manager) removeConversation(ctx context.Context, id string) error {
	err := rescue.Do(func() error { return m.cfg.Backend.Remove(ctx, id) })
	m.cfg.broken(id, err)
	if err != nil && !errors.Is(err, agentapi.ErrConversationNotFound) {
		return fmt.Errorf("remove conversation %s: %w", id, err)
	}
	return m.tidyAfter(id)
}

// tidyAfter removes what belongs to a conversation that was removed.
func (m *Manager) tidyAfter(id string) error {
	m.unattended.end(id)
	if err := m.cfg.Owners.Forget(id); err != nil {
		return fmt.Errorf("remove conversation %s: %w", id, err)
	}
	return m.removeWorkspace(id)
}
