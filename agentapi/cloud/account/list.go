package account

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	v0 "github.com/ohgw/ohgw/agentapi/cloud/v0"
	v1 "github.com/ohgw/ohgw/agentapi/cloud/v1"
	"github.com/ohgw/ohgw/internal/optional"
)

// ListQuery chooses conversations.
type ListQuery struct {
	Page  string // of a former Page; "" is the first
	Limit int    // of one page; 0 or more than 100: 100
	Title string // that the title contains
	Repo  string // the repository, as owner/name
}

// Page is one page of a list, newest first. It may have fewer conversations than
// the limit, or none, and not be the last.
type Page struct {
	Conversations []Conversation
	Next          string // "" at the end
}

// The pages of V1's conversations come first, then those of V0: a server merges
// them itself, but leaves out some.
const (
	pagesV1 = "v1:"
	pagesV0 = "v0:"
)

// List reads one page of the account's conversations.
func (c *Client) List(ctx context.Context, q ListQuery) (Page, error) {
	server, err := c.known(ctx)
	if err != nil {
		return Page{}, err
	}
	if q.Limit <= 0 || q.Limit > v1.MaxPage {
		q.Limit = v1.MaxPage
	}
	var page Page
	switch token, isV0 := strings.CutPrefix(q.Page, pagesV0); {
	case isV0, q.Page == "" && !server.V1:
		page, err = c.listV0(ctx, q, token, server.V1)
	case q.Page == "", strings.HasPrefix(q.Page, pagesV1):
		page, err = c.listV1(ctx, q, strings.TrimPrefix(q.Page, pagesV1), server.V0)
	default:
		return Page{}, fmt.Errorf("%w: the page is not of this list", ErrRefused)
	}
	return page, c.forget(err)
}

func (c *Client) listV1(ctx context.Context, q ListQuery, token string, andV0 bool) (Page, error) {
	got, err := c.v1.Search(ctx, q.Title, "", token, q.Limit)
	if err != nil {
		return Page{}, err
	}
	page := Page{}
	for _, a := range got.Items {
		if conv := fromV1(c.t.Root(), a); q.Repo == "" || strings.EqualFold(conv.Repo, q.Repo) {
			page.Conversations = append(page.Conversations, conv)
		}
	}
	switch next := got.Next(); {
	case next != "":
		page.Next = pagesV1 + next
	case andV0:
		page.Next = pagesV0
	}
	return page, nil
}

// listV0 reads a page of V0's list. Where the server speaks V1 too, the rows of V1's
// conversations are left out.
func (c *Client) listV0(ctx context.Context, q ListQuery, token string, alsoV1 bool) (Page, error) {
	got, err := c.v0.List(ctx, q.Repo, token, q.Limit)
	if alsoV1 && errors.Is(err, ErrWrongEndpoint) {
		return Page{}, nil // V0 is gone; everything was listed.
	}
	if err != nil {
		return Page{}, err
	}
	page := Page{}
	for _, a := range got.Results {
		if a.ConversationID == "" || alsoV1 && a.IsV1() || !matches(a, q) {
			continue
		}
		page.Conversations = append(page.Conversations, fromV0(c.t.Root(), a))
	}
	if got.NextPageID != nil && *got.NextPageID != "" {
		page.Next = pagesV0 + *got.NextPageID
	}
	return page, nil
}

func matches(a v0.Conversation, q ListQuery) bool {
	return q.Title == "" || strings.Contains(strings.ToLower(clean(optional.Value(a.Title))), strings.ToLower(q.Title))
}

// All yields every conversation, page by page: it holds one page at a time. It ends
// with the first error.
func (c *Client) All(ctx context.Context, q ListQuery) iter.Seq2[Conversation, error] {
	return func(yield func(Conversation, error) bool) {
		// A server whose pages go round in a circle is found by Brent's method.
		mark, steps, power := q.Page, 0, 1
		for {
			page, err := c.List(ctx, q)
			if err != nil {
				yield(Conversation{}, err)
				return
			}
			for _, conv := range page.Conversations {
				if !yield(conv, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			if q.Page = page.Next; q.Page == mark {
				yield(Conversation{}, fmt.Errorf("list conversations: %w: its pages go round in a circle", ErrUpstream))
				return
			}
			if steps++; steps == power {
				mark, steps, power = q.Page, 0, power*2
			}
		}
	}
}
