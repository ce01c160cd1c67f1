// Package hidden holds what may be or contain a key in memory. However it is printed,
// logged or marshalled, nothing of it shows; Reveal is the only way to it, and the word to
// search a review for. It finds, stores and checks no keys: that is package secret.
package hidden

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// mask is what is shown instead of a value.
const mask = "REDACTED"

// Redacted is what OpenHands writes in place of a secret that it does not
// show. As a value it means that there is none.
const Redacted = "**********"

// ErrType is a value of another type than the one that is hidden.
var ErrType = errors.New("a secret value is of the wrong type")

// errNotStored keeps secrets out of encodings that are there to be read back.
var errNotStored = errors.New("a secret must not be encoded")

// Of is a value that does not show. The zero Of holds nothing. == does not compile.
type Of[T any] struct {
	// A function, because fmt prints the address of one whatever the verb. It
	// follows a pointer, when the value is an unexported field of a struct.
	reveal func() T
}

// New hides a value.
func New[T any](v T) Of[T] { return Of[T]{func() T { return v }} }

// Reveal returns the value itself. What it returns must go to where it is used and
// nowhere else.
func (o Of[T]) Reveal() T {
	if o.reveal == nil {
		var none T
		return none
	}
	return o.reveal()
}

// IsZero reports whether there is no value.
func (o Of[T]) IsZero() bool { return o.reveal == nil }

// String hides the value.
func (o Of[T]) String() string {
	if o.IsZero() {
		return ""
	}
	return mask
}

// Format hides the value from every verb.
func (o Of[T]) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }

// LogValue hides the value.
func (o Of[T]) LogValue() slog.Value { return slog.StringValue(o.String()) }

// MarshalText hides the value.
func (o Of[T]) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// MarshalJSON hides the value.
func (o Of[T]) MarshalJSON() ([]byte, error) { return []byte(`"` + o.String() + `"`), nil }

// GobEncode refuses.
func (o Of[T]) GobEncode() ([]byte, error) { return nil, errNotStored }

// MarshalBinary refuses.
func (o Of[T]) MarshalBinary() ([]byte, error) { return nil, errNotStored }

// UnmarshalJSON reads a value. Null gives no value, and so does a text that is
// blank or stands for a secret that was not shown.
func (o *Of[T]) UnmarshalJSON(data []byte) error {
	*o = Of[T]{}
	if string(data) == "null" {
		return nil
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return ErrType // the original quotes the value
	}
	if s, isText := any(v).(string); isText && (strings.TrimSpace(s) == "" || s == Redacted || s == mask) {
		return nil
	}
	*o = New(v)
	return nil
}

// Text is a key or another secret text. Two are compared with Equal.
type Text struct{ Of[string] }

// NewText hides a text. The empty string gives the zero Text.
func NewText(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{New(s)}
}

// Equal compares two secrets in a time that depends on their lengths only.
func (t Text) Equal(u Text) bool {
	return subtle.ConstantTimeCompare([]byte(t.Reveal()), []byte(u.Reveal())) == 1
}

// The least length of a secret of which a part may be shown, and that part.
const (
	tailMin = 16
	tailLen = 4
)

// Tail is the last four characters, by which a person knows a key, or nothing
// when the secret is so short that they would give it away.
func (t Text) Tail() string {
	s := []rune(t.Reveal())
	if len(s) < tailMin {
		return ""
	}
	return string(s[len(s)-tailLen:])
}
