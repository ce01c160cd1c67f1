package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Change sets the title and the tags of a conversation: in memory where it is open
// here, else in its files.
func (c controlled) Change(ctx context.Context, id string, ch control.Change) error {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return notFound(id)
	}
	if err := checkTags(ch.Tags); err != nil {
		return agentapi.InProcess(err)
	}
	if !store.Exists(c.b.cfg.Dir, id) {
		return agentapi.InProcess(notFound(id))
	}
	e, err := c.b.acquire(id)
	if err != nil {
		return err
	}
	defer c.b.release(e)
	e.mu.Lock()
	defer e.mu.Unlock()
	c.b.clear(e)
	change := func(d *store.Dir) error {
		if ch.Tags != nil {
			d.State.Tags = withOwnTags(ch.Tags, d.State.Tags)
			if err := d.SaveState(true); err != nil {
				return err
			}
		}
		return d.Retitle(c.b.cfg.Now(), ch.Title)
	}
	if e.conv != nil {
		err = e.conv.Change(ctx, change)
	} else {
		err = store.Amend(c.b.cfg.Dir, id, c.b.storeOptions(), change)
	}
	return agentapi.InProcess(c.b.openError(ctx, id, err))
}
