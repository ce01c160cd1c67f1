package accounts

import (
	"context"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
)

// LogPause is how often a server is asked for new events. It allows 100 requests a
// minute, to all programs of a person together.
const LogPause = 3 * time.Second

// Log reads the events that a server has stored, and again for what has come since.
type Log struct {
	acc  Account
	id   string
	seen map[string]bool // ids of the newest events that were read
	from time.Time       // of the newest event that was read
}

// Log is the log of a conversation, of which nothing was read yet.
func (a Account) Log(id string) *Log { return &Log{acc: a, id: id} }

// Newest reads the last events that are wanted, the oldest first; 0 is all of them.
func (l *Log) Newest(ctx context.Context, last int, wanted func(account.Event) bool) ([]account.Event, error) {
	var found []account.Event
	q := account.EventQuery{Newest: true}
	for {
		page, err := l.acc.Events(ctx, l.id, q)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Events {
			l.note(e)
			if wanted(e) && (last == 0 || len(found) < last) {
				found = append(found, e)
			}
		}
		if page.Next == "" || page.Next == q.Page || last > 0 && len(found) >= last {
			slices.Reverse(found)
			return found, nil
		}
		q.Page = page.Next
	}
}

// Next gives the events since the last call, the oldest first, page by page.
func (l *Log) Next(ctx context.Context, give func(account.Event) error) error {
	q := account.EventQuery{Since: l.from}
	for {
		page, err := l.acc.Events(ctx, l.id, q)
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if l.seen[e.ID] {
				continue
			}
			l.note(e)
			if err := give(e); err != nil {
				return err
			}
		}
		if page.Next == "" || page.Next == q.Page {
			return nil
		}
		q.Page = page.Next
	}
}

// note remembers an event as read. Events of one moment can come in any order, and
// late: their ids are remembered.
func (l *Log) note(e account.Event) {
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[e.ID] = true
	if e.Time.After(l.from) {
		l.from = e.Time
	}
}
