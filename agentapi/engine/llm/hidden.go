package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Hidden is a value that may hold a key: however it is printed, logged or
// marshalled, nothing of it shows. The zero Hidden holds nothing.
type Hidden[T any] struct {
	// A function, because fmt prints no more of one than its address, even
	// where it is a field that it may not ask for its methods.
	reveal func() T
}

// Secret is a hidden text.
type Secret = Hidden[string]

// mark is what OpenHands writes in place of a secret.
const mark = "**********"

// Hide makes a Hidden.
func Hide[T any](v T) Hidden[T] { return Hidden[T]{func() T { return v }} }

// Reveal is the value itself. What it returns goes to where it is used and
// nowhere else.
func (h Hidden[T]) Reveal() T {
	if h.reveal == nil {
		var none T
		return none
	}
	return h.reveal()
}

// IsZero reports whether there is no value.
func (h Hidden[T]) IsZero() bool { return h.reveal == nil }

// String hides the value.
func (h Hidden[T]) String() string {
	if h.IsZero() {
		return ""
	}
	return mark
}

// Format hides the value from every verb.
func (h Hidden[T]) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, h.String()) }

// LogValue hides the value.
func (h Hidden[T]) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalJSON writes OpenHands' mark, or null.
func (h Hidden[T]) MarshalJSON() ([]byte, error) {
	if h.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + mark + `"`), nil
}

// UnmarshalJSON reads a value. Null is none, and so is a text that is blank or
// OpenHands' mark.
func (h *Hidden[T]) UnmarshalJSON(data []byte) error {
	*h = Hidden[T]{}
	if string(data) == "null" {
		return nil
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return errHiddenType // the original quotes the value
	}
	if s, isText := any(v).(string); isText && (strings.TrimSpace(s) == "" || s == mark) {
		return nil
	}
	*h = Hide(v)
	return nil
}

// errHiddenType is a secret that is not text.
var errHiddenType = errors.New("a secret value is of the wrong type")
