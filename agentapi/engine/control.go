package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// controlled is the backend as OpenHands' own programs see it.
type controlled struct{ b *Backend }

var _ control.Engine = controlled{}

// Control is the backend as OpenHands' own programs see it: the same conversations,
// with the same locks and the same queues.
func (b *Backend) Control() control.Engine { return controlled{b} }

// Record reads a conversation from its files.
func (c controlled) Record(ctx context.Context, id string) (control.Record, error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return control.Record{}, notFound(id)
	}
	state, err := store.Peek(c.b.cfg.Dir, id)
	if err != nil {
		return control.Record{}, agentapi.InProcess(c.b.openError(ctx, id, err))
	}
	about, err := store.Describe(c.b.cfg.Dir, id)
	if err != nil {
		return control.Record{}, agentapi.InProcess(c.b.openError(ctx, id, err))
	}
	data, err := json.Marshal(state)
	return control.Record{ID: id, State: data, Title: about.Title, Created: about.Created, Updated: about.Created, Status: state.Status}, err
}

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

func (c controlled) Change(context.Context, string, control.Change) error { return errNotYet }

func (c controlled) Search(context.Context, string, control.EventQuery) (control.EventPage, error) {
	return control.EventPage{}, errNotYet
}

func (c controlled) CountEvents(context.Context, string, control.EventFilter) (int, error) {
	return 0, errNotYet
}

func (c controlled) Event(context.Context, string, string) (json.RawMessage, error) {
	return nil, errNotYet
}
