package gate

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"github.com/ohgw/ohgw/daemon/openai"
)

// defaultItems and MaxItems are OpenAI's limits of a page of items.
const (
	defaultItems = 20
	MaxItems     = 100
)

// Page is the part of a list that is asked for.
type Page struct {
	Limit int
	Desc  bool
	After string
}

// PageOf reads the page that a query asks for.
func PageOf(query url.Values) (Page, error) {
	p := Page{Limit: defaultItems, Desc: true, After: query.Get("after")}
	if v := query.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > MaxItems {
			return p, NewProblem(openai.CodeInvalidValue, "'limit' must be a number from 1 to 100.", nil).About("limit")
		}
		p.Limit = n
	}
	switch query.Get("order") {
	case "", "desc":
	case "asc":
		p.Desc = false
	default:
		return p, NewProblem(openai.CodeInvalidValue, "'order' must be asc or desc.", nil).About("order")
	}
	return p, nil
}

// Of selects the page of a list of items, the oldest first, and encodes it as JSON.
func (p Page) Of(items []json.RawMessage) ([]byte, error) {
	items = slices.Clone(items)
	if p.Desc {
		slices.Reverse(items)
	}
	if p.After != "" {
		i := slices.IndexFunc(items, func(item json.RawMessage) bool { return idOf(item) == p.After })
		if i < 0 {
			return nil, NewProblem(openai.CodeInvalidValue, "Invalid value for 'after': there is no item with this id.", nil).About("after")
		}
		items = items[i+1:]
	}
	more := len(items) > p.Limit
	items = items[:min(len(items), p.Limit)]
	first, last := "", ""
	if len(items) > 0 {
		first, last = idOf(items[0]), idOf(items[len(items)-1])
	}
	if items == nil {
		items = []json.RawMessage{}
	}
	return json.Marshal(map[string]any{"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": more})
}

func idOf(item json.RawMessage) string {
	var named struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(item, &named) != nil {
		return ""
	}
	return named.ID
}
