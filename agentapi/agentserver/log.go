package agentserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/ohgw/ohgw/agentapi/event"
)

// pageSize is the most events that the server gives at once.
const pageSize = "100"

type eventPage struct {
	Items []event.Event `json:"items"`
	Next  string        `json:"next_page_id"`
}

// page reads events of the log in order, from the one with the id from on.
func (c *conversation) page(ctx context.Context, from string) (eventPage, error) {
	query := url.Values{"limit": {pageSize}}
	if from != "" {
		query.Set("page_id", from)
	}
	return c.search(ctx, query)
}

func (c *conversation) search(ctx context.Context, query url.Values) (eventPage, error) {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var raw struct {
		Items []json.RawMessage `json:"items"`
		Next  string            `json:"next_page_id"`
	}
	_, err := c.backend.client.do(limited, request{
		method: http.MethodGet, path: c.path() + "/events/search", query: query, out: &raw,
	})
	page := eventPage{Next: raw.Next}
	if err != nil {
		return page, err
	}
	for _, data := range raw.Items {
		var e event.Event
		if err := json.Unmarshal(data, &e); err != nil {
			return page, &unreadableError{err}
		}
		page.Items = append(page.Items, e)
	}
	return page, nil
}

// last is the id of the newest event of the log; "" if the log is empty.
func (c *conversation) last(ctx context.Context) (string, error) {
	page, err := c.search(ctx, url.Values{"limit": {"1"}, "sort_order": {"TIMESTAMP_DESC"}})
	if err != nil || len(page.Items) == 0 {
		return "", err
	}
	return page.Items[0].ID, nil
}

// leaf is the event that a state was taken after.
func (c *conversation) leaf(ctx context.Context, state event.State) (string, error) {
	if c.version >= sinceLeaf {
		return state.LeafEventID, nil
	}
	return c.last(ctx)
}

// after reads the events that follow the first of anchors that is in the log,
// page by page. The server answers an id that it does not know with the log
// from its start, so the first event reports whether it knew it. An empty anchor
// stands for the start itself.
func (c *conversation) after(ctx context.Context, anchors []string, use func(event.Event) error) error {
	for _, anchor := range anchors {
		page, err := c.page(ctx, anchor)
		if err != nil {
			return err
		}
		if anchor != "" && (len(page.Items) == 0 || page.Items[0].ID != anchor) {
			continue
		}
		if anchor != "" {
			page.Items = page.Items[1:]
		}
		return c.rest(ctx, page, anchor, use)
	}
	return errNoAnchor
}

// rest reads the events of a page and those of the pages behind it; before is the event in
// front of them, "" for none. Older servers, such as 1.34, write no parents into a log without
// branches: there the parent of an event is the one before it.
func (c *conversation) rest(ctx context.Context, page eventPage, before string, use func(event.Event) error) error {
	for {
		for _, e := range page.Items {
			if e.ParentID == "" && c.version >= sinceLeaf {
				e.ParentID = before
			}
			before = e.ID
			if err := use(e); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		next := page.Next
		var err error
		if page, err = c.page(ctx, next); err != nil {
			return err
		}
		if len(page.Items) == 0 || page.Items[0].ID != next {
			return fmt.Errorf("event %s, which began the next page, is gone", next)
		}
	}
}

var errNoAnchor = errors.New("the event to start from is not in the log")

// unreadableError is an event that this version of the program cannot decode.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }
