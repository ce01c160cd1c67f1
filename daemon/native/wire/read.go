package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/uuid"
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
		return Unprocessable(Invalid{Type: "missing", Loc: []any{"body"}, Msg: "Field required"})
	}
	return Decode(data, v, "body")
}

// Decode decodes JSON that stands at a place of the request.
func Decode(data []byte, v any, loc ...any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		for name := range strings.SplitSeq(t.Field, ".") {
			if name != "" {
				loc = append(loc, name)
			}
		}
		return Unprocessable(Invalid{Type: pydanticType(t), Loc: loc, Msg: message(t), Input: nil})
	}
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return Unprocessable(Invalid{Type: "json_invalid", Loc: append(loc, s.Offset), Msg: "JSON decode error", Input: map[string]any{}})
	}
	return err // one of ours, of an UnmarshalJSON
}

func message(t *json.UnmarshalTypeError) string {
	if noun(t) == "dictionary" {
		return "Input should be a valid dictionary or object to extract fields from"
	}
	return "Input should be a valid " + noun(t)
}

func noun(t *json.UnmarshalTypeError) string {
	switch t.Type.Kind().String() {
	case "string":
		return "string"
	case "bool":
		return "boolean"
	case "int", "int64", "uint", "uint64":
		return "integer"
	case "float64":
		return "number"
	case "slice":
		return "list"
	}
	return "dictionary"
}

func pydanticType(t *json.UnmarshalTypeError) string {
	return map[string]string{
		"string": "string_type", "boolean": "bool_type", "integer": "int_type", "number": "float_type",
		"list": "list_type", "dictionary": "model_attributes_type",
	}[noun(t)]
}

// ConversationID is the id of a conversation in the path, in its dashed form.
func ConversationID(r *http.Request) (string, error) {
	return ParseID(r.PathValue("id"), "path", "conversation_id")
}

// ParseID reads a UUID with or without dashes.
func ParseID(s string, loc ...any) (string, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		why := notUUID(s)
		return "", Unprocessable(Invalid{
			Type: "uuid_parsing", Loc: loc, Msg: "Input should be a valid UUID, " + why, Input: s, Ctx: map[string]any{"error": why},
		})
	}
	return id, nil
}

// notUUID says what is wrong with an id, in the words of pydantic.
func notUUID(s string) string {
	bare := strings.TrimPrefix(s, "urn:uuid:")
	if in, ok := strings.CutPrefix(s, "{"); ok && strings.HasSuffix(s, "}") {
		bare = strings.TrimSuffix(in, "}")
	}
	before := strings.Index(s, bare)
	groups := strings.Split(bare, "-")
	for i, r := range bare {
		if r != '-' && !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return fmt.Sprintf("invalid character: found `%c` at %d", r, before+i)
		}
	}
	if len(groups) == 1 {
		return fmt.Sprintf("invalid length: found %d", len(bare))
	}
	if len(groups) != 5 {
		return fmt.Sprintf("invalid group count: expected 5, found %d", len(groups))
	}
	for i, length := range []int{8, 4, 4, 4, 12} {
		if len(groups[i]) != length {
			return fmt.Sprintf("invalid group length in group %d: expected %d, found %d", i, length, len(groups[i]))
		}
	}
	return "it cannot be read"
}

// Int reads a number of the query between two bounds; it is missing where the query
// does not have it.
func Int(r *http.Request, name string, missing, low, high int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, Unprocessable(Invalid{Type: "int_parsing", Loc: []any{"query", name}, Msg: "Input should be a valid integer, unable to parse string as an integer", Input: text})
	case n < low:
		return 0, Unprocessable(Invalid{
			Type: "greater_than", Loc: []any{"query", name}, Msg: "Input should be greater than " + strconv.Itoa(low-1), Input: text, Ctx: map[string]any{"gt": low - 1},
		})
	case n > high:
		return 0, Unprocessable(Invalid{Type: "less_than_equal", Loc: []any{"query", name}, Msg: "Input should be less than or equal to " + strconv.Itoa(high), Input: text, Ctx: map[string]any{"le": high}})
	}
	return n, nil
}

// Bool reads a word for true or false of the query.
func Bool(r *http.Request, name string, missing bool) (bool, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return missing, nil
	}
	b, known := Word(strings.ToLower(text))
	if !known {
		return false, Unprocessable(Invalid{
			Type: "bool_parsing", Loc: []any{"query", name}, Msg: "Input should be a valid boolean, unable to interpret input", Input: text,
		})
	}
	return b, nil
}

// Choice reads one of some words of the query.
func Choice(r *http.Request, name, missing string, of ...string) (string, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return missing, nil
	}
	if !slices.Contains(of, text) {
		return "", Unprocessable(Invalid{
			Type: "enum", Loc: []any{"query", name}, Msg: "Input should be " + oneOf(of), Input: text, Ctx: map[string]any{"expected": oneOf(of)},
		})
	}
	return text, nil
}
