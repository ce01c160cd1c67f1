package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Rest closes the conversations that are open. A run is interrupted first, and stays
// paused. The next request for a conversation opens it again.
func (c controlled) Rest(ctx context.Context) error {
	b := c.b
	b.mu.Lock()
	entries := make([]*entry, 0, len(b.open))
	for _, e := range b.open {
		entries = append(entries, e)
	}
	b.mu.Unlock()
	errs := make([]error, len(entries))
	var all sync.WaitGroup
	for i, e := range entries {
		all.Go(func() { errs[i] = b.rest(ctx, e) })
	}
	all.Wait()
	return agentapi.InProcess(errors.Join(errs...))
}

// rest closes a conversation after the end of its run.
func (b *Backend) rest(ctx context.Context, e *entry) error {
	if conv := b.live(e.id); conv != nil {
		status, err := conv.Status(ctx)
		if err == nil && status == event.Running {
			err = conv.Halt(ctx)
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
	}
	return b.shut(e, false) // One that does not answer is ended like those at the end of the process.
}
