package shell

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// usualTimeout is how long a command may run if its request does not say, in seconds.
const usualTimeout = 300

// maxPageEvents is how many events a page may have.
const maxPageEvents = 100

// Routes are those of /api/bash.
func (s *Shell) Routes() []wire.Route {
	return []wire.Route{
		{Method: http.MethodPost, Path: "/api/bash/execute_bash_command", Summary: "Run a shell command and wait", Body: true, Handle: s.executeCommand},
		{Method: http.MethodPost, Path: "/api/bash/start_bash_command", Summary: "Run a shell command in the background", Body: true, Handle: s.startCommand},
		{Method: http.MethodPost, Path: "/api/bash/bash_commands/{command_id}/stop", Summary: "End a command", Handle: s.stopCommand},
		{Method: http.MethodGet, Path: "/api/bash/bash_events/search", Summary: "List the events of commands", Query: []string{
			"kind__eq", "command_id__eq", "timestamp__gte", "timestamp__lt", "order__gt", "sort_order", "page_id", "limit",
		}, Handle: s.search},
		{Method: http.MethodGet, Path: "/api/bash/bash_events/{event_id}", Summary: "One event of a command", Handle: s.get},
		{Method: http.MethodGet, Path: "/api/bash/bash_events/{$}", Summary: "Several events of commands, by their ids", Body: true, Handle: s.batch},
		{Method: http.MethodDelete, Path: "/api/bash/bash_events", Summary: "Forget the events of commands", Handle: s.clear},
	}
}

func (s *Shell) startCommand(w http.ResponseWriter, r *http.Request) error {
	data, _, err := s.asked(r)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, json.RawMessage(data))
	return nil
}

func (s *Shell) executeCommand(w http.ResponseWriter, r *http.Request) error {
	_, done, err := s.asked(r)
	if err != nil {
		return err
	}
	select {
	case last, ok := <-done:
		if !ok {
			return wire.Refuse(http.StatusInternalServerError, "The output of the command could not be kept; the log of ohgw serve has the cause.")
		}
		wire.WriteJSON(w, http.StatusOK, json.RawMessage(last))
	case <-r.Context().Done(): // the command goes on
	}
	return nil
}

// stopCommand ends a command that runs. One that has ended already is fine, too.
func (s *Shell) stopCommand(w http.ResponseWriter, r *http.Request) error {
	id, err := wire.ParseID(r.PathValue("command_id"), "path", "command_id")
	if err != nil {
		return err
	}
	id = strings.ReplaceAll(id, "-", "")
	if done := s.stop(id); done != nil {
		select {
		case <-done:
		case <-r.Context().Done():
		}
	} else if data, err := s.events.find(id); err != nil {
		return err
	} else if data == nil {
		return &wire.Error{Status: http.StatusNotFound}
	}
	wire.WriteJSON(w, http.StatusOK, wire.Success())
	return nil
}

// asked starts the command of a request.
func (s *Shell) asked(r *http.Request) (started []byte, done <-chan []byte, err error) {
	var body json.RawMessage
	if err := wire.ReadBody(r, &body, false); err != nil {
		return nil, nil, err
	}
	q, err := readRequest(body, "body")
	if err != nil {
		return nil, nil, err
	}
	started, done, err = s.start(q)
	if errors.Is(err, errMany) || errors.Is(err, errClosed) {
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

func (s *Shell) search(w http.ResponseWriter, r *http.Request) error {
	q, err := queryOf(r)
	if err != nil {
		return err
	}
	events, next, err := s.events.search(q)
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
	switch q.kind = values.Get("kind__eq"); q.kind {
	case "", kindCommand, kindOutput:
	default:
		return q, invalid(pydantic.Literal, "kind__eq", "Input should be 'BashCommand' or 'BashOutput'", q.kind)
	}
	switch order := values.Get("sort_order"); order {
	case "", "TIMESTAMP":
	case "TIMESTAMP_DESC":
		q.newest = true
	default:
		return q, invalid(pydantic.Enum, "sort_order", "Input should be 'TIMESTAMP' or 'TIMESTAMP_DESC'", order)
	}
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
	return time.Time{}, invalid("datetime_from_date_parsing", name, "Input should be a valid datetime or date", text)
}

func invalid(kind, name, msg, input string) error {
	return pydantic.Refuse(pydantic.Fault{Type: kind, Loc: []any{"query", name}, Msg: msg, Input: input})
}

func (s *Shell) get(w http.ResponseWriter, r *http.Request) error {
	data, err := s.events.find(r.PathValue("event_id"))
	if err != nil {
		return err
	}
	if data == nil {
		return &wire.Error{Status: http.StatusNotFound}
	}
	wire.WriteJSON(w, http.StatusOK, json.RawMessage(data))
	return nil
}

func (s *Shell) batch(w http.ResponseWriter, r *http.Request) error {
	var ids []string
	if err := wire.ReadBody(r, &ids, false); err != nil {
		return err
	}
	if len(ids) > maxPageEvents {
		return wire.Refuse(http.StatusUnprocessableEntity, "At most %d events can be asked for at once.", maxPageEvents)
	}
	found := make([]json.RawMessage, len(ids))
	for i, id := range ids {
		data, err := s.events.find(id)
		if err != nil {
			return err
		}
		found[i] = data
	}
	wire.WriteJSON(w, http.StatusOK, found)
	return nil
}

func (s *Shell) clear(w http.ResponseWriter, _ *http.Request) error {
	n, err := s.events.clear()
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]int{"cleared_count": n})
	return nil
}
