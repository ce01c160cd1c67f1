package conversations

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/uuid"
)

const (
	// maxPage is the highest number of items of a page.
	maxPage = 100
	// maxBatch is one more than the highest number of ids of a batch.
	maxBatch = 100
)

func (s *server) get(w http.ResponseWriter, r *http.Request) error {
	id, err := wire.ConversationID(r)
	if err != nil {
		return err
	}
	record, err := s.Engine.Record(r.Context(), id)
	if err != nil {
		return bare(err)
	}
	return s.writeInfo(w, r, http.StatusOK, record)
}

// runtime tells of what a conversation runs in. Nothing is to be provisioned for it.
func (s *server) runtime(w http.ResponseWriter, r *http.Request) error {
	id, err := wire.ConversationID(r)
	if err != nil {
		return err
	}
	if _, err := s.Engine.Log(id); err != nil {
		return bare(err)
	}
	wire.WriteJSON(w, http.StatusOK, json.RawMessage(runtimeInfo))
	return nil
}

func (s *server) batch(w http.ResponseWriter, r *http.Request) error {
	ids := r.URL.Query()["ids"]
	switch {
	case len(ids) == 0:
		return pydantic.Refuse(pydantic.Missing().At([]any{"query", "ids"}, nil))
	case len(ids) >= maxBatch:
		return pydantic.Refuse(pydantic.Fault{Type: "too_long", Loc: []any{"query", "ids"}, Msg: fmt.Sprintf("List should have at most 99 items after validation, not %d", len(ids))})
	}
	skills, err := wire.Bool(r, "include_skills", false)
	if err != nil {
		return err
	}
	for i, text := range ids {
		if ids[i], err = wire.ParseID(text, "query", "ids", i); err != nil {
			return err
		}
	}
	var records []control.Record
	found := make([]bool, len(ids))
	for i, id := range ids {
		record, err := s.Engine.Record(r.Context(), id)
		if errors.Is(err, agentapi.ErrConversationNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		records, found[i] = append(records, record), true
	}
	infos, err := s.infos(r.Context(), shown{skills: skills, runtime: true}, records...)
	if err != nil {
		return err
	}
	list := make([]json.RawMessage, len(ids)) // a nil one is null
	for i := range ids {
		if found[i] {
			list[i], infos = infos[0], infos[1:]
		}
	}
	wire.WriteJSON(w, http.StatusOK, list)
	return nil
}

func (s *server) search(w http.ResponseWriter, r *http.Request) error {
	q, skills, err := readSearch(r)
	if err != nil {
		return err
	}
	page, err := s.Engine.List(r.Context(), q)
	if err != nil {
		return err
	}
	items, err := s.infos(r.Context(), shown{skills: skills, runtime: true}, page.Records...)
	if err != nil {
		return err
	}
	// The ids of pages have no dashes.
	wire.WriteJSON(w, http.StatusOK, map[string]any{"items": items, "next_page_id": nullable(strings.ReplaceAll(page.Next, "-", ""))})
	return nil
}

func readSearch(r *http.Request) (q control.ListQuery, skills bool, err error) {
	q.Limit, err = wire.Int(r, "limit", maxPage, pydantic.Above(0, maxPage))
	if err != nil {
		return q, false, err
	}
	if q.Status, err = status(r); err != nil {
		return q, false, err
	}
	q.Order, err = wire.Choice(r, "sort_order", control.ByCreatedDesc, control.ByCreated, control.ByUpdated, control.ByCreatedDesc, control.ByUpdatedDesc)
	if err != nil {
		return q, false, err
	}
	if from, err := uuid.Parse(r.URL.Query().Get("page_id")); err == nil {
		q.From = from // an unknown one is the first page
	}
	skills, err = wire.Bool(r, "include_skills", false)
	return q, skills, err
}

// status is the status that conversations are asked for by.
func status(r *http.Request) (event.Status, error) {
	s, err := wire.Choice(r, "status", "", string(event.Idle), string(event.Running), string(event.Paused), string(event.Waiting),
		string(event.Finished), string(event.Failed), string(event.Stuck), "deleting")
	return event.Status(s), err
}

func (s *server) count(w http.ResponseWriter, r *http.Request) error {
	of, err := status(r)
	if err != nil {
		return err
	}
	n, err := s.Engine.Count(r.Context(), of)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, n)
	return nil
}

func (s *server) change(w http.ResponseWriter, r *http.Request) error {
	id, o, err := readFor(r, false)
	if err != nil {
		return err
	}
	ch := control.Change{Title: o.Text("title", 1, maxTitle)}
	if ch.Title != nil && strings.TrimSpace(*ch.Title) == "" {
		o.Value("title", "title must not be blank")
	}
	if o.Has("tags") {
		ch.Tags = readTags(o)
	}
	if err := o.Err(); err != nil {
		return err
	}
	if err := s.Engine.Change(r.Context(), id, ch); err != nil {
		return bare(err)
	}
	wire.WriteJSON(w, http.StatusOK, wire.Success())
	return nil
}

func (s *server) remove(w http.ResponseWriter, r *http.Request) error {
	id, err := wire.ConversationID(r)
	if err != nil {
		return err
	}
	s.Ended(id)
	if err := s.Engine.Remove(r.Context(), id); err != nil {
		return bare(err)
	}
	wire.WriteJSON(w, http.StatusOK, wire.Success())
	return nil
}
