package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// controlled is the backend as OpenHands' own programs see it.
type controlled struct{ b *Backend }

var _ control.Engine = controlled{}

// Control is the backend as OpenHands' own programs see it: the same conversations,
// with the same locks and the same queues.
func (b *Backend) Control() control.Engine { return controlled{b} }

// Log is the directory of a conversation.
func (c controlled) Log(id string) (string, error) {
	if !store.Exists(c.b.cfg.Dir, id) {
		return "", notFound(id)
	}
	return store.Path(c.b.cfg.Dir, id), nil
}

// Remove deletes a conversation.
func (c controlled) Remove(ctx context.Context, id string) error { return c.b.Remove(ctx, id) }

var errNotYet = errors.ErrUnsupported

func (c controlled) List(context.Context, control.ListQuery) (control.ListPage, error) {
	return control.ListPage{}, errNotYet
}

func (c controlled) Count(context.Context, event.Status) (int, error) { return 0, errNotYet }

func (c controlled) Search(context.Context, string, control.EventQuery) (control.EventPage, error) {
	return control.EventPage{}, errNotYet
}

func (c controlled) CountEvents(context.Context, string, control.EventFilter) (int, error) {
	return 0, errNotYet
}

func (c controlled) Event(context.Context, string, string) (json.RawMessage, error) {
	return nil, errNotYet
}
