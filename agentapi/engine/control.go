package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/uuid"
)

// controlled is the backend as OpenHands' own programs see it.
type controlled struct{ b *Backend }

var _ control.Engine = controlled{}

// Control is the backend as OpenHands' own programs see it: the same conversations,
// with the same locks and the same queues.
func (b *Backend) Control() control.Engine { return controlled{b} }

// Log is the directory of a conversation.
func (c controlled) Log(id string) (string, error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id || !store.Exists(c.b.cfg.Dir, id) {
		return "", notFound(id)
	}
	return store.Path(c.b.cfg.Dir, id), nil
}

// Remove deletes a conversation.
func (c controlled) Remove(ctx context.Context, id string) error { return c.b.Remove(ctx, id) }
