package shell

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/subpath"
)

// usualTimeout is how long a command may run if its request does not say, in seconds.
const usualTimeout = 300

// maxPageEvents is how many events a page may have.
const maxPageEvents = 100

// Routes are those of /api/bash.
func (s *Shell) Routes() []wire.Route {
	return routes("/api/bash", "", func(do handler) wire.Handler {
		return func(w http.ResponseWriter, r *http.Request) error { return do(s.all, w, r) }
	})
}

// Below are the same routes for places, with another base. The summaries end with of. Find
// returns the place that a request names.
func (s *Shell) Below(base, of string, find func(r *http.Request) (Place, error)) []wire.Route {
	return routes(base, of, func(do handler) wire.Handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			p, err := find(r)
			if err != nil {
				return err
			}
			h := s.at(p)
			defer h.release()
			return do(h, w, r)
		}
	})
}

// handler answers a request about a history.
type handler func(h *history, w http.ResponseWriter, r *http.Request) error

func routes(base, of string, in func(handler) wire.Handler) []wire.Route {
	list := []wire.Route{
		{Method: http.MethodPost, Path: "/execute_bash_command", Summary: "Run a shell command and wait", Body: true, Handle: in((*history).executeCommand)},
		{Method: http.MethodPost, Path: "/start_bash_command", Summary: "Run a shell command in the background", Body: true, Handle: in((*history).startCommand)},
		{Method: http.MethodPost, Path: "/bash_commands/{command_id}/stop", Summary: "End a command", Handle: in((*history).stopCommand)},
		{Method: http.MethodGet, Path: "/bash_events/search", Summary: "List the events of commands", Query: []string{
			"kind__eq", "command_id__eq", "timestamp__gte", "timestamp__lt", "order__gt", "sort_order", "page_id", "limit",
		}, Handle: in((*history).search)},
		{Method: http.MethodGet, Path: "/bash_events/{event_id}", Summary: "One event of a command", Handle: in((*history).get)},
		{Method: http.MethodGet, Path: "/bash_events/{$}", Summary: "Several events of commands, by their ids", Body: true, Handle: in((*history).batch)},
		{Method: http.MethodDelete, Path: "/bash_events", Summary: "Forget the events of commands", Handle: in((*history).clear)},
	}
	for i := range list {
		list[i].Path = base + list[i].Path
		list[i].Summary += of
	}
	return list
}

func (h *history) startCommand(w http.ResponseWriter, r *http.Request) error {
	data, _, err := h.asked(r)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, json.RawMessage(data))
	return nil
}

func (h *history) executeCommand(w http.ResponseWriter, r *http.Request) error {
	_, done, err := h.asked(r)
	if err != nil {
		return err
	}
	select {
	case last, ok := <-done:
		if !ok && h.removed() {
			return wire.Refuse(http.StatusNotFound, "The conversation was removed, and the command was ended.")
		}
		if !ok {
			return wire.Refuse(http.StatusInternalServerError, "The output of the command could not be kept; the log of ohgw serve has the cause.")
		}
		whole, err := h.joined(last)
		if err != nil {
			return err
		}
		wire.WriteJSON(w, http.StatusOK, whole)
	case <-r.Context().Done(): // the command goes on
	}
	return nil
}

// stopCommand ends a command that runs. One that has ended already is fine, too.
func (h *history) stopCommand(w http.ResponseWriter, r *http.Request) error {
	id, err := wire.ParseID(r.PathValue("command_id"), "path", "command_id")
	if err != nil {
		return err
	}
	id = strings.ReplaceAll(id, "-", "")
	if done := h.stop(id); done != nil {
		select {
		case <-done:
		case <-r.Context().Done():
		}
	} else if data, err := h.events.find(id); err != nil {
		return err
	} else if data == nil {
		return &wire.Error{Status: http.StatusNotFound}
	}
	wire.WriteJSON(w, http.StatusOK, wire.Success())
	return nil
}

// asked starts the command of a request.
func (h *history) asked(r *http.Request) (started []byte, done <-chan []byte, err error) {
	var body json.RawMessage
	if err := wire.ReadBody(r, &body, false); err != nil {
		return nil, nil, err
	}
	q, err := readRequest(body, "body")
	if err != nil {
		return nil, nil, err
	}
	if q.Dir != nil && h.dir != "" && !subpath.Inside(h.dir, *q.Dir) {
		return nil, nil, wire.Refuse(http.StatusUnprocessableEntity, "cwd must be inside the conversation workspace")
	}
	started, done, err = h.start(q)
	if errors.Is(err, errMany) || errors.Is(err, errClosed) || errors.Is(err, errEnded) {
		err = &wire.Error{Status: http.StatusServiceUnavailable, Detail: "The command does not run: " + err.Error() + ".", Err: err}
	}
	return started, done, err
}

// readRequest reads a command. An error is a [*pydantic.Error].
func readRequest(raw json.RawMessage, loc ...any) (request, error) {
	o, err := pydantic.NewObject(raw, loc...)
	if err != nil {
		return request{}, err
	}
	o.Need("command")
	q := request{Command: o.String("command", ""), Dir: o.Text("cwd", 0, -1), Timeout: o.Int("timeout", usualTimeout, pydantic.Bounds{})}
	return q, o.Err()
}

func (h *history) search(w http.ResponseWriter, r *http.Request) error {
	q, err := queryOf(r)
	if err != nil {
		return err
	}
	events, next, err := h.events.search(q)
	if err != nil {
		return err
	}
	page := struct {
		Items []json.RawMessage `json:"items"`
		Next  *string           `json:"next_page_id"`
	}{Items: []json.RawMessage{}}
	for _, e := range events {
		page.Items = append(page.Items, e.data)
	}
	if next != "" {
		page.Next = &next
	}
	wire.WriteJSON(w, http.StatusOK, page)
	return nil
}

// queryOf reads the parameters of a search.
func queryOf(r *http.Request) (q query, err error) {
	values := r.URL.Query()
	if q.limit, err = wire.Int(r, "limit", maxPageEvents, pydantic.Above(0, maxPageEvents)); err != nil {
		return q, err
	}
	q.page = values.Get("page_id")
	if kind := values.Get("kind__eq"); kind != "" {
		q.kind, err = pydantic.Plain(kind, []any{"query", "kind__eq"}, func(raw json.RawMessage) (string, *pydantic.Refusal) {
			return pydantic.Choice(raw, pydantic.Literal, kindCommand, kindOutput)
		})
		if err != nil {
			return q, err
		}
	}
	order, err := wire.Choice(r, "sort_order", "TIMESTAMP", "TIMESTAMP", "TIMESTAMP_DESC")
	if err != nil {
		return q, err
	}
	q.newest = order == "TIMESTAMP_DESC"
	if id := values.Get("command_id__eq"); id != "" {
		if id, err = wire.ParseID(id, "query", "command_id__eq"); err != nil {
			return q, err
		}
		q.command = strings.ReplaceAll(id, "-", "")
	}
	if values.Get("order__gt") != "" {
		n, err := wire.Int(r, "order__gt", 0, pydantic.Bounds{})
		if err != nil {
			return q, err
		}
		q.after = &n
	}
	if q.from, err = timeIn(r, "timestamp__gte"); err == nil {
		q.before, err = timeIn(r, "timestamp__lt")
	}
	return q, err
}

// timeIn reads a time of the query. One without a zone is UTC.
func timeIn(r *http.Request, name string) (time.Time, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		// A plus sign of a zone that was not escaped is a space here.
		for _, try := range []string{text, strings.Replace(text, " ", "+", 1)} {
			if t, err := time.Parse(form, try); err == nil {
				return t.UTC(), nil
			}
		}
	}
	return time.Time{}, pydantic.Refuse(pydantic.Fault{
		Type: "datetime_from_date_parsing", Loc: []any{"query", name}, Msg: "Input should be a valid datetime or date", Input: text,
	})
}

func (h *history) get(w http.ResponseWriter, r *http.Request) error {
	data, err := h.events.find(r.PathValue("event_id"))
	if err != nil {
		return err
	}
	if data == nil {
		return &wire.Error{Status: http.StatusNotFound}
	}
	wire.WriteJSON(w, http.StatusOK, json.RawMessage(data))
	return nil
}

func (h *history) batch(w http.ResponseWriter, r *http.Request) error {
	var ids []string
	if err := wire.ReadBody(r, &ids, false); err != nil {
		return err
	}
	if len(ids) > maxPageEvents {
		return wire.Refuse(http.StatusUnprocessableEntity, "At most %d events can be asked for at once.", maxPageEvents)
	}
	found := make([]json.RawMessage, len(ids))
	for i, id := range ids {
		data, err := h.events.find(id)
		if err != nil {
			return err
		}
		found[i] = data
	}
	wire.WriteJSON(w, http.StatusOK, found)
	return nil
}

func (h *history) clear(w http.ResponseWriter, _ *http.Request) error {
	n, err := h.events.clear()
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]int{"cleared_count": n})
	return nil
}
