package v1

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

// EventQuery chooses stored events.
type EventQuery struct {
	Page   string
	Limit  int
	Kind   string
	Newest bool // newest first
	Since  time.Time
}

// Events reads a page of the stored events, as they are. They outlive the sandbox and
// the conversation: an empty page does not prove that the conversation exists.
func (a API) Events(ctx context.Context, id string, q EventQuery) (p Page[json.RawMessage], err error) {
	values := Paged(q.Page, q.Limit)
	values.Set("sort_order", "TIMESTAMP")
	if q.Newest {
		values.Set("sort_order", "TIMESTAMP_DESC")
	}
	if q.Kind != "" {
		values.Set("kind__eq", q.Kind)
	}
	if !q.Since.IsZero() {
		values.Set("timestamp__gte", q.Since.UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	err = a.T.Call(ctx, transport.Request{Path: "/api/v1/conversation/" + url.PathEscape(id) + "/events/search", Query: values, Out: &p})
	return p, err
}
