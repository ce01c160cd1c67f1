package completions

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/conns"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/run"
)

// errDirect marks a chat request that needs no agent.
var errDirect = errors.New("not for an agent")

// asked is a call with all that its place depends on.
type asked struct {
	call      *Call
	model     model
	workspace string // the directory that the client names for a new conversation; empty: none
	who       run.Asker
}

// Started is the run that answers a call.
type Started struct {
	*run.Attachment
	call *Call
	at   Place
}

// Close ends the attachment, and the visit to the chat.
func (s *Started) Close() {
	s.Attachment.Close()
	s.at.visit.Close()
}

// model is the model of the answer, as its client knows it.
func (s *Started) model() string {
	return s.at.modelOf(s.call)
}

// submit finds or starts the run that answers a call.
func (api *API) submit(x *gate.Exchange, r *http.Request, c *Call, m model) (*Started, error) {
	workspace, err := api.core.NamedWorkspace(r, x.Client, c.Options)
	if err != nil {
		return nil, err
	}
	q := asked{call: c, model: m, workspace: workspace, who: run.Asker{
		Access: x.Client.Access(), Who: x.Client.Name, Fingerprint: c.fingerprint(x.Client, workspace),
		IdempotencyKey: c.Options.Key, Retry: c.Options.Retry, Fresh: c.Options.Fresh,
	}}
	s, err := api.start(x, r, q)
	if err != nil || !s.Replayed() || s.RepeatsUntil().IsZero() {
		return s, err
	}
	// The same failure is about to be returned again. If the user has repaired
	// the profile meanwhile, our list of profiles may be out of date.
	list, err := api.models.newest(r.Context())
	p, ok := find(list, s.model())
	if err != nil || !ok || p.Revision == s.at.profile.Revision {
		return s, nil
	}
	s.Forgo()
	defer s.Close()
	q.model.profile.Revision = p.Revision
	return api.start(x, r, q)
}

// start asks for a run at the place of a call, and waits until its conversation is open.
// Where another gateway has changed the chat meanwhile, it decides again.
func (api *API) start(x *gate.Exchange, r *http.Request, q asked) (*Started, error) {
	for {
		s, err := api.startOnce(x, r, q)
		if !errors.Is(err, chats.ErrChanged) || r.Context().Err() != nil {
			return s, err
		}
	}
}

// startOnce does what start does, as the chat is now. The chat is held until it is
// settled, so that two requests of it that come together find one conversation.
func (api *API) startOnce(x *gate.Exchange, r *http.Request, q asked) (*Started, error) {
	visit, err := api.enter(q.call)
	if err != nil {
		return nil, err
	}
	opened := false
	defer func() {
		if !opened {
			visit.Close()
		}
	}()
	at, err := api.place(r.Context(), q, visit)
	if err != nil {
		return nil, err
	}
	if at.routed {
		x.Header().Set(gate.HeaderRouted, at.model())
	}
	if err := visit.Reserve(); err != nil {
		return nil, unreadable(err)
	}
	att, err := api.core.Runs.Admit(api.request(x, r, q, at))
	if err != nil {
		return nil, err
	}
	if att.Begins() {
		visit.RunsIn(att.ConversationID())
	}
	visit.Settle(att.Begins())
	if err := att.Opened(r.Context()); err != nil {
		att.Close()
		return nil, err
	}
	opened = true
	return &Started{Attachment: att, call: q.call, at: at}, nil
}

// enter finds out what a call is to its chat; nil: it has none. The visit has the chat
// until it is settled.
func (api *API) enter(c *Call) (*chats.Visit, error) {
	if c.Chat == nil {
		return nil, nil
	}
	visit, err := api.chats.Enter(*c.Chat)
	if err != nil {
		return nil, unreadable(err)
	}
	if visit.Direct && api.Complete != nil && api.Housekeeping != HousekeepingAgent {
		visit.Close()
		return nil, errDirect
	}
	return visit, nil
}

// unreadable returns an error of the chats as one of the state of the gateway.
func unreadable(err error) error {
	if errors.Is(err, chats.ErrUnreadable) {
		return fmt.Errorf("%w: %w", run.ErrState, err)
	}
	return err
}

// request assembles the whole request to the runs.
func (api *API) request(x *gate.Exchange, r *http.Request, q asked, at Place) run.Request {
	c, profile := q.call, at.profile
	return run.Request{
		Asker: q.who,
		Place: at.Place,
		Terms: run.Terms{
			Profile: profile.Name, ProfileRevision: profile.Revision, AnyModel: c.Model == modelActive, Note: at.note, Chosen: at.spent,
			Confirmation: agentapi.Confirmation(c.Options.Confirmation), Floor: api.core.ConfirmFloor(r, x.Client), Least: x.Client.Confirm,
		},
		Words: api.words(c, at),
		Course: run.Course{
			Timeout: c.Options.Timeout, Budget: c.Pays.BudgetOf(c.Options), Detach: c.Options.Detach, Details: c.Options.Details,
			Form: api.FormOf(c.Schema, profile.Name, c.Text), Observer: c.Route.Observer(c, profile.Name, at.modelOf(c)), Gone: conns.Gone(r),
		},
	}
}
