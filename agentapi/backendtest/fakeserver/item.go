package fakeserver

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/internal/uuid"
)

// ErrRetry is what a [Model] returns for an answer that its provider broke off: it is
// asked again, and what it says then is a new attempt.
var ErrRetry = errors.New("the provider broke off")

// item is a text that the model writes. The event that it ends in has its id.
type item struct {
	id      string
	attempt int
	order   int
	opened  bool
	ended   bool // an event has its id
}

func newItem() *item { return &item{id: uuid.New(), attempt: 1} }

// ask asks the model until it has an answer.
func (c *conversation) ask(ctx context.Context, p Prompt, it *item, listened bool) (Reply, error) {
	for {
		reply, err := c.server.opts.Model(ctx, p, func(text string) {
			if p.Stream && listened {
				c.delta(it, text)
			}
		})
		if !errors.Is(err, ErrRetry) {
			return reply, err
		}
		if it.order > 0 {
			it.attempt, it.order = it.attempt+1, 0
		}
	}
}

// delta publishes a piece of text.
func (c *conversation) delta(it *item, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it.order == 0 {
		it.opened = true
		p := progress{Type: typeStarted, ItemID: it.id, Attempt: it.attempt}
		if n := len(c.log); n > 0 {
			n--
			p.Anchor = &n
		}
		c.tell(p)
	}
	order := it.order
	it.order++
	c.tell(progress{Type: typeDelta, ItemID: it.id, Attempt: it.attempt, Order: &order, Kind: "text", Content: text})
}

// abort tells that no event will have the text.
func (c *conversation) abort(it *item, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it.opened && !it.ended {
		c.tell(progress{Type: typeAborted, ItemID: it.id, Attempt: it.attempt, Reason: reason})
	}
}

// tell sends a progress to all subscribers. The caller holds mu.
func (c *conversation) tell(p progress) {
	for s := range c.subscribers {
		s.progress(p)
	}
}
