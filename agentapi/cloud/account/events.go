package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	v1 "github.com/ohgw/ohgw/agentapi/cloud/v1"
)

// EventQuery chooses stored events.
type EventQuery struct {
	Page   string // of a former EventPage; "" is the first
	Limit  int    // of one page; 0 or more than 100: 100
	Kind   string // such as MessageEvent; V0: an action or observation
	Newest bool   // newest first
	Since  time.Time
}

// Event is a stored event: OpenHands' own for a V1 conversation, a V0 one else.
type Event struct {
	ID     string
	Kind   string // V1's kind, V0's action or observation
	Source string // agent, user, environment
	Time   time.Time
	Text   string // what it says to a person; "" for most events
	Final  bool   // Text is the result of a run
	Raw    json.RawMessage
}

// EventPage is one page of a list. It may be empty and not be the last.
type EventPage struct {
	Events []Event
	Next   string // "" at the end
}

// Events reads a page of what happened in a conversation, also of one that sleeps or
// is archived. The server learns of events up to 30 s late. Pieces of streamed text
// are left out.
func (c *Client) Events(ctx context.Context, id string, q EventQuery) (EventPage, error) {
	server, err := c.known(ctx)
	if err != nil {
		return EventPage{}, err
	}
	if q.Limit <= 0 || q.Limit > v1.MaxPage {
		q.Limit = v1.MaxPage
	}
	conv := Conversation{ID: transport.Hex(id), Version: V1}
	if q.Page == "" || server.V0 { // An empty page does not prove that it exists.
		if conv, err = c.Get(ctx, id); err != nil {
			return EventPage{}, err
		}
	}
	if conv.Version == V0 {
		return c.eventsV0(ctx, conv.ID, q)
	}
	return c.eventsV1(ctx, conv.ID, q)
}

func (c *Client) eventsV1(ctx context.Context, id string, q EventQuery) (EventPage, error) {
	ask := v1.EventQuery{Page: q.Page, Limit: q.Limit, Kind: q.Kind, Newest: q.Newest, Since: q.Since}
	got, err := c.v1.Events(ctx, id, ask)
	if e, ok := errors.AsType[*transport.Error](err); ok && e.Status == 500 && !q.Since.IsZero() {
		ask.Since = time.Time{} // Older servers fail on it: the page is filtered here.
		got, err = c.v1.Events(ctx, id, ask)
	}
	if err != nil {
		return EventPage{}, c.forget(err)
	}
	page := EventPage{Next: got.Next()}
	for _, raw := range got.Items {
		e := readV1(raw)
		if q.tooOld(e) {
			if q.Newest {
				page.Next = "" // All that follow are older.
			}
			continue
		}
		if e.Kind != "StreamingDeltaEvent" || q.Kind == e.Kind {
			page.Events = append(page.Events, e)
		}
	}
	return page, nil
}

func (c *Client) eventsV0(ctx context.Context, id string, q EventQuery) (EventPage, error) {
	start := int64(-1)
	if q.Page != "" {
		n, err := strconv.ParseInt(q.Page, 10, 64)
		if err != nil || n < 0 {
			return EventPage{}, fmt.Errorf("%w: the page is not of this list", ErrRefused)
		}
		start = n
	}
	got, err := c.v0.Events(ctx, id, start, q.Newest, q.Limit)
	if err != nil {
		return EventPage{}, c.forget(err)
	}
	page := EventPage{}
	var last Event
	for _, raw := range got.Events {
		last = readV0(raw)
		if !q.tooOld(last) && (q.Kind == "" || strings.EqualFold(q.Kind, last.Kind)) {
			page.Events = append(page.Events, last)
		}
	}
	if got.HasMore && (!q.Newest || !q.tooOld(last)) {
		page.Next = nextV0(last.ID, q.Newest)
	}
	return page, nil
}

// tooOld reports whether an event is from before the time that the query begins at.
func (q EventQuery) tooOld(e Event) bool {
	return !q.Since.IsZero() && !e.Time.IsZero() && e.Time.Before(q.Since)
}

// nextV0 is the page that follows the event with this number, "" if there is none.
func nextV0(id string, newest bool) string {
	n, err := strconv.ParseInt(id, 10, 64)
	switch {
	case err != nil, newest && n <= 0:
		return ""
	case newest:
		return strconv.FormatInt(n-1, 10)
	}
	return strconv.FormatInt(n+1, 10)
}
