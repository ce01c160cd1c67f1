package chats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// storeTime bounds one call of the store, sweepTime the removal of what is old.
const (
	storeTime = 10 * time.Second
	sweepTime = time.Minute
)

// peers are the gateways that share chats, as one of them sees them.
type peers struct {
	store Store
	log   *slog.Logger
}

// limited bounds one call of the store.
func limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), storeTime)
}

// load reads a chat as the gateways have it now. The caller holds c.mu.
func (p *peers) load(c *chat) error {
	if err := p.refresh(c); err != nil {
		return err
	}
	return p.bury(c)
}

// refresh reads a chat that another gateway has changed. The caller holds c.mu.
func (p *peers) refresh(c *chat) error {
	ctx, cancel := limited()
	defer cancel()
	have := c.rev
	if !c.loaded {
		have = 0
	}
	data, rev, err := p.store.Load(ctx, c.key, have)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if c.loaded && rev == have {
		return nil
	}
	if err := c.decode(data); err != nil {
		p.log.Warn("the conversation of a chat is gone; starting a new one", "err", err)
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
func (p *peers) bury(c *chat) error {
	for _, b := range slices.Clone(c.Branches) {
		for i := len(b.Turns) - 1; i >= 0; i-- {
			t := &b.Turns[i]
			if t.gateway == "" || c.drafts[t.visit] != nil {
				continue
			}
			ctx, cancel := limited()
			alive, err := p.store.Alive(ctx, t.gateway, c.key, b.Conversation)
			cancel()
			if err != nil {
				return fmt.Errorf("%w: %w", ErrUnreadable, err)
			}
			if alive && t.gateway != p.store.Self() {
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

// change changes a chat as f says, which returns the branch to store, or nil. F is called
// again where another gateway was faster, and once more where it is unknown whether the chat
// was stored. The caller holds c.mu.
func (p *peers) change(c *chat, f func() *branch) {
	if f() == nil {
		return
	}
	c.pending = append(c.pending, f)
	if err := p.flush(c, ErrChanged); err != nil { // it is stored with the next change
		p.log.Error("cannot save chat", "err", fmt.Errorf("save chat: %w", err))
	}
}

// flush stores a chat with all that was changed in it. Where that fails with again, the
// chat is read and changed once more. The caller holds c.mu.
func (p *peers) flush(c *chat, again error) error {
	for {
		if !c.loaded {
			if err := p.refresh(c); err != nil {
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
		ctx, cancel := limited()
		rev, err := p.store.Save(ctx, c.key, data, c.rev)
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

// sweep forgets what is over.
func (p *peers) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	return p.store.Sweep(ctx, keepFor)
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
func (p *peers) addLoose(token, model string, b *branch, keep time.Duration) {
	last := b.Turns[len(b.Turns)-1]
	data, err := plainjson.Marshal(b)
	if err == nil {
		ctx, cancel := limited()
		defer cancel()
		err = p.store.AddLoose(ctx, hashOf(token, model), looseWords(last.User, last.Answers...), data, keep)
	}
	if err != nil { // its chat begins again, if it gets a name
		p.log.Warn("cannot note the conversation of a request that names no chat", "err", err)
	}
}

// adopt gives a chat the conversation without a chat that its history is from, if there is
// one. The caller holds c.mu.
func (p *peers) adopt(c *chat, req Request, history []Round) error {
	found, err := p.claimLoose(req.ID.Token, req.ID.Model, history)
	if err != nil || found == nil {
		return err
	}
	p.change(c, func() *branch {
		if c.find(found.Conversation) == nil {
			c.Branches = append(c.Branches, found)
		}
		return found
	})
	return nil
}

// claimLoose takes out the conversation that a history is from; nil: there is none.
func (p *peers) claimLoose(token, model string, history []Round) (*branch, error) {
	if len(history) == 0 {
		return nil, nil
	}
	ctx, cancel := limited()
	defer cancel()
	last := history[len(history)-1]
	found, err := p.store.FindLoose(ctx, hashOf(token, model), looseWords(last.User, last.Answer))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	for _, l := range found {
		var b branch
		if json.Unmarshal(l.Record, &b) != nil || !isOf(history, b.Turns) {
			continue
		}
		mine, err := p.store.TakeLoose(ctx, l.ID)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		if mine {
			return &b, nil
		}
	}
	return nil, nil
}
