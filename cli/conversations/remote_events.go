package conversations

import (
	"context"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/internal/setup/cloud"
)

// remotePause is how often a server is asked for new events. It allows 100 requests a
// minute, to all programs of a person together.
const remotePause = 3 * time.Second

// stored reads the events that a server has stored, and again for what has come since.
type stored struct {
	acc  cloud.Account
	id   string
	seen map[string]bool // ids of the newest events that were read
	from time.Time       // of the newest event that was read
}

// newest are the last events that are wanted, the oldest first; 0 is all of them.
func (s *stored) newest(ctx context.Context, last int, wanted func(account.Event) bool) ([]account.Event, error) {
	var found []account.Event
	q := account.EventQuery{Newest: true}
	for {
		page, err := s.acc.Events(ctx, s.id, q)
		if err != nil {
			return nil, err
		}
		for _, e := range page.Events {
			s.note(e)
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

// next gives the events since the last call, the oldest first, page by page.
func (s *stored) next(ctx context.Context, give func(account.Event) error) error {
	q := account.EventQuery{Since: s.from}
	for {
		page, err := s.acc.Events(ctx, s.id, q)
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if s.seen[e.ID] {
				continue
			}
			s.note(e)
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
func (s *stored) note(e account.Event) {
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[e.ID] = true
	if e.Time.After(s.from) {
		s.from = e.Time
	}
}

// runRemoteEvents prints the stored events of a conversation on a server.
func runRemoteEvents(ctx context.Context, o *eventsOptions) error {
	acc, conv, err := o.find(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	log := &stored{acc: acc, id: conv.ID}
	show := func(e account.Event) error { return o.showRemote(conv, e) }
	if o.Last > 0 {
		events, err := log.newest(ctx, o.Last, func(account.Event) bool { return true })
		if err != nil {
			return cloud.Fault(err, acc.Server)
		}
		for _, e := range events {
			if err := show(e); err != nil {
				return err
			}
		}
	}
	for again := o.Last == 0; ; again = true {
		if again {
			if err := log.next(ctx, show); err != nil {
				return cloud.Fault(err, acc.Server)
			}
		}
		if !o.Follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(remotePause):
		}
	}
}

func (o *eventsOptions) showRemote(conv account.Conversation, e account.Event) error {
	if conv.Version == account.V1 {
		return o.show(e.Raw)
	}
	at := "-"
	if !e.Time.IsZero() {
		at = e.Time.Format(time.DateTime)
	}
	return o.line(e.Raw, at, e.Source, e.Kind, e.Text)
}
