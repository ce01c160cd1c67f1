package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/message"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shape"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// events are the routes of the log of a conversation.
func (s *server) events(base string) []wire.Route {
	filters := []string{"kind", "source", "body", "timestamp__gte", "timestamp__lt"}
	return []wire.Route{
		{Method: http.MethodGet, Path: base + "/search", Summary: "List events", Query: append([]string{"page_id", "limit", "sort_order"}, filters...), Handle: s.log(s.searchEvents)},
		{Method: http.MethodGet, Path: base + "/count", Summary: "Number of events", Query: filters, Handle: s.log(s.countEvents)},
		{Method: http.MethodGet, Path: base + "/{event}", Summary: "One event", Handle: s.log(s.event)},
		{Method: http.MethodGet, Path: base, Summary: "Some events by their ids", Body: true, Handle: s.log(s.batchEvents)},
		{Method: http.MethodPost, Path: base, Summary: "Send a message", Body: true, Handle: s.log(s.send)},
		{Method: http.MethodPost, Path: base + "/respond_to_confirmation", Summary: "Accept or reject what waits for a person", Body: true, Handle: s.log(s.respond)},
	}
}

// log answers for a conversation that is there; that it is not is told before anything
// else about the request.
func (s *server) log(h func(w http.ResponseWriter, r *http.Request, id string) error) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := wire.ConversationID(r)
		if err != nil {
			return err
		}
		if _, err := s.Engine.Log(id); err != nil {
			return missing(err, "Conversation not found: "+id)
		}
		return missing(h(w, r, id), "Conversation not found: "+id)
	}
}

func (s *server) searchEvents(w http.ResponseWriter, r *http.Request, id string) error {
	filter, err := readFilter(r)
	if err != nil {
		return err
	}
	q := control.EventQuery{EventFilter: filter, Page: r.URL.Query().Get("page_id")}
	if q.Limit, err = wire.Int(r, "limit", maxPage, pydantic.Above(0, maxPage)); err != nil {
		return err
	}
	order, err := wire.Choice(r, "sort_order", "TIMESTAMP", "TIMESTAMP", "TIMESTAMP_DESC")
	if err != nil {
		return err
	}
	q.Newest = order == "TIMESTAMP_DESC"
	page, err := s.Engine.Search(r.Context(), id, q)
	if err != nil {
		return err
	}
	items := make([]json.RawMessage, len(page.Events))
	for i, e := range page.Events {
		items[i] = shape.Listed(e)
	}
	answer := map[string]any{"items": items, "next_page_id": nullable(page.Next)}
	if page.LeftOut > 0 {
		answer[leftOutMember] = page.LeftOut
	}
	wire.WriteJSON(w, http.StatusOK, answer)
	return nil
}

func readFilter(r *http.Request) (f control.EventFilter, err error) {
	q := r.URL.Query()
	f = control.EventFilter{Kind: q.Get("kind"), Source: q.Get("source"), Body: q.Get("body")}
	if f.From, err = wire.LocalTime(r, "timestamp__gte"); err != nil {
		return f, err
	}
	f.Before, err = wire.LocalTime(r, "timestamp__lt")
	return f, err
}

func (s *server) countEvents(w http.ResponseWriter, r *http.Request, id string) error {
	filter, err := readFilter(r)
	if err != nil {
		return err
	}
	n, err := s.Engine.CountEvents(r.Context(), id, filter)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, n)
	return nil
}

func (s *server) event(w http.ResponseWriter, r *http.Request, id string) error {
	e, err := s.Engine.Event(r.Context(), id, r.PathValue("event"))
	if errors.Is(err, control.ErrNoEvent) {
		return &wire.Error{Status: http.StatusNotFound, Err: err}
	}
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, shape.Event(e))
	return nil
}

// batchEvents answers with the events of a list in the body, null for an unknown one.
func (s *server) batchEvents(w http.ResponseWriter, r *http.Request, id string) error {
	var ids []string
	if err := wire.ReadBody(r, &ids, false); err != nil {
		return err
	}
	if len(ids) > maxPage {
		return pydantic.Refuse(pydantic.Fault{Type: "too_long", Loc: []any{"body"}, Msg: "List should have at most 100 items"})
	}
	list := make([]json.RawMessage, len(ids))
	for i, one := range ids {
		e, err := s.Engine.Event(r.Context(), id, one)
		if err != nil && !errors.Is(err, control.ErrNoEvent) {
			return err
		}
		list[i] = shape.Event(e)
	}
	wire.WriteJSON(w, http.StatusOK, list)
	return nil
}

func (s *server) send(w http.ResponseWriter, r *http.Request, id string) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	m, run := message.Read(o), o.Bool("run", false)
	if err := o.Err(); err != nil {
		return err
	}
	err = s.with(r.Context(), id, func(ctx context.Context, c control.Conversation) error { return c.Append(ctx, m, run) })
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, wire.Success())
	return nil
}

// respond accepts or rejects what waits. Accepting is running, so where nothing waits,
// it runs, and a rejection that comes too late has nothing to do.
func (s *server) respond(w http.ResponseWriter, r *http.Request, id string) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	o.Need("accept")
	d := agentapi.Decision{Accept: o.Bool("accept", false), Reason: o.String("reason", "User rejected the action.")}
	if err := o.Err(); err != nil {
		return err
	}
	err = s.with(r.Context(), id, func(ctx context.Context, c control.Conversation) error {
		if !d.Accept {
			if err := c.Decide(ctx, d); !errors.Is(err, agentapi.ErrNothingWaits) {
				return err
			}
			return nil
		}
		if err := c.Run(ctx); !errors.Is(err, agentapi.ErrBusy) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, wire.Success())
	return nil
}
