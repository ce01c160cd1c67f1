package engine

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Change sets the title and the tags of a conversation. Other tags are an event, for
// which it is opened; where it cannot be opened, and for a title, its files have to do.
func (c controlled) Change(ctx context.Context, id string, ch control.Change) error {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return apierr.NotFound(id)
	}
	if err := tag.Check(ch.Tags); err != nil {
		return agentapi.InProcess(err)
	}
	if !store.Exists(c.b.cfg.Dir, id) {
		return agentapi.InProcess(apierr.NotFound(id))
	}
	if ch.Tags != nil {
		c.tell(ctx, id, ch.Tags)
	}
	change := func(d *store.Dir) error {
		if ch.Tags != nil {
			d.State.Tags = tag.WithOwn(ch.Tags, d.State.Tags)
			if err := d.SaveState(true); err != nil {
				return err
			}
		}
		return d.Retitle(c.b.cfg.Now(), ch.Title)
	}
	return c.b.table.alone(id, func(e *entry) (err error) {
		if e.now != nil {
			err = e.now.conv.Change(ctx, change)
		} else {
			err = store.Amend(c.b.cfg.Dir, id, c.b.cfg.storeOptions(), change)
		}
		return agentapi.InProcess(c.b.opening.Explain(ctx, id, err))
	})
}

// tell replaces the tags of a conversation by an event.
func (c controlled) tell(ctx context.Context, id string, tags map[string]string) {
	s, err := c.b.opened(ctx, agentapi.OpenRequest{ID: id, Existing: true}, nil)
	if err == nil {
		err = s.SetTags(ctx, func(now map[string]string) (all, shown map[string]string) {
			return tag.WithOwn(tags, now), tag.Others(tags)
		})
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		c.b.cfg.Log.Info("no event about new tags", "conversation", id, "err", err)
	}
}
