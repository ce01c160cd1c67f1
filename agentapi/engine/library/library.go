// Package library reads the conversations of the engine for programs that open none: records
// and lists of them, pages of their logs, and archives. A conversation that is open here is
// read from memory, any other one from its files. Importing an archive is the only change.
package library

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Config is what a library reads.
type Config struct {
	Dir     string // of all conversations
	Open    Open
	Catalog *store.Catalog
	Logs    *store.Logs
	Options store.Options
	Log     *slog.Logger
}

// Open is the conversations that are open in this process.
type Open interface {
	// IDs are those that are open, or on their way.
	IDs() []string
	// Live is one of them; nil if it is not open, or is on its way.
	Live(id string) *conversation.Conversation
}

// Library reads conversations: from memory while they are open here, or else from their
// files. It opens none.
type Library struct {
	cfg     Config
	opening apierr.Opening
}

// New makes a library.
func New(cfg Config) *Library {
	return &Library{cfg, apierr.Opening{Dir: cfg.Dir, Log: cfg.Log}}
}

// List returns a page of the conversations. Those that vanish meanwhile are left out.
func (lib *Library) List(ctx context.Context, q control.ListQuery) (control.ListPage, error) {
	list, err := lib.listed(ctx, q.Status)
	if err != nil {
		return control.ListPage{}, err
	}
	slices.SortFunc(list, ordered(q.Order))
	if at := slices.IndexFunc(list, func(l store.Listed) bool { return l.ID == q.From }); at > 0 {
		list = list[at:]
	}
	var page control.ListPage
	if q.From == "" && q.Status == "" {
		page.LeftOut = lib.leftOut()
	}
	if len(list) > q.Limit {
		page.Next = list[q.Limit].ID
		list = list[:q.Limit]
	}
	page.Records, err = lib.records(ctx, list)
	return page, err
}

// leftOut are the conversations that no list has, by their ids.
func (lib *Library) leftOut() (list []control.LeftOut) {
	for id, err := range lib.cfg.Catalog.Unreadable() {
		list = append(list, control.LeftOut{ID: id, Reason: apierr.Unreadable(err)})
	}
	slices.SortFunc(list, func(a, b control.LeftOut) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Count is the number of conversations with a status; "" is every one.
func (lib *Library) Count(ctx context.Context, status event.Status) (int, error) {
	list, err := lib.listed(ctx, status)
	return len(list), err
}

// Children finds the parts of conversations. The files of the parts say whose they are.
func (lib *Library) Children(ctx context.Context, ids ...string) (map[string][]string, error) {
	list, err := lib.listed(ctx, "")
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

// listed lists the conversations with a status, as they are now: those that are open here by
// what they say themselves.
func (lib *Library) listed(ctx context.Context, status event.Status) ([]store.Listed, error) {
	lib.cfg.Catalog.Note(lib.cfg.Open.IDs()...)
	list, err := lib.cfg.Catalog.List()
	if err != nil {
		return nil, agentapi.InProcess(apierr.Of(ctx, err, agentapi.ErrUnavailable, "The conversations cannot be listed; check that ohgw's conversations directory is readable."))
	}
	if status == "" {
		return list, nil
	}
	now := lib.statuses(ctx)
	return slices.DeleteFunc(list, func(l store.Listed) bool {
		if live, open := now[l.ID]; open {
			return live != status
		}
		return store.StatusNow(lib.cfg.Dir, l.ID, l.Status, lib.cfg.Options) != status
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

// records reads those of a page, in its order.
func (lib *Library) records(ctx context.Context, list []store.Listed) ([]control.Record, error) {
	found := make([]control.Record, len(list))
	errs := make([]error, len(list))
	places := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, l := range list {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			found[i], errs[i] = lib.record(ctx, l.ID)
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
			lib.cfg.Log.Warn("a conversation is left out of a list", "conversation", list[i].ID, "err", errs[i])
		}
	}
	return records, nil
}

// Log is the directory of a conversation.
func (lib *Library) Log(id string) (string, error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id || !store.Exists(lib.cfg.Dir, id) {
		return "", apierr.NotFound(id)
	}
	return store.Path(lib.cfg.Dir, id), nil
}

// statuses asks the conversations that are open here for their status, and leaves out those
// that do not answer.
func (lib *Library) statuses(ctx context.Context) map[string]event.Status {
	ids := lib.cfg.Open.IDs()
	ctx, cancel := context.WithTimeout(ctx, liveTime)
	defer cancel()
	now := make(map[string]event.Status, len(ids))
	for _, id := range ids {
		conv := lib.cfg.Open.Live(id)
		if conv == nil {
			continue
		}
		if status, err := conv.Status(ctx); err == nil {
			now[id] = status
		}
	}
	return now
}
