package transport

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/ohgw/ohgw/internal/redact"
)

// Secret is a key. Whatever prints it prints [redacted].
type Secret string

// String is the mark that replaces the key.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redact.Mark
}

// GoString is what %#v prints.
func (s Secret) GoString() string { return s.String() }

// Format prints the mark for every verb.
func (s Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, s.String()) }

// MarshalJSON writes the mark.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// LogValue is what a logger writes.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Reveal is the key itself, for a header.
func (s Secret) Reveal() string { return string(s) }
