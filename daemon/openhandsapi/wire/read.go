package wire

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// maxBody bounds a JSON body, in bytes: images come inside of messages.
const maxBody = 64 << 20

// Success is the answer of most changes.
func Success() map[string]bool { return map[string]bool{"success": true} }

// ReadBody decodes a JSON body into v. An empty body is a 422 unless optional.
func ReadBody(r *http.Request, v any, optional bool) error {
	data, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return Refuse(http.StatusRequestEntityTooLarge, "The body has more than %d MiB.", maxBody>>20)
		}
		return &Error{Status: http.StatusBadRequest, Detail: "There was an error parsing the body", Err: err}
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		if optional {
			return nil
		}
		return pydantic.Refuse(pydantic.Missing().At([]any{"body"}, nil))
	}
	if strings.TrimSpace(string(data)) == "null" && !optional {
		if refused := noNull(v); refused != nil {
			return pydantic.Refuse(refused.At([]any{"body"}, nil))
		}
	}
	return pydantic.Decode(data, v, "body")
}

// noNull refuses a body that is null where v is what is read from it. Who reads JSON refuses
// it with its own words.
func noNull(v any) *pydantic.Refusal {
	switch v.(type) {
	case *json.RawMessage:
		return nil
	case *[]string:
		return pydantic.NoList()
	}
	return pydantic.NoObject()
}

// ReadObject reads the body of a request. An empty body is a 422 unless optional.
func ReadObject(r *http.Request, optional bool) (*pydantic.Object, error) {
	var raw json.RawMessage
	if err := ReadBody(r, &raw, optional); err != nil {
		return nil, err
	}
	if optional && raw == nil {
		raw = json.RawMessage("{}")
	}
	return pydantic.NewObject(raw, "body")
}

// ConversationID is the id of a conversation in the path, in its dashed form.
func ConversationID(r *http.Request) (string, error) {
	return ParseID(r.PathValue("id"), "path", "conversation_id")
}

// ParseID reads a UUID with or without dashes.
func ParseID(s string, loc ...any) (string, error) {
	return pydantic.Plain(s, loc, pydantic.UUID)
}

// Int reads a whole number of the query; it is missing where the query does not have it.
func Int(r *http.Request, name string, missing int, b pydantic.Bounds) (int, error) {
	return query(r, name, missing, func(raw json.RawMessage) (int, *pydantic.Refusal) { return pydantic.IntUpTo(raw, b, math.MaxInt) })
}

// Bool reads a word for true or false of the query.
func Bool(r *http.Request, name string, missing bool) (bool, error) {
	return query(r, name, missing, pydantic.Bool)
}

// Choice reads one of some words of the query.
func Choice(r *http.Request, name, missing string, of ...string) (string, error) {
	return query(r, name, missing, func(raw json.RawMessage) (string, *pydantic.Refusal) {
		return pydantic.Choice(raw, pydantic.Enum, of...)
	})
}

// query reads a parameter of the query, which is missing where it is not there.
func query[T any](r *http.Request, name string, missing T, read func(json.RawMessage) (T, *pydantic.Refusal)) (T, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return missing, nil
	}
	return pydantic.Plain(text, []any{"query", name}, read)
}
