package library

import (
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/control"
)

// logPage is how many events are asked for at once.
const logPage = 100

// Reader reads the events of a conversation page by page, and again for what has come since.
type Reader struct {
	lib  control.Library
	id   string
	last string // the id of the last event that was read
	from string // the id of the next page's first event; "" is not known
}

// Reader reads a conversation, of which nothing was read yet.
func (l Library) Reader(id string) *Reader { return &Reader{lib: l, id: id} }

// Skip makes all but the last events count as read. 0 skips none.
func (r *Reader) Skip(ctx context.Context, last int) error {
	q := control.EventQuery{Limit: logPage, Newest: true}
	for last > 0 {
		page, err := r.lib.Search(ctx, r.id, q)
		if err != nil {
			return err
		}
		if len(page.Events) >= last {
			r.from = idOf(page.Events[last-1])
			return nil
		}
		if last -= len(page.Events); page.Next == "" {
			return nil // there are not so many
		}
		q.Page = page.Next
	}
	return nil
}

// Read gives all events that were not read yet.
func (r *Reader) Read(ctx context.Context, give func(json.RawMessage) error) error {
	for {
		q := control.EventQuery{Limit: logPage, Page: r.from}
		if q.Page == "" {
			q.Page = r.last
		}
		page, err := r.lib.Search(ctx, r.id, q)
		if err != nil {
			return err
		}
		events := page.Events
		if len(events) > 0 && idOf(events[0]) == r.last {
			events = events[1:]
		}
		for _, raw := range events {
			if err := give(raw); err != nil {
				return err
			}
			r.last = idOf(raw)
		}
		if r.from = page.Next; r.from == "" {
			return nil
		}
	}
}

func idOf(raw json.RawMessage) string {
	var e struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &e) // then it has none
	return e.ID
}
