package agentserver

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// About describes a conversation.
func (b *Backend) About(ctx context.Context, id string) (agentapi.About, error) {
	info, err := b.describe(ctx, id)
	if gone(err) {
		return agentapi.About{}, conversationNotFound(id, err)
	}
	if err != nil {
		return agentapi.About{}, b.fault(ctx, "describe the conversation", err)
	}
	return agentapi.About{ID: info.ID, Created: created(info.Created), Title: info.Title, Profile: info.Tags[tagProfile]}, nil
}

// created reads the time of a server: with its zone, or without in UTC.
func created(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	return time.Time{}
}

// Events reads a page of the log. The server answers an event that it does not
// know with the log from its beginning.
func (b *Backend) Events(ctx context.Context, id string, q agentapi.EventQuery) (agentapi.EventPage, error) {
	query := url.Values{"limit": {strconv.Itoa(q.Size())}}
	if q.From != "" {
		query.Set("page_id", q.From)
	}
	if q.Newest {
		query.Set("sort_order", "TIMESTAMP_DESC")
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var raw struct {
		Items []json.RawMessage `json:"items"`
		Next  string            `json:"next_page_id"`
	}
	_, err := b.client.do(limited, request{
		method: http.MethodGet, path: conversationPath(id) + "/events/search", query: query, out: &raw,
	})
	if gone(err) {
		return agentapi.EventPage{}, conversationNotFound(id, err)
	}
	if err != nil {
		return agentapi.EventPage{}, b.fault(ctx, "list its events", err)
	}
	if q.From != "" && (len(raw.Items) == 0 || idOf(raw.Items[0]) != q.From) {
		return agentapi.EventPage{}, agentapi.UnknownEvent(q.From)
	}
	page := agentapi.EventPage{Next: raw.Next}
	for _, data := range raw.Items {
		var e event.Event
		if err := json.Unmarshal(data, &e); err != nil {
			b.log.Warn("an event of the agent-server cannot be read", "conversation_id", id, "err", err)
			continue
		}
		page.Events = append(page.Events, e)
	}
	return page, nil
}

// idOf is the id of an event as it came.
func idOf(data json.RawMessage) string {
	var e struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(data, &e) // then it has none
	return e.ID
}
