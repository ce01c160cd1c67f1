package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/secret"
)

// Show says how a secret is written.
type Show func(secret.Value) (string, error)

// Masked writes that there is a secret.
func Masked(secret.Value) (string, error) { return secret.Redacted, nil }

// Plain writes the secret itself.
func Plain(v secret.Value) (string, error) { return v.Reveal(), nil }

// Expose makes of a tree, or of a value in one, what encoding/json writes.
func Expose(value any, show Show) (any, error) {
	switch v := value.(type) {
	case secret.Value:
		return show(v)
	case Tree:
		out := make(map[string]any, len(v))
		for name, member := range v {
			shown, err := Expose(member, show)
			if err != nil {
				return nil, err
			}
			out[name] = shown
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			shown, err := Expose(item, show)
			if err != nil {
				return nil, err
			}
			out[i] = shown
		}
		return out, nil
	}
	return value, nil
}

// Merge applies a JSON merge patch (RFC 7386) to what Expose gave. With nulls, a null
// of the patch's own level is a value; it takes members away below that only.
func Merge(base, patch map[string]any, nulls bool) map[string]any {
	out := make(map[string]any, len(base)+len(patch))
	for name, member := range base {
		out[name] = member
	}
	for name, value := range patch {
		below, isMap := value.(map[string]any)
		old, wasMap := out[name].(map[string]any)
		switch {
		case value == nil && !nulls:
			delete(out, name)
		case isMap && wasMap:
			out[name] = Merge(old, below, false)
		default:
			out[name] = value
		}
	}
	return out
}

// Equal reports whether two values of trees say the same.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case secret.Value:
		other, ok := b.(secret.Value)
		return ok && a.Equal(other)
	case Tree:
		other, ok := b.(Tree)
		return ok && equalMembers(a, other)
	case []any:
		other, ok := b.([]any)
		if !ok || len(a) != len(other) {
			return false
		}
		for i := range a {
			if !Equal(a[i], other[i]) {
				return false
			}
		}
		return true
	case json.RawMessage:
		other, ok := b.(json.RawMessage)
		return ok && (bytes.Equal(a, other) || reflect.DeepEqual(decoded(a), decoded(other)))
	}
	return false
}

func equalMembers(a, b Tree) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		other, there := b[name]
		if !there || !Equal(value, other) {
			return false
		}
	}
	return true
}

func decoded(raw json.RawMessage) any {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// errRedacted is the error for a secret whose value is not stored, because a mask replaced it.
var errRedacted = errors.New("the key was replaced by a mask when the profile was saved")

// Stored is the secret that a text in a file stands for; zero for none.
func (r Reader) Stored(text string) secret.Value { return r.open(text, nil) }

// open opens a stored text like Stored, at a place.
func (r *Reader) open(text string, loc []any) secret.Value {
	var value secret.Value
	var err error
	switch {
	case strings.TrimSpace(text) == "":
	case text == secret.Redacted:
		err = errRedacted
	case r.Open != nil && fernet.IsToken(text):
		value, err = r.Open(text)
	default:
		value = secret.New(text)
	}
	if err == nil {
		return value
	}
	if r.Lost != nil {
		r.Lost(pydantic.Untagged(loc), err)
	}
	return secret.Value{}
}

// IsNull reports whether a value of a tree is null.
func IsNull(value any) bool { return isNull(value) }
