package conversations

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/responses"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/id"
)

// maxTurnItems is how many items of the newest turn are compared with those that a
// client adds.
const maxTurnItems = 100

// AddItems answers POST /v1/conversations/{id}/items.
func (api *API) AddItems() gate.Handler {
	return api.conversation(func(x *gate.Exchange, r *http.Request, access run.Access, conversation string) error {
		if _, err := readItemQuery(r.URL.Query()); err != nil {
			return err
		}
		body, err := x.ReadBody(r)
		if err != nil {
			return err
		}
		items, err := openai.ParseItems(body, api.core.OpenAILimits())
		if err != nil {
			return err
		}
		k, err := api.known(r.Context(), access, conversation)
		if err != nil {
			return err
		}
		a := adder{api: api, access: access, known: k}
		if err := a.look(r.Context(), items); err != nil {
			return err
		}
		err = api.items.Change(conversation, func(rec *clientitems.Record) (clientitems.Change, error) {
			a.rec = rec
			err := a.add(items)
			return a.change, err
		})
		if err != nil {
			return stored(err)
		}
		return x.Encode(openai.NewItemList(a.data, a.ids, false))
	})
}

// adder adds items to a conversation. Clients that keep a history of their own add
// again what the conversation has already: such items are found, not added.
type adder struct {
	api    *API
	access run.Access
	known

	newest  []turn.Item     // of the newest turn, the oldest first
	named   map[string]any  // items of the agent that are named by their ids
	answers map[string]bool // ids of items of responses in this conversation

	last, lastAll string // see clientitems.Item

	change clientitems.Change
	data   []any
	ids    []string
}

// look reads of the agent's items what is needed to add some.
func (a *adder) look(ctx context.Context, items []openai.ClientItem) error {
	if !a.agent {
		return nil
	}
	a.named, a.answers = make(map[string]any), make(map[string]bool)
	page, err := a.api.core.Runs.Items(ctx, a.access, a.id, turn.ItemQuery{Newest: true, Limit: maxTurnItems})
	if err != nil {
		return err
	}
	if len(page.Items) > 0 {
		a.last = page.Items[0].Event
	}
	if i := slices.IndexFunc(page.Items, func(i turn.Item) bool { return i.Kind == turn.ItemUser }); i >= 0 {
		a.newest = slices.Clone(page.Items[:i+1])
		slices.Reverse(a.newest)
	}
	if page, err = a.api.core.Runs.Items(ctx, a.access, a.id, turn.ItemQuery{Newest: true, Details: true, Limit: 1}); err != nil {
		return err
	}
	if len(page.Items) > 0 {
		a.lastAll = page.Items[0].Event
	}
	for _, item := range items {
		if item.ID == "" {
			continue
		}
		if rec, err := a.api.responses.LoadFor(responses.ResponseOf(item.ID), a.access.Enters); err == nil && rec.Conversation == a.id {
			a.answers[item.ID] = true
			continue
		}
		wire, err := a.api.agentItem(ctx, a.access, a.known, item.ID)
		if err != nil {
			return err
		}
		if wire != nil {
			a.named[item.ID] = wire
		}
	}
	return nil
}

// add says in a.change what is to be added to a.rec, and in a.data what the items
// are then.
func (a *adder) add(items []openai.ClientItem) error {
	a.change, a.data, a.ids = clientitems.Change{}, nil, nil
	for n := 0; n < len(items); {
		item := items[n]
		if a.taken(item) {
			item.ID = derived(item)
		}
		if wire := a.present(item); wire != nil {
			a.found(wire, item.ID)
			n++
			continue
		}
		if item.Kind == openai.KindReference {
			return gate.NewProblem(openai.CodeInvalidValue, "The conversation has no item with the id '"+item.ID+"'.", nil).About(fmt.Sprintf("items[%d].id", n))
		}
		if same := a.saidInTurn(items[n:]); same > 0 {
			n += same
			continue
		}
		name := item.ID
		if name == "" {
			name = id.New(openai.ClientItemPrefix(item.Kind))
		}
		wire := item.Wire(name)
		a.change.Add = append(a.change.Add, clientitems.Item{ID: name, Data: wire, After: a.last, AfterAll: a.lastAll})
		a.found(wire, name)
		n++
	}
	return nil
}

func (a *adder) found(wire any, name string) {
	a.data, a.ids = append(a.data, wire), append(a.ids, name)
}

// present finds the item of the conversation that has the id of item; nil: none.
func (a *adder) present(item openai.ClientItem) any {
	if item.ID == "" {
		return nil
	}
	if old := a.ofClient(item.ID); old != nil {
		return old
	}
	if wire := a.named[item.ID]; wire != nil {
		a.show(item.ID)
		return wire
	}
	if a.answers[item.ID] {
		return item.Wire(item.ID)
	}
	return nil
}

// show lists an item of the agent again that a client had deleted.
func (a *adder) show(name string) {
	if a.rec.Hidden[name] {
		a.change.Show = append(a.change.Show, name)
	}
}

// saidInTurn finds the first of these messages in the newest turn of the agent, and
// reports how many of them, in a row, are one message there. An item of a turn is
// found once: what is added after that was said again.
func (a *adder) saidInTurn(items []openai.ClientItem) (same int) {
	role := items[0].Role
	if role != "user" && role != "assistant" {
		return 0
	}
	sent := make([]string, 0, len(items))
	for _, item := range items {
		if item.Role != role || len(sent) > 0 && item.ID != "" {
			break
		}
		sent = append(sent, strings.TrimSpace(item.Text))
	}
	for at := range a.newest {
		said, wire, names := a.run(at, role)
		for n := range said {
			for same := len(sent); same > 0; same-- {
				if strings.Join(said[:n+1], "\n\n") != strings.Join(sent[:same], "\n\n") {
					continue
				}
				for i, name := range names[:n+1] {
					a.show(name)
					a.change.Again = append(a.change.Again, name)
					a.found(wire[i], name)
				}
				return same
			}
		}
	}
	return 0
}

// run collects what one side said in a row in the newest turn, from an item on, as
// far as no client has added it again.
func (a *adder) run(at int, role string) (said []string, wire []any, names []string) {
	for _, item := range a.newest[at:] {
		if item.Kind == turn.ItemReasoning && len(said) > 0 {
			continue
		}
		item = spoken(item, a.rec)
		w, name := wireItem(item, true)
		again := a.rec.Again[name] && !a.rec.Hidden[name] || slices.Contains(a.change.Again, name)
		if again || roleOf(item) != role {
			break
		}
		said, wire, names = append(said, strings.TrimSpace(item.Text)), append(wire, w), append(names, name)
	}
	return said, wire, names
}

// roleOf returns the role of a message; empty: the item is not a message.
func roleOf(item turn.Item) string {
	switch item.Kind {
	case turn.ItemUser:
		return "user"
	case turn.ItemSaid, turn.ItemAnswer:
		return "assistant"
	case turn.ItemCall, turn.ItemFailure, turn.ItemReasoning:
	}
	return ""
}

// agentItem finds the item of the agent with this id; nil: there is none.
func (api *API) agentItem(ctx context.Context, access run.Access, k known, name string) (any, error) {
	ref := itemRef(name)
	if ref.Event == "" {
		return nil, nil
	}
	page, err := api.core.Runs.Items(ctx, access, k.id, turn.ItemQuery{After: ref, Inclusive: true, Details: true, Limit: gate.MaxItems})
	if agentapi.IsUnknownEvent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, item := range page.Items {
		if wire, at := wireItem(spoken(item, k.rec), true); at == name {
			return wire, nil
		}
	}
	return nil, nil
}
