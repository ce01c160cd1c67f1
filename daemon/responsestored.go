package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/responses"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/sse"
)

const (
	// cancelWait bounds how long a cancelled response may take to end.
	cancelWait = 15 * time.Second

	codeNoResponse      = "response_not_found"
	codeResponseRunning = "response_in_progress"
)

// responseOf is a stored response that is open to the client. Another one is
// [responses.ErrNotFound].
func (d *Daemon) responseOf(client Client, id string) (*responses.Record, error) {
	return d.responses.LoadFor(id, client.access().Enters)
}

// findResponse is a stored response of the client.
func (d *Daemon) findResponse(x *exchange, r *http.Request) (*responses.Record, error) {
	id := r.PathValue("id")
	rec, err := d.responseOf(x.client, id)
	if errors.Is(err, responses.ErrNotFound) {
		p := newProblem(codeNoResponse, "Response with id '"+id+"' not found.", nil)
		p.wire.Code = "" // as OpenAI's
		return nil, p
	}
	if err != nil {
		return nil, storedProblem(err)
	}
	return rec, nil
}

// live is the response of a record while it is being made; nil: it has ended, and
// rec says how. A response that an earlier process has begun is followed, or has
// failed with that process.
func (d *Daemon) live(rec *responses.Record) (*responses.Live, error) {
	d.rejoining.Lock()
	defer d.rejoining.Unlock()
	if l := d.responses.Live(rec.ID); l != nil {
		return l, nil
	}
	now, err := d.responses.Load(rec.ID) // it may have ended meanwhile
	if err != nil {
		return nil, storedProblem(err)
	}
	*rec = *now
	if rec.Status != openai.ResponseInProgress && rec.Status != openai.ResponseQueued {
		return nil, nil
	}
	if rec.Status == openai.ResponseQueued || d.cfg.InProcess {
		return nil, d.lost(rec)
	}
	format := rec.Echo.Format()
	schema, err := schemaOf(format)
	if err != nil {
		return nil, err
	}
	l := responses.NewLive(responses.Config{
		Response: openai.Response{Model: rec.Model, Background: rec.Background, Echo: rec.Echo}, Record: rec, Store: d.responses,
		Steps: !d.cfg.AnswerOnly, Silent: d.cfg.HideProgress, Form: schema != nil, Function: functionOf(format),
		Conclude: concludeResponse(false, format), Failed: d.notStored, Now: d.cfg.Now,
	})
	req := run.Request{Access: run.Access{Token: rec.Token}, Profile: rec.Profile, Observer: l}
	if schema != nil {
		req.Form = (&former{d: d, schema: schema, profile: rec.Profile, question: rec.Text}).form
	}
	att, err := d.runs.Rejoin(req, run.Past{
		Conversation: rec.Conversation, Answer: strings.TrimPrefix(rec.ID, responses.Prefix), Created: rec.Created, Base: rec.Base,
	})
	if err != nil {
		return nil, explain(err)
	}
	att.Close() // the run goes on without
	return l, nil
}

// lost stores that a response failed with the process that made it.
func (d *Daemon) lost(rec *responses.Record) error {
	l := responses.NewLive(responses.Config{
		Response: openai.Response{Model: rec.Model, Background: rec.Background, Echo: rec.Echo, Conversation: rec.Conversation}, Store: d.responses, Now: d.cfg.Now,
		Conclude: func(turn.Result, error) responses.Ending { return responses.Ending{} },
	})
	l.Admitted(rec.Conversation, strings.TrimPrefix(rec.ID, responses.Prefix), rec.Created)
	l.Finish(responses.Ending{
		Status: openai.ResponseFailed, Code: failedServer,
		Message: "ohgw was stopped while the response was being made. Continue with a new request and previous_response_id.",
	})
	if err := d.responses.Settle(rec, openai.ResponseFailed, l.Object()); err != nil {
		return storedProblem(err)
	}
	return nil
}

// storedResponse answers GET and DELETE /v1/responses/{id}.
func (d *Daemon) storedResponse() handler {
	return func(x *exchange, r *http.Request) error {
		rec, err := d.findResponse(x, r)
		if err != nil {
			return err
		}
		live, err := d.live(rec)
		if err != nil {
			return err
		}
		if r.Method == http.MethodDelete {
			return d.deleteResponse(x, rec, live)
		}
		query := r.URL.Query()
		if x.asksStream(r, query) {
			return d.resume(x, r, rec, live, query)
		}
		object := []byte(rec.Object)
		if live != nil {
			object = live.Object()
		}
		x.Header().Set(headerConversation, rec.Conversation)
		return x.writeJSON(http.StatusOK, append(bytes.Clone(object), '\n'))
	}
}

// asksStream reports whether a GET asks for events: in the query, or in a small
// body as OpenAI's library for Go does (GetStreaming), without a content type.
// Any other body means nothing.
func (x *exchange) asksStream(r *http.Request, query url.Values) bool {
	const most = 1 << 10
	if query.Get("stream") == "true" || r.ContentLength < 1 || r.ContentLength > most {
		return query.Get("stream") == "true"
	}
	body, err := x.receive(r, most)
	var asked struct {
		Stream bool `json:"stream"`
	}
	return err == nil && json.Unmarshal(body, &asked) == nil && asked.Stream
}

func (d *Daemon) deleteResponse(x *exchange, rec *responses.Record, live *responses.Live) error {
	if live != nil {
		return newProblem(codeResponseRunning, "The response is still being made; cancel it first: POST /v1/responses/"+rec.ID+"/cancel.", nil)
	}
	if err := d.responses.Delete(rec.ID); err != nil {
		return storedProblem(err)
	}
	return x.writeJSON(http.StatusOK, fmt.Appendf(nil, `{"id":%q,"object":"response","deleted":true}`+"\n", rec.ID))
}

// resume sends the events of a response after a number, those to come included.
func (d *Daemon) resume(x *exchange, r *http.Request, rec *responses.Record, live *responses.Live, query url.Values) error {
	after := -1
	if v := query.Get("starting_after"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return newProblem(openai.CodeInvalidValue, "Invalid value for 'starting_after': expected the sequence_number of an event.", nil).about("starting_after")
		}
		after = n
	}
	x.Header().Set(headerConversation, rec.Conversation)
	x.seen.answer = answerStream
	if live != nil {
		x.streamHeaders()
		return x.writeEvents(r.Context(), live, after+1)
	}
	stored, err := d.responses.Events(rec.ID, after+1)
	if err != nil && !errors.Is(err, responses.ErrNotFound) {
		return storedProblem(err)
	}
	if errors.Is(err, responses.ErrNotFound) {
		return newProblem(codeNoResponse, "The events of this response are not stored; retrieve it without stream.", nil).about("stream")
	}
	x.streamHeaders()
	events := sse.NewWriter(x, x.flush)
	for _, e := range stored {
		if err := events.Event(e.Type, e.Data); err != nil {
			return err
		}
	}
	return x.flush()
}

// cancelResponse answers POST /v1/responses/{id}/cancel.
func (d *Daemon) cancelResponse() handler {
	return func(x *exchange, r *http.Request) error {
		rec, err := d.findResponse(x, r)
		if err != nil {
			return err
		}
		live, err := d.live(rec)
		if err != nil {
			return err
		}
		object := []byte(rec.Object)
		if live != nil {
			d.runs.StopAnswer(rec.Conversation, strings.TrimPrefix(rec.ID, responses.Prefix))
			ctx, cancel := context.WithTimeout(r.Context(), cancelWait)
			defer cancel()
			if err := live.Ended(ctx); err != nil && r.Context().Err() != nil {
				return err
			}
			object = live.Object()
		}
		return x.writeJSON(http.StatusOK, append(bytes.Clone(object), '\n'))
	}
}

// inputItems answers GET /v1/responses/{id}/input_items.
func (d *Daemon) inputItems() handler {
	return func(x *exchange, r *http.Request) error {
		rec, err := d.findResponse(x, r)
		if err != nil {
			return err
		}
		page, err := pageOf(r.URL.Query())
		if err != nil {
			return err
		}
		list, err := page.of(rec.Input)
		if err != nil {
			return err
		}
		return x.writeJSON(http.StatusOK, append(list, '\n'))
	}
}

// itemPage is the part of a list that is asked for.
type itemPage struct {
	limit int
	desc  bool
	after string
}

func pageOf(query url.Values) (itemPage, error) {
	p := itemPage{limit: defaultItems, desc: true, after: query.Get("after")}
	if v := query.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > maxItems {
			return p, newProblem(openai.CodeInvalidValue, "'limit' must be a number from 1 to 100.", nil).about("limit")
		}
		p.limit = n
	}
	switch query.Get("order") {
	case "", "desc":
	case "asc":
		p.desc = false
	default:
		return p, newProblem(openai.CodeInvalidValue, "'order' must be asc or desc.", nil).about("order")
	}
	return p, nil
}

// of is the page of a list of items, the oldest first, as JSON.
func (p itemPage) of(items []json.RawMessage) ([]byte, error) {
	items = slices.Clone(items)
	if p.desc {
		slices.Reverse(items)
	}
	if p.after != "" {
		i := slices.IndexFunc(items, func(item json.RawMessage) bool { return idOf(item) == p.after })
		if i < 0 {
			return nil, newProblem(openai.CodeInvalidValue, "Invalid value for 'after': there is no item with this id.", nil).about("after")
		}
		items = items[i+1:]
	}
	more := len(items) > p.limit
	items = items[:min(len(items), p.limit)]
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

// sweepResponses deletes old responses until the daemon ends.
func (d *Daemon) sweepResponses() {
	if d.cfg.ResponsesTTL < 0 {
		return
	}
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-d.life.Done():
			return
		}
		before := d.cfg.Now().Add(-d.cfg.ResponsesTTL)
		if err := d.sweepAdded(before); err != nil && d.life.Err() == nil {
			d.cfg.Logger.Warn("cannot remove unused conversations", "err", err)
		}
		err := d.responses.Sweep(d.life, before, func(conversation string) error {
			if d.runs.IsBusy(conversation) {
				return nil
			}
			err := d.runs.Remove(d.life, run.Access{Person: true}, conversation)
			if errors.Is(err, agentapi.ErrConversationNotFound) {
				return nil
			}
			return err
		})
		if err != nil && d.life.Err() == nil {
			d.cfg.Logger.Warn("cannot remove old responses", "err", err)
		}
	}
}

// forgetResponses deletes the responses of a conversation that was deleted.
func (d *Daemon) forgetResponses(conversation string) {
	if err := d.responses.Forget(d.life, conversation); err != nil && d.life.Err() == nil {
		d.cfg.Logger.Warn("cannot remove the responses of a deleted conversation", "conversation_id", conversation, "err", err)
	}
}
