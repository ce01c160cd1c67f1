// Package chats knows which conversation a chat of a user interface is.
//
// A UI names its chat in a header and sends the whole of it with every
// message. The transcript is what the user sees; the conversation is what the
// agent knows; they part whenever the user stops an answer, edits a message,
// asks for another answer or goes back to an older one. [Finder] reads the
// name, [Reconcile] compares the two, a [Registry] remembers, and a [Visit] is
// what one request makes of it all.
//
// Only digests of what was said are kept, one small file for each chat.
// Invariants: a chat of one token or model is never found by another; two
// requests of one chat that come together find one conversation; a message is
// noted before its run begins, so no crash makes it unknown.
package chats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/recordfile"
	"github.com/ohgw/ohgw/internal/rescue"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Config is what a Registry needs.
type Config struct {
	// StateDir is where chats are kept; empty: in memory only.
	StateDir string
	// Shared keeps the chats of several gateways, in place of StateDir. Nil: there is
	// one gateway.
	Shared Store
	Now    func() time.Time
	Logger *slog.Logger
	// Loose is how long a conversation without a chat can be claimed by one
	// that gets its name with its second message.
	Loose time.Duration
}

const (
	// maxBranches is how many conversations of a chat are remembered, and
	// maxShared of all chats that share an id, if they are of maxSharedTurns turns
	// together and were used within keepShared.
	maxBranches    = 32
	maxShared      = 4096
	maxSharedTurns = 32 << 10
	keepShared     = 7 * 24 * time.Hour
	// maxGone is how many conversations are known that were forgotten because
	// there were too many.
	maxGone = 4096
	// maxIdle is how many unused chats stay in memory.
	maxIdle = 256
	// sweepEvery is how often the registry looks for chats that are no longer used.
	sweepEvery = 24 * time.Hour
)

// ErrUnreadable says that what is kept of a chat cannot be read now.
var ErrUnreadable = errors.New("the file of the chat cannot be read")

// Registry remembers chats. Make one with Open, end it with Close.
type Registry struct {
	cfg    Config
	store  store
	shared *peers // in place of store; nil: the chats are this process's
	loose  loose
	cancel context.CancelFunc // ends the sweeping
	wg     sync.WaitGroup

	mu    sync.Mutex
	chats map[string]*chat
}

// chat is a chat in memory.
type chat struct {
	key  string
	refs int // visits; the registry's mutex guards it

	mu     sync.Mutex
	loaded bool
	record

	underway []underway
	saved    *saved // what is on the disk; nil: not all that was
	unsaved  change // what was forgotten since

	peer // where gateways share the chat
}

// Open opens the chats of a state directory.
func Open(cfg Config) *Registry {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Registry{cfg: cfg, chats: make(map[string]*chat), cancel: cancel, loose: loose{keep: cfg.Loose}}
	switch {
	case cfg.Shared != nil:
		r.shared = &peers{store: cfg.Shared, log: cfg.Logger}
	case cfg.StateDir == "":
		return r
	default:
		r.store.files = recordfile.Open(filepath.Join(cfg.StateDir, "chats"))
	}
	r.wg.Go(func() {
		if err := rescue.Do(func() error { r.sweep(ctx); return nil }); err != nil {
			cfg.Logger.Error("old chats are no longer removed", "err", err, "stack", rescue.Of(err).Stack())
		}
	})
	return r
}

// Close ends the registry. Everything is on the disk already.
func (r *Registry) Close() {
	r.cancel()
	r.wg.Wait()
}

// sweep ends with the registry.
func (r *Registry) sweep(ctx context.Context) {
	forget := func() error { return r.store.sweep(ctx, r.cfg.Now()) }
	if r.shared != nil {
		forget = func() error { return r.shared.sweep(ctx) }
	}
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		if err := forget(); err != nil && ctx.Err() == nil {
			r.cfg.Logger.Warn("cannot remove old chats", "err", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// acquire finds a chat and keeps it in memory until it is given back.
func (r *Registry) acquire(key string) *chat {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.chats[key]
	if c == nil {
		c = &chat{key: key}
		r.chats[key] = c
	}
	c.refs++
	return c
}

func (r *Registry) release(c *chat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.refs--
	for key, other := range r.chats {
		if len(r.chats) <= maxIdle {
			return
		}
		if other.refs == 0 {
			delete(r.chats, key)
		}
	}
}

// Enter decides which conversation a request belongs to. The visit has the chat
// until [Visit.Settle]: until then no other request of the chat is decided. The
// error is ErrUnreadable. The caller must Close the visit, and may Settle it before.
func (r *Registry) Enter(req Request) (*Visit, error) {
	c := r.acquire(req.ID.Key())
	c.mu.Lock()
	v, err := r.enter(c, req)
	if err != nil {
		c.mu.Unlock()
		r.release(c)
		return nil, err
	}
	return v, nil
}

// enter is Enter for a caller that holds c.mu.
func (r *Registry) enter(c *chat, req Request) (*Visit, error) {
	if err := r.load(c); err != nil {
		return nil, err
	}
	return r.visit(c, req)
}

// load reads a chat that was not in memory. The caller holds c.mu.
func (r *Registry) load(c *chat) error {
	if r.shared != nil {
		return r.shared.load(c)
	}
	if c.loaded {
		return nil
	}
	var err error
	c.record, c.saved, err = r.store.load(c.key)
	if errors.Is(err, ErrUnreadable) {
		return err
	}
	if err != nil {
		r.cfg.Logger.Warn("the conversation of a chat is gone; starting a new one", "err", err)
	}
	c.loaded = true
	return nil
}

// visit plans a request. The caller holds c.mu.
func (r *Registry) visit(c *chat, req Request) (*Visit, error) {
	history := Rounds(req.History)
	if len(history) > 0 {
		c.Whole = true
	}
	if len(c.Branches) == 0 && !req.ID.Shared {
		if err := r.adopt(c, req, history); err != nil {
			return nil, err
		}
	}
	plan, aside, direct := c.decide(req, history)
	v := &Visit{
		r: r, chat: c, req: req, history: history, plan: plan, Aside: aside, Direct: direct,
		Conversation: uuid.New(), Made: true, draft: &draft{}, gone: plan.Kind == Quoted && c.lost(history),
	}
	v.draft.add(req.Begun)
	if plan.Branch < 0 {
		return v, nil
	}
	origin := c.Branches[plan.Branch]
	v.Workspace, v.Origin = origin.Workspace, origin.Conversation
	switch plan.Kind {
	case Continued:
		v.Conversation, v.Made, v.Origin = origin.Conversation, false, ""
	case Forked:
		v.From = origin.Turns[plan.Keep].After
	}
	return v, nil
}

// adopt gives a chat the conversation that its history is from, where that had no name
// yet. The caller holds c.mu.
func (r *Registry) adopt(c *chat, req Request, history []Round) error {
	if r.shared != nil {
		return r.shared.adopt(c, req, history)
	}
	if found := r.loose.claim(req.ID.Token, req.ID.Model, history, r.cfg.Now()); found != nil {
		c.Branches = append(c.Branches, found)
	}
	return nil
}

// decide plans a request by its history, and takes it out of the plan where it comes
// beside a run of another kind. The caller holds the chat.
func (c *chat) decide(req Request, history []Round) (plan Plan, aside, direct bool) {
	plan = c.reconcile(req, history)
	switch {
	case req.ID.Shared:
	case plan.Kind == New || plan.Kind == Quoted:
		if aside, direct = c.aside(req); aside {
			plan.Branch = -1
		}
	case plan.Kind == Continued && len(history) == 0: // nothing in it shows that it does
		if aside, direct = c.besides(req); aside {
			return Plan{Kind: New, Branch: -1}, true, direct
		}
		plan = c.next(req)
		direct = plan.Kind == New && !req.Tools
		aside = direct
	}
	return plan, aside, direct
}

// reconcile lays a history over the branches of the chat. The caller holds c.mu.
func (c *chat) reconcile(req Request, history []Round) Plan {
	rules := req.ID.Rules
	rules.Whole = rules.Whole || c.Whole
	branches := make([][]Turn, 0, len(c.Branches))
	last, shown := lastAnswer(req.History, history)
	for _, b := range c.Branches {
		branches = append(branches, b.withPartial(last, shown))
	}
	return Reconcile(history, branches, rules)
}

// next is the plan for a request without a history whose chat has conversations:
// it is the next message of the newest one, or of the newest that an agent is
// asked in, where the others were asked for titles and the like.
func (c *chat) next(req Request) Plan {
	for i, b := range slices.Backward(c.Branches) {
		n := len(b.Turns)
		if n == 0 || !b.Turns[n-1].asked.differs(mannerOf(req)) {
			return Plan{Kind: Continued, Branch: i, Keep: n}
		}
		if !req.Tools {
			break
		}
	}
	return Plan{Kind: New, Branch: -1}
}

// lastAnswer is the answer that a history ends with: as it is compared, and its
// beginning. Both are empty if there is none.
func lastAnswer(turns []turnText, history []Round) (answer Digest, shown string) {
	if len(history) == 0 || history[len(history)-1].Answer == "" {
		return "", ""
	}
	last := history[len(history)-1]
	return last.Answer, answerText(turns, last)
}

// withPartial are the turns of b, with the mark that the last answer of the
// history is the beginning of one that was being written.
func (b *branch) withPartial(last Digest, shown string) []Turn {
	marked := b.Turns
	for i := range b.Turns {
		if b.Turns[i].draft != nil && b.Turns[i].draft.beginsWith(shown) {
			if &marked[0] == &b.Turns[0] {
				marked = slices.Clone(b.Turns)
			}
			marked[i].partial = last
		}
	}
	return marked
}

// change changes a chat as f says, which returns the branch to store, or nil. With gateways
// that share the chat, f is called again where another one was faster. The caller holds c.mu.
func (r *Registry) change(c *chat, f func() *branch) {
	if r.shared != nil {
		r.shared.change(c, f)
		return
	}
	if b := f(); b != nil {
		r.save(c, b)
	}
}

// save writes the chat; that it cannot is not a reason to keep the user waiting:
// the chat would begin again after a restart, with what its transcript shows.
// The caller holds c.mu.
func (r *Registry) save(c *chat, b *branch) {
	if err := r.store.save(c, b); err != nil {
		r.cfg.Logger.Error("cannot save chat", "err", fmt.Errorf("save chat: %w", err))
	}
}
