package conversations

import (
	"context"
	"sync"
)

// creates lets the creates of one id come one after the other. A client may send a
// create again whose answer it has never seen.
type creates struct {
	mu      sync.Mutex
	waiting map[string]*place
}

// place is where the creates of an id wait. The one that put its token in goes on.
type place struct {
	token chan struct{}
	users int // guarded by the lock of creates
}

// take waits for the other creates of an id. Who gets a place calls done.
func (c *creates) take(ctx context.Context, id string) (done func(), err error) {
	c.mu.Lock()
	p := c.waiting[id]
	if p == nil {
		p = &place{token: make(chan struct{}, 1)}
		if c.waiting == nil {
			c.waiting = make(map[string]*place)
		}
		c.waiting[id] = p
	}
	p.users++
	c.mu.Unlock()
	select {
	case p.token <- struct{}{}:
		return func() { <-p.token; c.leave(id, p) }, nil
	case <-ctx.Done():
		c.leave(id, p)
		return nil, ctx.Err()
	}
}

func (c *creates) leave(id string, p *place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(c.waiting, id)
	}
}
