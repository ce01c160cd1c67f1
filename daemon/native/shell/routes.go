package shell

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/daemon/native/wire"
)

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
	q, wrong := readRequest(body, "body")
	if wrong != nil {
		return nil, nil, wire.Unprocessable(wrong...)
	}
	started, done, err = s.start(q)
	if errors.Is(err, errMany) || errors.Is(err, errClosed) {
		err = &wire.Error{Status: http.StatusServiceUnavailable, Detail: "The command does not run: " + err.Error() + ".", Err: err}
	}
	return started, done, err
}

// readRequest reads a command, and says all that is wrong with it.
func readRequest(body json.RawMessage, loc ...any) (request, []wire.Invalid) {
	q := request{Timeout: 300}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields == nil {
		return q, []wire.Invalid{{Type: "model_attributes_type", Loc: loc, Msg: "Input should be a valid dictionary or object to extract fields from", Input: body}}
	}
	var wrong []wire.Invalid
	at := func(name string) []any { return append(append([]any(nil), loc...), name) }
	raw, ok := fields["command"]
	switch {
	case !ok:
		wrong = append(wrong, wire.Invalid{Type: "missing", Loc: at("command"), Msg: "Field required", Input: body})
	case string(raw) == "null" || json.Unmarshal(raw, &q.Command) != nil:
		wrong = append(wrong, wire.Invalid{Type: "string_type", Loc: at("command"), Msg: "Input should be a valid string", Input: raw})
	}
	if raw, ok := fields["cwd"]; ok && json.Unmarshal(raw, &q.Dir) != nil {
		wrong = append(wrong, wire.Invalid{Type: "string_type", Loc: at("cwd"), Msg: "Input should be a valid string", Input: raw})
	}
	if raw, ok := fields["timeout"]; ok {
		if q.Timeout, ok = wholeNumber(raw); !ok {
			wrong = append(wrong, wire.Invalid{Type: "int_type", Loc: at("timeout"), Msg: "Input should be a valid integer", Input: raw})
		}
	}
	return q, wrong
}

// wholeNumber reads a number, which may also be written as a text or with a fraction
// of zero.
func wholeNumber(raw json.RawMessage) (int, bool) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
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
	if q.limit, err = wire.Int(r, "limit", maxPageEvents, 1, maxPageEvents); err != nil {
		return q, err
	}
	q.page = values.Get("page_id")
	switch q.kind = values.Get("kind__eq"); q.kind {
	case "", kindCommand, kindOutput:
	default:
		return q, invalid("literal_error", "kind__eq", "Input should be 'BashCommand' or 'BashOutput'", q.kind)
	}
	switch order := values.Get("sort_order"); order {
	case "", "TIMESTAMP":
	case "TIMESTAMP_DESC":
		q.newest = true
	default:
		return q, invalid("enum", "sort_order", "Input should be 'TIMESTAMP' or 'TIMESTAMP_DESC'", order)
	}
	if id := values.Get("command_id__eq"); id != "" {
		if id, err = wire.ParseID(id, "query", "command_id__eq"); err != nil {
			return q, err
		}
		q.command = strings.ReplaceAll(id, "-", "")
	}
	if values.Get("order__gt") != "" {
		n, err := wire.Int(r, "order__gt", 0, math.MinInt32, math.MaxInt32)
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
	return wire.Unprocessable(wire.Invalid{Type: kind, Loc: []any{"query", name}, Msg: msg, Input: input})
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
