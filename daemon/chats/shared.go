package chats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Store keeps the chats of several gateways that answer as one. Its methods may be called
// at the same time. An error, but [ErrChanged], says that nobody can tell.
type Store interface {
	// Load is the record of a chat with its revision: nil and 0 where there is none, and
	// nil with a revision where that is have.
	Load(ctx context.Context, key string, have int64) (record []byte, rev int64, err error)
	// Save stores a record in place of the one with this revision, and gives that of the
	// new one. Where the chat has another revision, it is ErrChanged.
	Save(ctx context.Context, key string, record []byte, rev int64) (now int64, err error)
	// Self names this gateway, as no other one and no earlier one.
	Self() string
	// Alive reports whether a gateway may still have a run in a conversation of a chat:
	// it lives, and the run has not ended, or the chat was saved a moment ago.
	Alive(ctx context.Context, gateway, key, conversation string) (bool, error)

	// AddLoose keeps something for a time, and FindLoose finds what has one of the words,
	// the newest first. TakeLoose takes it out; false: another gateway has.
	AddLoose(ctx context.Context, place string, words []string, record []byte, keep time.Duration) error
	FindLoose(ctx context.Context, place string, words []string) ([]Loose, error)
	TakeLoose(ctx context.Context, id int64) (bool, error)

	// Sweep forgets chats that were not saved for so long, and what is over of the rest.
	Sweep(ctx context.Context, unused time.Duration) error
}

// Loose is a conversation without a chat, as a Store has it.
type Loose struct {
	ID     int64
	Record []byte
}

// ErrChanged says that another gateway has changed the chat meanwhile: what was decided
// has to be decided again.
var ErrChanged = errors.New("another request has changed the chat")

// storeTime bounds one question to the store.
const storeTime = 10 * time.Second

// sharedTurn is a turn as gateways share it.
type sharedTurn struct {
	Turn

	Visit   string `json:"v,omitempty"` // whose turn it is
	Gateway string `json:"g,omitempty"` // that has the run; empty: it is over
	Waits   bool   `json:"w,omitempty"` // the run has not begun, and may never
	Asked   bool   `json:"k,omitempty"` // System and Tools are known
	System  Digest `json:"y,omitempty"`
	Tools   bool   `json:"l,omitempty"`
}

type sharedBranch struct {
	Conversation string       `json:"conversation_id"`
	Workspace    string       `json:"workspace,omitempty"`
	Used         time.Time    `json:"used"`
	Turns        []sharedTurn `json:"turns"`
}

// sharedRecord is a chat as gateways share it.
type sharedRecord struct {
	Version  int            `json:"version"`
	Whole    bool           `json:"whole,omitempty"`
	Branches []sharedBranch `json:"branches"`
	Gone     []Digest       `json:"gone,omitempty"`
}

// encode is the chat for the other gateways.
func (c *chat) encode() ([]byte, error) {
	r := sharedRecord{Version: recordVersion, Whole: c.Whole, Gone: c.Gone}
	for _, b := range c.Branches {
		s := sharedBranch{Conversation: b.Conversation, Workspace: b.Workspace, Used: b.Used, Turns: make([]sharedTurn, len(b.Turns))}
		for i, t := range b.Turns {
			s.Turns[i] = sharedTurn{Turn: t, Visit: t.visit, Gateway: t.gateway, Waits: t.waits}
			if t.asked.known && (i == len(b.Turns)-1 || t.gateway != "") { // nobody asks for the others
				s.Turns[i].Asked, s.Turns[i].System, s.Turns[i].Tools = true, t.asked.system, t.asked.tools
			}
		}
		r.Branches = append(r.Branches, s)
	}
	return json.Marshal(r)
}

// decode takes a record of the store into memory, where it meets what only this gateway
// knows: the answers that it shows.
func (c *chat) decode(data []byte) error {
	var r sharedRecord
	if data != nil {
		if err := json.Unmarshal(data, &r); err != nil || r.Version != recordVersion {
			return fmt.Errorf("read chat %s: not a chat of this version", c.key[:8])
		}
	}
	c.record = record{Whole: r.Whole, Gone: r.Gone}
	c.underway = nil
	for _, s := range r.Branches {
		b := &branch{Conversation: s.Conversation, Workspace: s.Workspace, Used: s.Used, Turns: make([]Turn, len(s.Turns))}
		for i, st := range s.Turns {
			t := st.Turn
			t.visit, t.gateway, t.waits, t.draft = st.Visit, st.Gateway, st.Waits, c.drafts[st.Visit]
			t.asked = manner{known: st.Asked, system: st.System, tools: st.Tools}
			if t.gateway != "" {
				c.underway = append(c.underway, underway{conversation: b.Conversation, draft: t.draft, visit: t.visit, system: t.asked.system, tools: t.asked.tools})
			}
			b.Turns[i] = t
		}
		c.Branches = append(c.Branches, b)
	}
	return nil
}

// refresh reads a chat as the gateways have it now. The caller holds c.mu.
func (r *Registry) refresh(c *chat) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	have := c.rev
	if !c.loaded {
		have = 0
	}
	data, rev, err := r.shared.Load(ctx, c.key, have)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if c.loaded && rev == have {
		return nil
	}
	if err := c.decode(data); err != nil {
		r.cfg.Logger.Warn("the conversation of a chat is gone; starting a new one", "err", err)
		c.record, c.underway = record{}, nil
	}
	c.rev, c.loaded, c.stored = rev, true, nil
	for _, f := range c.pending {
		f()
	}
	return nil
}

// bury takes out the turns of gateways that are dead: those that never began were never
// said. The caller holds c.mu.
func (r *Registry) bury(c *chat) error {
	for _, b := range slices.Clone(c.Branches) {
		for i := len(b.Turns) - 1; i >= 0; i-- {
			t := &b.Turns[i]
			if t.gateway == "" || c.drafts[t.visit] != nil {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), storeTime)
			alive, err := r.shared.Alive(ctx, t.gateway, c.key, b.Conversation)
			cancel()
			if err != nil {
				return fmt.Errorf("%w: %w", ErrUnreadable, err)
			}
			if alive && t.gateway != r.shared.Self() {
				continue
			}
			c.underway = slices.DeleteFunc(c.underway, func(u underway) bool { return u.visit == t.visit })
			t.gateway = ""
			if t.waits {
				b.Turns = slices.Delete(b.Turns, i, i+1)
			}
		}
		if len(b.Turns) == 0 {
			c.Branches = slices.DeleteFunc(c.Branches, func(other *branch) bool { return other == b })
		}
	}
	return nil
}

// change changes a chat as f says, which gives the branch to store, or nil. With gateways
// that share the chat f is called again where another one was faster, and once more where
// nobody knows whether it was stored. The caller holds c.mu.
func (r *Registry) change(c *chat, f func() *branch) {
	b := f()
	if r.shared == nil {
		if b != nil {
			r.save(c, b)
		}
		return
	}
	if b == nil {
		return
	}
	c.pending = append(c.pending, f)
	if err := r.flush(c, ErrChanged); err != nil { // it is stored with the next change
		r.cfg.Logger.Error("cannot save chat", "err", fmt.Errorf("save chat: %w", err))
	}
}

// flush stores a chat with all that was changed in it. Where it fails with again, what
// was changed is changed once more. The caller holds c.mu.
func (r *Registry) flush(c *chat, again error) error {
	for {
		if !c.loaded {
			if err := r.refresh(c); err != nil {
				return err
			}
		}
		data, err := c.encode()
		if err != nil {
			return fmt.Errorf("encode chat: %w", err)
		}
		if bytes.Equal(data, c.stored) { // what was changed is known to this gateway alone
			c.pending = nil
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), storeTime)
		rev, err := r.shared.Save(ctx, c.key, data, c.rev)
		cancel()
		if err == nil {
			c.rev, c.pending, c.stored = rev, nil, data
			return nil
		}
		c.loaded = false
		if again == nil || !errors.Is(err, again) {
			return err
		}
	}
}

// sweepShared forgets what is over in the store, until the registry ends.
func (r *Registry) sweepShared() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-r.done:
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := r.shared.Sweep(ctx, keepFor); err != nil {
			r.cfg.Logger.Warn("cannot remove old chats", "err", err)
		}
		cancel()
	}
}

// looseWords are the words by which a conversation is found whose last turn has these
// texts.
func looseWords(user Digest, answers ...Digest) (words []string) {
	if user != "" {
		words = append(words, "u:"+string(user))
	}
	for _, a := range answers {
		if a != "" {
			words = append(words, "a:"+string(a))
		}
	}
	return words
}

// addLoose keeps a conversation without a chat for all gateways.
func (r *Registry) addLoose(token, model string, b *branch) {
	last := b.Turns[len(b.Turns)-1]
	data, err := json.Marshal(b)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), storeTime)
		defer cancel()
		err = r.shared.AddLoose(ctx, hashOf(token, model), looseWords(last.User, last.Answers...), data, r.loose.keep)
	}
	if err != nil { // its chat begins again, if it gets a name
		r.cfg.Logger.Warn("cannot note the conversation of a request that names no chat", "err", err)
	}
}

// claimLoose takes out the conversation that a history is from, if there is one.
func (r *Registry) claimLoose(token, model string, history []Round) (*branch, error) {
	if len(history) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	last := history[len(history)-1]
	found, err := r.shared.FindLoose(ctx, hashOf(token, model), looseWords(last.User, last.Answer))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	for _, l := range found {
		var b branch
		if json.Unmarshal(l.Record, &b) != nil || !isOf(history, b.Turns) {
			continue
		}
		mine, err := r.shared.TakeLoose(ctx, l.ID)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		if mine {
			return &b, nil
		}
	}
	return nil, nil
}
