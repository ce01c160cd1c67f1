package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// History is the conversations of a gateway, apart from asking. [Client] is one.
type History interface {
	// Earlier lists what was said and done in a conversation, the oldest first: at
	// most the last n items. more reports that there were others before them. A
	// conversation that is not there is an error for which IsUnknown is true.
	Earlier(ctx context.Context, conversation string, n int) (items []Item, more bool, err error)
	// Delete removes a conversation, and stops its run.
	Delete(ctx context.Context, conversation string) error
	// Extensions lists the MCP servers and the skills of a conversation.
	Extensions(ctx context.Context, conversation string) (Extensions, error)
	// Condense replaces what was said earlier in a conversation by a summary, for
	// its model. It takes a call of the model.
	Condense(ctx context.Context, conversation string) (Condensed, error)
}

// Condensed is what came of a condensation.
type Condensed struct {
	Done bool // false: there was nothing to summarize
	// Before and After are how much of the model's context the conversation takes,
	// in tokens. 0: not known.
	Before, After int64
}

// Item is something that was said or done.
type Item struct {
	Kind   ItemKind
	Text   string
	Images int   // pictures that go with an Asked
	Call   *Call // of a Did
}

// ItemKind is the kind of an Item.
type ItemKind int

// The kinds of items.
const (
	Asked    ItemKind = iota // by the user
	Said                     // by the agent on its way
	Answered                 // by the agent in the end
	Did                      // an action of the agent
	Broke                    // why a turn failed
)

// IsUnknown reports whether err says that there is no such conversation: also
// where its ID is not a UUID, which no conversation can have.
func IsUnknown(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == "conversation_not_found" || e.Code == "invalid_conversation_id")
}

const (
	// historyTimeout bounds a page of a history, and a removal. A gateway stops a
	// run first, which an agent may take 15 s for.
	historyTimeout = 20 * time.Second
	// condenseTimeout bounds a condensation. A gateway gives its agent 5 minutes.
	condenseTimeout = 6 * time.Minute
	// maxPage bounds a page, in bytes.
	maxPage = 64 << 20
	// pageItems is the most that a gateway lists at once.
	pageItems = 100
)

// Earlier implements [History].
func (c *Client) Earlier(ctx context.Context, conversation string, n int) (items []Item, more bool, err error) {
	after := ""
	for more = true; more && len(items) < n; {
		query := url.Values{"order": {"desc"}, "include": {"openhands.actions"}, "limit": {strconv.Itoa(min(n-len(items), pageItems))}}
		if after != "" {
			query.Set("after", after)
		}
		var page struct {
			Data    []wireItem `json:"data"`
			LastID  string     `json:"last_id"`
			HasMore bool       `json:"has_more"`
		}
		if err := c.call(ctx, http.MethodGet, "/v1/conversations/"+url.PathEscape(conversation)+"/items?"+query.Encode(), &page); err != nil {
			return nil, false, err
		}
		for _, w := range page.Data {
			if item, ok := w.item(); ok {
				items = append(items, item)
			}
		}
		more = page.HasMore && page.LastID != "" && page.LastID != after
		after = page.LastID
	}
	slices.Reverse(items)
	return items, more, nil
}

// Delete implements [History].
func (c *Client) Delete(ctx context.Context, conversation string) error {
	var answer struct{}
	return c.call(ctx, http.MethodDelete, "/v1/conversations/"+url.PathEscape(conversation), &answer)
}

// Condense implements [History].
func (c *Client) Condense(ctx context.Context, conversation string) (Condensed, error) {
	var answer struct {
		Condensed bool `json:"condensed"`
		Context   struct {
			Before int64 `json:"tokens_before"`
			After  int64 `json:"tokens"`
		} `json:"context"`
	}
	err := c.within(ctx, condenseTimeout, http.MethodPost, "/v1/conversations/"+url.PathEscape(conversation)+"/condense", nil, &answer)
	return Condensed{Done: answer.Condensed, Before: answer.Context.Before, After: answer.Context.After}, err
}

// call sends a request without a body and decodes its answer into out.
func (c *Client) call(ctx context.Context, method, path string, out any) error {
	return c.within(ctx, historyTimeout, method, path, nil, out)
}

// within calls the gateway like call, with a limit of its own and a body of JSON,
// which may be nil.
func (c *Client) within(ctx context.Context, timeout time.Duration, method, path string, body []byte, out any) error {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	req, err := c.request(limit, method, path, in)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer func() { _ = res.Body.Close() }() // It was only read.
	if res.StatusCode != http.StatusOK {
		return c.refused(res)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxPage))
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return c.stranger(describe(res), err)
	}
	return nil
}

// wireItem is an item of a list as it came.
type wireItem struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Phase   string `json:"phase"`
	Message string `json:"message"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`

	call Call
}

// UnmarshalJSON reads an item, and the fields of an action beside its type.
func (w *wireItem) UnmarshalJSON(data []byte) error {
	type plain wireItem
	if err := json.Unmarshal(data, (*plain)(w)); err != nil {
		return err
	}
	if w.Type != "openhands.action" {
		return nil
	}
	return json.Unmarshal(data, &w.call)
}

// item converts what is known of an item; other types are left out.
func (w *wireItem) item() (item Item, ok bool) {
	for _, c := range w.Content {
		switch c.Type {
		case "input_text", "output_text", "text":
			item.Text += c.Text
		case "input_image":
			item.Images++
		}
	}
	switch {
	case w.Type == "openhands.action":
		return Item{Kind: Did, Call: &w.call}, true
	case w.Type == "openhands.error":
		return Item{Kind: Broke, Text: w.Message}, true
	case w.Type != "message", w.Role != "user" && w.Role != "assistant":
		return item, false
	case w.Role == "user":
		item.Kind = Asked
	case w.Phase == "commentary":
		item.Kind = Said
	default:
		item.Kind = Answered
	}
	return item, true
}
