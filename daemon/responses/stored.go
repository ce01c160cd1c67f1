package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/sse"
)

const (
	// cancelWait bounds how long a cancelled response may take to end.
	cancelWait = 15 * time.Second
)

// responseOf is a stored response that is open to the client. Another one is
// [ErrNotFound].
func (api *API) responseOf(client gate.Client, id string) (*Record, error) {
	return api.Store.LoadFor(id, client.Access().Enters)
}

// findResponse is a stored response of the client.
func (api *API) findResponse(x *gate.Exchange, r *http.Request) (*Record, error) {
	id := r.PathValue("id")
	rec, err := api.responseOf(x.Client, id)
	if errors.Is(err, ErrNotFound) {
		p := gate.NewProblem(gate.CodeNoResponse, "Response with id '"+id+"' not found.", nil)
		p.Wire.Code = "" // as OpenAI's
		return nil, p
	}
	if err != nil {
		return nil, storedProblem(err)
	}
	return rec, nil
}

// liveResponse returns a stored response of the client, and the one that is still being made;
// nil: it has ended.
func (api *API) liveResponse(x *gate.Exchange, r *http.Request) (*Record, *Live, error) {
	rec, err := api.findResponse(x, r)
	if err != nil {
		return nil, nil, err
	}
	live, err := api.live(rec)
	return rec, live, err
}

// live returns the response of a record while it is being made; nil: it has ended, and rec
// says how. A response that an earlier process has begun is followed, or has failed with that
// process.
func (api *API) live(rec *Record) (*Live, error) {
	api.rejoining.Lock()
	defer api.rejoining.Unlock()
	if l := api.Store.Live(rec.ID); l != nil {
		return l, nil
	}
	now, err := api.Store.Load(rec.ID) // it may have ended meanwhile
	if err != nil {
		return nil, storedProblem(err)
	}
	*rec = *now
	if rec.Status != openai.ResponseInProgress && rec.Status != openai.ResponseQueued {
		return nil, nil
	}
	if rec.Status == openai.ResponseQueued || api.core.InProcess {
		return nil, api.lost(rec)
	}
	format := rec.Echo.Format()
	schema, err := completions.SchemaOf(format)
	if err != nil {
		return nil, err
	}
	l := NewLive(Config{
		Response: openai.Response{Model: rec.Answers(), Background: rec.Background, Echo: rec.Echo}, Record: rec, Store: api.Store,
		Steps: !api.completions.AnswerOnly, Silent: api.completions.HideProgress, Form: schema != nil, Function: completions.FunctionOf(format),
		Conclude: concludeResponse(false, format), Failed: api.notStored, Now: api.core.Now,
	})
	att, err := api.core.Runs.Rejoin(run.Request{
		Asker:  run.Asker{Access: run.Access{Token: rec.Token}},
		Terms:  run.Terms{Profile: rec.Profile},
		Course: run.Course{Observer: l, Form: api.completions.FormOf(schema, rec.Profile, rec.Text)},
	}, run.Past{
		Conversation: rec.Conversation, Answer: strings.TrimPrefix(rec.ID, openai.ResponsePrefix), Created: rec.Created, Base: rec.Base,
	})
	if err != nil {
		return nil, gate.Explain(err)
	}
	att.Close() // the run goes on without
	return l, nil
}

// lost stores that a response failed with the process that made it.
func (api *API) lost(rec *Record) error {
	l := NewLive(Config{
		Response: openai.Response{Model: rec.Answers(), Background: rec.Background, Echo: rec.Echo, Conversation: rec.Conversation}, Store: api.Store, Now: api.core.Now,
		Conclude: func(turn.Result, error) Ending { return Ending{} },
	})
	l.Admitted(rec.Conversation, strings.TrimPrefix(rec.ID, openai.ResponsePrefix), rec.Created)
	l.Finish(Ending{
		Status: openai.ResponseFailed, Code: failedServer,
		Message: "ohgw was stopped while the response was being made. Continue with a new request and previous_response_id.",
	})
	if err := api.Store.Settle(rec, openai.ResponseFailed, l.Object()); err != nil {
		return storedProblem(err)
	}
	return nil
}

// GetResponse answers GET /v1/responses/{id}.
func (api *API) GetResponse() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		rec, live, err := api.liveResponse(x, r)
		if err != nil {
			return err
		}
		query := r.URL.Query()
		if asksStream(x, r, query) {
			return api.resume(x, r, rec, live, query)
		}
		object := []byte(rec.Object)
		if live != nil {
			object = live.Object()
		}
		x.Header().Set(gate.HeaderConversation, rec.Conversation)
		return x.WriteJSON(http.StatusOK, append(bytes.Clone(object), '\n'))
	}
}

// asksStream reports whether a GET asks for events: in the query, or in a small
// body as OpenAI's library for Go does (GetStreaming), without a content type.
// Any other body means nothing.
func asksStream(x *gate.Exchange, r *http.Request, query url.Values) bool {
	const most = 1 << 10
	if query.Get("stream") == "true" || r.ContentLength < 1 || r.ContentLength > most {
		return query.Get("stream") == "true"
	}
	body, err := x.Receive(r, most)
	var asked struct {
		Stream bool `json:"stream"`
	}
	return err == nil && json.Unmarshal(body, &asked) == nil && asked.Stream
}

// DeleteResponse answers DELETE /v1/responses/{id}.
func (api *API) DeleteResponse() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		rec, live, err := api.liveResponse(x, r)
		if err != nil {
			return err
		}
		if live != nil {
			return gate.NewProblem(gate.CodeResponseRunning, "The response is still being made; cancel it first: POST /v1/responses/"+rec.ID+"/cancel.", nil)
		}
		if err := api.Store.Delete(rec.ID); err != nil {
			return storedProblem(err)
		}
		return x.WriteJSON(http.StatusOK, fmt.Appendf(nil, `{"id":%q,"object":"response","deleted":true}`+"\n", rec.ID))
	}
}

// resume sends the events of a response after a number, those to come included.
func (api *API) resume(x *gate.Exchange, r *http.Request, rec *Record, live *Live, query url.Values) error {
	after := -1
	if v := query.Get("starting_after"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return gate.NewProblem(openai.CodeInvalidValue, "Invalid value for 'starting_after': expected the sequence_number of an event.", nil).About("starting_after")
		}
		after = n
	}
	x.Header().Set(gate.HeaderConversation, rec.Conversation)
	x.Seen.Answer = gate.AnswerStream
	if live != nil {
		x.StreamHeaders()
		return api.writeEvents(r.Context(), x, live, after+1)
	}
	stored, err := api.Store.Events(rec.ID, after+1)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return storedProblem(err)
	}
	if errors.Is(err, ErrNotFound) {
		return gate.NewProblem(gate.CodeNoResponse, "The events of this response are not stored; retrieve it without stream.", nil).About("stream")
	}
	x.StreamHeaders()
	events := sse.NewWriter(x, x.FlushNow)
	for _, e := range stored {
		if err := events.Event(e.Type, e.Data); err != nil {
			return err
		}
	}
	return x.FlushNow()
}

// CancelResponse answers POST /v1/responses/{id}/cancel.
func (api *API) CancelResponse() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		rec, live, err := api.liveResponse(x, r)
		if err != nil {
			return err
		}
		object := []byte(rec.Object)
		if live != nil {
			api.core.Runs.StopAnswer(rec.Conversation, strings.TrimPrefix(rec.ID, openai.ResponsePrefix))
			ctx, cancel := context.WithTimeout(r.Context(), cancelWait)
			defer cancel()
			if err := live.Ended(ctx); err != nil && r.Context().Err() != nil {
				return err
			}
			object = live.Object()
		}
		return x.WriteJSON(http.StatusOK, append(bytes.Clone(object), '\n'))
	}
}

// InputItems answers GET /v1/responses/{id}/input_items.
func (api *API) InputItems() gate.Handler {
	return func(x *gate.Exchange, r *http.Request) error {
		rec, err := api.findResponse(x, r)
		if err != nil {
			return err
		}
		page, err := gate.PageOf(r.URL.Query())
		if err != nil {
			return err
		}
		list, err := page.Of(rec.Input)
		if err != nil {
			return err
		}
		return x.WriteJSON(http.StatusOK, append(list, '\n'))
	}
}

// Sweep deletes responses that were not changed since before, and the conversations that
// were made for them.
func (api *API) Sweep(before time.Time) error {
	return api.Store.Sweep(api.core.Life(), before, func(conversation string) error {
		if api.core.Runs.IsBusy(conversation) {
			return nil
		}
		err := api.core.Runs.Remove(api.core.Life(), run.Access{Person: true}, conversation)
		if errors.Is(err, agentapi.ErrConversationNotFound) {
			return nil
		}
		return err
	})
}

// Forget deletes the responses of a conversation that was deleted.
func (api *API) Forget(conversation string) {
	if err := api.Store.Forget(api.core.Life(), conversation); err != nil && api.core.Life().Err() == nil {
		api.core.Logger.Warn("cannot remove the responses of a deleted conversation", "conversation_id", conversation, "err", err)
	}
}
