package agents

import (
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/control"
)

// logPage is how many events are asked for at once.
const logPage = 100

// Log reads the events of a conversation page by page, and again for what has come since.
type Log struct {
	lib  control.Library
	id   string
	last string // the id of the last event that was read
	from string // the id of the next page's first event; "" is not known
}

// Log is the log of a conversation, of which nothing was read yet.
func (l Library) Log(id string) *Log { return &Log{lib: l, id: id} }

// Skip makes all but the last events count as read. 0 skips none.
func (l *Log) Skip(ctx context.Context, last int) error {
	q := control.EventQuery{Limit: logPage, Newest: true}
	for last > 0 {
		page, err := l.lib.Search(ctx, l.id, q)
		if err != nil {
			return err
		}
		if len(page.Events) >= last {
			l.from = idOf(page.Events[last-1])
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
func (l *Log) Read(ctx context.Context, give func(json.RawMessage) error) error {
	for {
		q := control.EventQuery{Limit: logPage, Page: l.from}
		if q.Page == "" {
			q.Page = l.last
		}
		page, err := l.lib.Search(ctx, l.id, q)
		if err != nil {
			return err
		}
		events := page.Events
		if len(events) > 0 && idOf(events[0]) == l.last {
			events = events[1:]
		}
		for _, raw := range events {
			if err := give(raw); err != nil {
				return err
			}
			l.last = idOf(raw)
		}
		if l.from = page.Next; l.from == "" {
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
