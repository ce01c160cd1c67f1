package conversations

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Owners forgets with the owner of a conversation what clients added to it.
type Owners struct {
	run.Owners
	Items *clientitems.Store
}

// Forget implements run.Owners: it deletes the items of a conversation and forgets
// its owner.
func (o Owners) Forget(conversation string) error {
	return errors.Join(o.Items.Delete(conversation), o.Owners.Forget(conversation))
}

// added is what clients added to a conversation that is open to the caller; nil:
// nothing.
func (api *API) added(access run.Access, id string) (*clientitems.Record, error) {
	at, err := api.core.Runs.Sought(access, id)
	if err != nil {
		return nil, err
	}
	rec, err := api.items.Load(at)
	if errors.Is(err, clientitems.ErrNotFound) {
		return nil, nil
	}
	return rec, err
}

// unused reports whether a conversation was created here and no agent has it yet.
func unused(rec *clientitems.Record) bool { return rec != nil && rec.Made && !rec.Used }

// known is a conversation that is open to the caller.
type known struct {
	id    string
	about agentapi.About
	agent bool                // an agent has it; else it was only created here
	rec   *clientitems.Record // nil: clients added nothing
}

func (api *API) known(ctx context.Context, access run.Access, id string) (known, error) {
	k := known{id: id}
	var err error
	if k.rec, err = api.added(access, id); err != nil {
		return k, err
	}
	k.about, err = api.core.Runs.About(ctx, access, id)
	k.agent = err == nil
	if errors.Is(err, agentapi.ErrConversationNotFound) && unused(k.rec) {
		err = nil
	}
	return k, err
}

// wire is the conversation in OpenAI's form.
func (k *known) wire(api *API) openai.Conversation {
	created, metadata := k.about.Created, map[string]string(nil)
	if k.rec != nil {
		metadata = k.rec.Metadata
	}
	if k.rec != nil && k.rec.Made {
		created = k.rec.Created
	}
	if created.Unix() <= 0 { // unknown, and clients insist on a time
		created = api.core.Began
	}
	return openai.NewConversation(k.id, created.Unix(), metadata, openai.ConversationExtension{Title: k.about.Title, Profile: k.about.Profile})
}

// CreateConversation answers POST /v1/conversations.
func (api *API) CreateConversation() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		body, err := x.ReadBody(r)
		if err != nil {
			return err
		}
		req, err := openai.ParseConversation(body, api.core.OpenAILimits())
		if err != nil {
			return err
		}
		access := x.Client.Access()
		rec := &clientitems.Record{ID: uuid.New(), Created: api.core.Now(), Made: true, Metadata: req.Metadata}
		a := adder{api: api, access: access, known: known{id: rec.ID, rec: rec}}
		if err := a.add(req.Items); err != nil {
			return err
		}
		rec.Items = a.change.Add
		if err := api.core.Runs.Reserve(access, rec.ID); err != nil {
			return err
		}
		if err := api.items.Create(rec); err != nil {
			return errors.Join(stored(err), api.core.Runs.Discard(rec.ID))
		}
		k := known{id: rec.ID, rec: rec}
		x.Header().Set(gate.HeaderConversation, rec.ID)
		return x.Encode(k.wire(api))
	}
}

// UpdateConversation answers POST /v1/conversations/{id}.
func (api *API) UpdateConversation() gate.Handler {
	return api.conversation(func(x *gate.Exchange, r *http.Request, access run.Access, id string) error {
		body, err := x.ReadBody(r)
		if err != nil {
			return err
		}
		metadata, err := openai.ParseMetadata(body)
		if err != nil {
			return err
		}
		k, err := api.known(r.Context(), access, id)
		if err != nil {
			return err
		}
		err = api.items.Change(id, func(rec *clientitems.Record) (clientitems.Change, error) {
			k.rec = rec
			return clientitems.Change{Metadata: &metadata}, nil
		})
		if err != nil {
			return stored(err)
		}
		return x.Encode(k.wire(api))
	})
}

// removeUnused removes a conversation that was created here and that no agent has;
// missing is the error where there is none.
func (api *API) removeUnused(access run.Access, id string, missing error) error {
	at, err := api.core.Runs.Sought(access, id)
	if err != nil {
		return err
	}
	switch rec, err := api.items.Load(at); {
	case errors.Is(err, clientitems.ErrNotFound), err == nil && !unused(rec):
		return missing
	}
	return api.core.Runs.Discard(id)
}

// stored marks err as one of the state directory, unless a record or the request is
// the reason.
func stored(err error) error {
	for _, known := range []error{clientitems.ErrNewer, clientitems.ErrDamaged, clientitems.ErrFull, clientitems.ErrNotFound} {
		if errors.Is(err, known) {
			return err
		}
	}
	if _, ok := errors.AsType[*gate.Problem](err); ok || err == nil {
		return err
	}
	return errors.Join(run.ErrState, err)
}

// Sweep removes what clients added to conversations that no agent has, where
// nothing was changed since.
func (api *API) Sweep(before time.Time) error {
	return api.items.Sweep(api.core.Life(), before, func(id string) error {
		_, err := api.core.Runs.About(api.core.Life(), run.Access{Person: true}, id)
		if errors.Is(err, agentapi.ErrConversationNotFound) && !api.core.Runs.IsBusy(id) {
			return api.core.Runs.Discard(id)
		}
		return nil // it exists, or that is not known
	})
}
