// Package wire is how OpenHands' agent-server speaks HTTP: its errors, bodies and the
// parameters of queries. Package pydantic reads what is in them. Every route of package native is a [Route] of this package.
package wire

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// Route is a path of the API and who answers it.
type Route struct {
	Method string
	// Path is a pattern of [http.ServeMux], such as "/api/conversations/{id}".
	Path string
	// Summary says in a line what the route does, for /docs.
	Summary string
	// Query names the parameters of the query, for /docs.
	Query []string
	// Body says that the request has a JSON object.
	Body   bool
	Handle Handler
}

// Public reports whether clients without a key may call a path, as with an agent-server:
// the probes, and the documents about the API.
func Public(path string) bool {
	switch path {
	case "/alive", "/health", "/ready", "/server_info", "/docs", "/redoc", "/openapi.json":
		return true
	}
	return false
}

// Handler answers a request, or returns why it does not: an [*Error], a
// [*pydantic.Error], an [agentapi.Error], or an error that becomes a 500.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Error is a failure as clients see it.
type Error struct {
	Status int
	// Detail is a sentence, or a list of [pydantic.Fault]; nil: the phrase of the status.
	Detail any
	// Err is the private cause, for logs. May be nil.
	Err error
}

// Error is the detail and the private cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%d: %v", e.Status, e.Detail)
	}
	return fmt.Sprintf("%d: %v: %v", e.Status, e.Detail, e.Err)
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.Err }

// Refuse is an error with a status and a sentence.
func Refuse(status int, format string, args ...any) *Error {
	return &Error{Status: status, Detail: fmt.Sprintf(format, args...)}
}

// Answer makes a handler of net/http of one that may fail.
func Answer(log *slog.Logger, h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			Fail(log, w, r, err)
		}
	})
}

// Fail answers with an error, unless the client is gone.
func Fail(log *slog.Logger, w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return
	}
	e := explain(err)
	if e.Status >= http.StatusInternalServerError {
		log.ErrorContext(r.Context(), "a request of OpenHands' API failed", "method", r.Method, "path", r.URL.Path, "status", e.Status, "err", err)
		WriteJSON(w, e.Status, map[string]any{"detail": "Internal Server Error", "exception": fmt.Sprintf("%d: %v", e.Status, e.Detail)})
		return
	}
	WriteJSON(w, e.Status, map[string]any{"detail": e.Detail})
}

// explain finds the status of an error and what clients are told.
func explain(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		if e.Detail == nil {
			return &Error{Status: e.Status, Detail: http.StatusText(e.Status), Err: e.Err}
		}
		return e
	}
	if e, ok := errors.AsType[*pydantic.Error](err); ok {
		return &Error{Status: http.StatusUnprocessableEntity, Detail: e.Faults, Err: e.Err}
	}
	if e, ok := errors.AsType[*openhands.Error](err); ok {
		return explainKept(e)
	}
	status := http.StatusInternalServerError
	for _, row := range statuses() {
		if errors.Is(err, row.kind) {
			status = row.status
			break
		}
	}
	return &Error{Status: status, Detail: agentapi.PublicMessage(err, http.StatusText(status)), Err: err}
}

// explainKept returns the answer for what OpenHands' own files did not allow.
func explainKept(e *openhands.Error) *Error {
	out := &Error{Status: http.StatusInternalServerError, Detail: e.Msg, Err: e}
	switch e.Kind {
	case openhands.NotFound:
		out.Status = http.StatusNotFound
	case openhands.Taken, openhands.Unreadable:
		out.Status = http.StatusConflict
	case openhands.Malformed:
		out.Status = http.StatusBadRequest
	case openhands.Invalid:
		out.Status = http.StatusUnprocessableEntity
	case openhands.Busy, openhands.NoKey:
		out.Status = http.StatusServiceUnavailable
	}
	switch {
	case len(e.Faults) > 0:
		out.Detail = withoutInput(e.Faults)
	case e.Detail != nil:
		out.Detail = e.Detail
	}
	return out
}

// withoutInput are faults as OpenHands answers them where it does not show the value.
func withoutInput(faults []pydantic.Fault) any {
	type short struct {
		Type string `json:"type"`
		Loc  []any  `json:"loc"`
		Msg  string `json:"msg"`
	}
	list := make([]short, len(faults))
	for i, f := range faults {
		list[i] = short{f.Type, f.Loc, f.Msg}
	}
	return list
}

type row struct {
	kind   error
	status int
}

func statuses() []row {
	return []row{
		{agentapi.ErrConversationNotFound, http.StatusNotFound},
		{agentapi.ErrProfileNotFound, http.StatusNotFound},
		{control.ErrNoEvent, http.StatusNotFound},
		{control.ErrNoPlugin, http.StatusNotFound},
		{control.ErrTaken, http.StatusConflict},
		{agentapi.ErrBusy, http.StatusConflict},
		{agentapi.ErrLost, http.StatusConflict},
		{agentapi.ErrRefused, http.StatusBadRequest},
		{agentapi.ErrTooLong, http.StatusBadRequest},
		{agentapi.ErrUnsupported, http.StatusNotImplemented},
		{agentapi.ErrUnavailable, http.StatusServiceUnavailable},
	}
}

// WriteJSON writes a JSON answer. What cannot be encoded is a mistake of the
// program, and the answer ends there.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	data, err := plainjson.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"detail":"Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client may be gone
}
