package pool

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
)

var _ agentapi.Marked = (*Backend)(nil)

// Strangers asks all members at the same time. One that does not answer is not named, and
// its error is next to the others' addresses.
func (b *Backend) Strangers(ctx context.Context, state string, since time.Time) (found []string, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, m := range b.all() {
		marked, ok := m.to.(agentapi.Marked)
		if !ok {
			continue
		}
		wg.Go(func() {
			list, askErr := marked.Strangers(ctx, state, since)
			mu.Lock()
			defer mu.Unlock()
			found, err = append(found, list...), errors.Join(err, askErr)
		})
	}
	wg.Wait()
	return found, err
}
