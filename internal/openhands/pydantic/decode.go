package pydantic

import (
	"encoding/json"
	"errors"
	"strings"
)

// Decode decodes JSON that stands at a place of a request into a value of Go. What has
// another type there is refused, without pydantic's leniency.
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
		return Refuse(typed(t).At(loc, nil))
	}
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return Refuse(Fault{Type: "json_invalid", Loc: append(loc, s.Offset), Msg: "JSON decode error", Input: map[string]any{}})
	}
	return err // one of ours, of an UnmarshalJSON
}

// typed refuses a value of another type than that of Go.
func typed(t *json.UnmarshalTypeError) *Refusal {
	switch t.Type.Kind().String() {
	case "string":
		return NoText()
	case "bool":
		return noBool()
	case "int", "int64", "uint", "uint64":
		return noInt()
	case "float64":
		return noFloat()
	case "slice":
		return NoList()
	}
	return NoObject()
}

// Plain reads a text that stands at a place of a request, and not in JSON.
func Plain[T any](text string, loc []any, read func(json.RawMessage) (T, *Refusal)) (T, error) {
	value, refused := read(Quoted(text))
	if refused != nil {
		return value, Refuse(refused.At(loc, text))
	}
	return value, nil
}
