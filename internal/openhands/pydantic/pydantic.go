// Package pydantic reads JSON as OpenHands does, whose forms are declared with pydantic:
// a number in quotes is a number, "yes" is true. What it refuses, it refuses in pydantic's
// words and at pydantic's places. testdata/truth.json has the answers of the real one.
//
// The package-level functions read single values. An [Object] reads the members of an
// object and collects what is wrong with them. What the objects of OpenHands look like
// is in package shape, and how a request and its answer are sent in daemon/openhandsapi/wire.
package pydantic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Fault is a value that is refused.
type Fault struct {
	Type string `json:"type"` // such as "int_parsing"
	// Loc are the names, indexes and tags that lead to the value, from the outermost object.
	Loc   []any  `json:"loc"`
	Msg   string `json:"msg"`
	Input any    `json:"input"` // the value without secrets
	Ctx   any    `json:"ctx,omitempty"`

	// Member is the member that is wrong where pydantic names the whole object.
	Member string `json:"-"`
	// Raw is the value as it came where it does not stand at the place; nil: it does.
	Raw json.RawMessage `json:"-"`
}

// Tag is the part of a place that says which type of a union the value was read as. It
// is in pydantic's places and not in the JSON that was read.
type Tag string

// Field is the path to what is wrong from an object of this name, with dots.
func (f Fault) Field(object string) string {
	path := Path(object, f.Loc)
	if f.Member != "" {
		path += "." + f.Member
	}
	return path
}

// Path is a place below an object of this name, with dots.
func Path(object string, loc []any) string {
	for _, part := range Untagged(loc) {
		object += fmt.Sprint(".", part)
	}
	return object
}

// Untagged is a place without the tags: what leads there in the JSON.
func Untagged(loc []any) []any {
	return slices.DeleteFunc(slices.Clone(loc), func(part any) bool {
		_, tag := part.(Tag)
		return tag
	})
}

// Error refuses a request or what is in one.
type Error struct {
	Faults []Fault
	Err    error // the private cause, for logs; may be nil
}

// Refuse is the error for what is wrong.
func Refuse(faults ...Fault) *Error { return &Error{Faults: faults} }

// Error has all faults in one line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, one := range e.Faults {
		for _, part := range one.Loc {
			lines[i] += fmt.Sprint(part, " ")
		}
		lines[i] += "- " + one.Msg
	}
	return strings.Join(lines, "; ")
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.Err }

// Refusal is why a value is refused, wherever it is. Nil: it is not.
type Refusal struct {
	Type, Msg string
	Ctx       map[string]any // may be nil
}

// At is the refusal of the value at a place, as errors show it.
func (r *Refusal) At(loc []any, input any) Fault {
	f := Fault{Type: r.Type, Loc: append([]any{}, loc...), Msg: r.Msg, Input: input}
	if r.Ctx != nil {
		f.Ctx = r.Ctx
	}
	return f
}

// Missing refuses an object without a member that it needs.
func Missing() *Refusal { return &Refusal{Type: "missing", Msg: "Field required"} }

// Extra refuses a member that an object must not have.
func Extra() *Refusal {
	return &Refusal{Type: "extra_forbidden", Msg: "Extra inputs are not permitted"}
}

// NoObject refuses what is not an object with members of its own.
func NoObject() *Refusal {
	return &Refusal{Type: "model_attributes_type", Msg: "Input should be a valid dictionary or object to extract fields from"}
}

// NoInstance refuses what is not an object of a class, in an object of which OpenHands reads
// the members one by one.
func NoInstance(class string) *Refusal {
	return &Refusal{"model_type", "Input should be a valid dictionary or instance of " + class, map[string]any{"class_name": class}}
}

// NoDict refuses what is not an object whose members may have any name.
func NoDict() *Refusal {
	return &Refusal{Type: "dict_type", Msg: "Input should be a valid dictionary"}
}

// NoList refuses what is not a list.
func NoList() *Refusal { return &Refusal{Type: "list_type", Msg: "Input should be a valid list"} }

// NoText refuses what is not a text.
func NoText() *Refusal { return &Refusal{Type: "string_type", Msg: "Input should be a valid string"} }

// Mismatch refuses a text that has not the form of a pattern, as pydantic spells it.
func Mismatch(pattern string) *Refusal {
	return &Refusal{"string_pattern_mismatch", "String should match pattern '" + pattern + "'", map[string]any{"pattern": pattern}}
}

// TooShort refuses a list or a secret, which the noun says, that has too few items.
func TooShort(noun string, least, n int) *Refusal {
	return &Refusal{
		"too_short", fmt.Sprintf("%s should have at least %s after validation, not %d", noun, count(least, "item"), n),
		map[string]any{"field_type": noun, "min_length": least, "actual_length": n},
	}
}

// Value refuses a value by a rule of OpenHands.
func Value(why string) *Refusal {
	return &Refusal{Type: "value_error", Msg: "Value error, " + why, Ctx: map[string]any{"error": why}}
}
