package conversations

import (
	"cmp"
	"net/http"

	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/run"
)

// foundItem is an item of a conversation.
type foundItem struct {
	known
	wire  any
	added bool // by a client; else it is one of the agent
}

// findItem finds the item in the path of a request.
func (api *API) findItem(r *http.Request, access run.Access, conversation string) (f foundItem, err error) {
	name := r.PathValue("item")
	if _, err := readItemQuery(r.URL.Query()); err != nil {
		return f, err
	}
	if f.known, err = api.known(r.Context(), access, conversation); err != nil {
		return f, err
	}
	rec := cmp.Or(f.rec, &clientitems.Record{})
	added := rec.Item(name)
	switch {
	case added != nil:
		f.wire, f.added = added.Data, true
	case f.agent && !rec.Hidden[name]:
		if f.wire, err = api.agentItem(r.Context(), access, f.known, name); err != nil {
			return f, err
		}
	}
	if f.wire == nil {
		return f, gate.NewProblem(gate.CodeNoItem, "The conversation has no item with the id '"+name+"'.", nil).About("item_id")
	}
	return f, nil
}

// GetItem answers GET /v1/conversations/{id}/items/{item}.
func (api *API) GetItem() gate.Handler {
	return api.conversation(func(x *gate.Exchange, r *http.Request, access run.Access, conversation string) error {
		f, err := api.findItem(r, access, conversation)
		if err != nil {
			return err
		}
		return x.Encode(f.wire)
	})
}

// DeleteItem answers DELETE /v1/conversations/{id}/items/{item}. An item of the agent is
// hidden.
func (api *API) DeleteItem() gate.Handler {
	return api.conversation(func(x *gate.Exchange, r *http.Request, access run.Access, conversation string) error {
		f, err := api.findItem(r, access, conversation)
		if err != nil {
			return err
		}
		name := r.PathValue("item")
		change := clientitems.Change{Hide: []string{name}}
		if f.added {
			change = clientitems.Change{Delete: []string{name}}
		}
		err = api.items.Change(conversation, func(*clientitems.Record) (clientitems.Change, error) { return change, nil })
		if err != nil {
			return stored(err)
		}
		return x.Encode(f.known.wire(api))
	})
}
