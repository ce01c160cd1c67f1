package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// List is a page of the conversations. Those that vanish meanwhile are left out.
func (c controlled) List(ctx context.Context, q control.ListQuery) (control.ListPage, error) {
	list, err := c.listed(ctx, q.Status)
	if err != nil {
		return control.ListPage{}, err
	}
	slices.SortFunc(list, ordered(q.Order))
	if at := slices.IndexFunc(list, func(l store.Listed) bool { return l.ID == q.From }); at > 0 {
		list = list[at:]
	}
	var page control.ListPage
	if q.From == "" && q.Status == "" {
		page.LeftOut = c.b.leftOut()
	}
	if len(list) > q.Limit {
		page.Next = list[q.Limit].ID
		list = list[:q.Limit]
	}
	page.Records, err = c.records(ctx, list)
	return page, err
}

// leftOut are the conversations that no list has, by their ids.
func (b *Backend) leftOut() (list []control.LeftOut) {
	for id, err := range b.catalog.Unreadable() {
		list = append(list, control.LeftOut{ID: id, Reason: apierr.Unreadable(err)})
	}
	slices.SortFunc(list, func(a, b control.LeftOut) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Count is the number of conversations with a status; "" is every one.
func (c controlled) Count(ctx context.Context, status event.Status) (int, error) {
	list, err := c.listed(ctx, status)
	return len(list), err
}

// Children are the parts of conversations. The files of the parts say whose they are.
func (c controlled) Children(ctx context.Context, ids ...string) (map[string][]string, error) {
	list, err := c.listed(ctx, "")
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(l store.Listed) bool { return l.Parent == "" })
	slices.SortFunc(list, ordered(control.ByCreated))
	children := make(map[string][]string)
	for _, l := range list {
		if parent, err := uuid.Parse(l.Parent); err == nil && slices.Contains(ids, parent) {
			children[parent] = append(children[parent], l.ID)
		}
	}
	return children, nil
}

// listed are the conversations with a status, as they are now: those that are open
// here by what they say themselves.
func (c controlled) listed(ctx context.Context, status event.Status) ([]store.Listed, error) {
	c.b.catalog.Note(c.b.table.openIDs()...)
	list, err := c.b.catalog.List()
	if err != nil {
		return nil, agentapi.InProcess(apierr.Of(ctx, err, agentapi.ErrUnavailable, "The conversations cannot be listed; check that ohgw's conversations directory is readable."))
	}
	if status == "" {
		return list, nil
	}
	now := c.b.table.statuses(ctx)
	return slices.DeleteFunc(list, func(l store.Listed) bool {
		if live, open := now[l.ID]; open {
			return live != status
		}
		return store.StatusNow(c.b.cfg.Dir, l.ID, l.Status, c.b.cfg.storeOptions()) != status
	}), nil
}

// ordered compares conversations for a list. What was made at the same time is in
// the order of its ids, so that pages do not overlap.
func ordered(order string) func(a, b store.Listed) int {
	at := func(l store.Listed) time.Time { return l.Created }
	if order == control.ByUpdated || order == control.ByUpdatedDesc {
		at = func(l store.Listed) time.Time { return l.Updated }
	}
	sign := -1
	if order == control.ByCreated || order == control.ByUpdated {
		sign = 1
	}
	return func(a, b store.Listed) int {
		if c := at(a).Compare(at(b)); c != 0 {
			return sign * c
		}
		return strings.Compare(a.ID, b.ID)
	}
}

// atOnce is how many records of a page are read at the same time.
const atOnce = 4

// records are those of a page, in its order.
func (c controlled) records(ctx context.Context, list []store.Listed) ([]control.Record, error) {
	found := make([]control.Record, len(list))
	errs := make([]error, len(list))
	places := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, l := range list {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			found[i], errs[i] = c.record(ctx, l.ID)
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	records := make([]control.Record, 0, len(list))
	for i, r := range found {
		switch {
		case errs[i] == nil:
			records = append(records, r)
		case !errors.Is(errs[i], store.ErrNotFound):
			c.b.cfg.Log.Warn("a conversation is left out of a list", "conversation", list[i].ID, "err", errs[i])
		}
	}
	return records, nil
}
