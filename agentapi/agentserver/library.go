package agentserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/uuid"
)

// library is the conversations of an agent-server.
type library struct{ b *Backend }

var _ control.Library = library{}

// Library is the conversations of the agent-server.
func (b *Backend) Library() control.Library { return library{b} }

// recordOf reads a ConversationInfo. It is the state and what is beside it in one.
func recordOf(raw json.RawMessage) (control.Record, error) {
	var info struct {
		ID      string       `json:"id"`
		Title   string       `json:"title"`
		Created string       `json:"created_at"`
		Updated string       `json:"updated_at"`
		Status  event.Status `json:"execution_status"`
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return control.Record{}, fmt.Errorf("%w: %w", errGarbled, err)
	}
	return control.Record{
		ID: info.ID, State: raw, Meta: raw, Title: info.Title, Status: info.Status,
		Created: created(info.Created), Updated: created(info.Updated),
	}, nil
}

// Record asks for a conversation.
func (l library) Record(ctx context.Context, id string) (control.Record, error) {
	var raw json.RawMessage
	if err := l.get(ctx, id, conversationPath(id), nil, &raw, "describe the conversation"); err != nil {
		return control.Record{}, err
	}
	return recordOf(raw)
}

// List asks for a page of the conversations.
func (l library) List(ctx context.Context, q control.ListQuery) (control.ListPage, error) {
	query := url.Values{}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(min(q.Limit, agentapi.MaxEvents)))
	}
	for name, value := range map[string]string{"page_id": q.From, "status": string(q.Status), "sort_order": q.Order} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var raw struct {
		Items []json.RawMessage `json:"items"`
		Next  string            `json:"next_page_id"`
	}
	if err := l.get(ctx, "", "/api/conversations/search", query, &raw, "list its conversations"); err != nil {
		return control.ListPage{}, err
	}
	page := control.ListPage{}
	for _, item := range raw.Items {
		record, err := recordOf(item)
		if err != nil {
			return control.ListPage{}, l.b.fault(ctx, "list its conversations", err)
		}
		page.Records = append(page.Records, record)
	}
	page.Next, _ = uuid.Parse(raw.Next) // it comes without dashes; "" is the end
	return page, nil
}

// Search asks for a page of the log. The filter is that of the agent-server, which
// knows kinds with their modules only.
func (l library) Search(ctx context.Context, id string, q control.EventQuery) (control.EventPage, error) {
	query := url.Values{"limit": {strconv.Itoa(max(1, min(q.Limit, agentapi.MaxEvents)))}}
	if q.Newest {
		query.Set("sort_order", "TIMESTAMP_DESC")
	}
	for name, value := range map[string]string{
		"page_id": q.Page, "kind": q.Kind, "source": q.Source, "body": q.Body, "timestamp__gte": q.From, "timestamp__lt": q.Before,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var page struct {
		Items []json.RawMessage `json:"items"`
		Next  string            `json:"next_page_id"`
	}
	if err := l.get(ctx, id, conversationPath(id)+"/events/search", query, &page, "list its events"); err != nil {
		return control.EventPage{}, err
	}
	return control.EventPage{Events: page.Items, Next: page.Next}, nil
}

// get makes a call that changes nothing.
func (l library) get(ctx context.Context, id, path string, query url.Values, out any, what string) error {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := l.b.client.do(limited, request{method: http.MethodGet, path: path, query: query, out: out})
	if id != "" && gone(err) {
		return conversationNotFound(id, err)
	}
	if err != nil {
		return l.b.fault(ctx, what, err)
	}
	return nil
}

// Remove deletes a conversation.
func (l library) Remove(ctx context.Context, id string) error { return l.b.Remove(ctx, id) }

// Export fetches the archive of a conversation.
func (l library) Export(ctx context.Context, id string, w io.Writer) error {
	if _, err := l.Record(ctx, id); err != nil {
		return err
	}
	if err := l.b.client.download(ctx, "/api/file/download-trajectory/"+url.PathEscape(id), w); err != nil {
		return l.b.fault(ctx, "export the conversation", err)
	}
	return nil
}

// Import is not in the API of an agent-server.
func (l library) Import(context.Context, control.Archive) (string, error) {
	return "", &agentapi.Error{
		Kind: agentapi.ErrUnsupported,
		Msg:  "An agent-server takes no conversations from archives; unpack the archive into its directory of conversations, and start it again.",
	}
}

// download copies an answer of any size to w.
func (c *client) download(ctx context.Context, path string, w io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(path, nil), nil)
	if err != nil {
		return err
	}
	c.sign(req.Header)
	res, err := c.shared.Do(req)
	if err != nil {
		return netcause.Of(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return c.readAnswerError(res)
	}
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}
