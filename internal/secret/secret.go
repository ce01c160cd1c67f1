// Package secret holds keys in memory and finds, stores and removes them: in
// the keyring of the operating system, in a private file, in the environment.
//
// A Value does not show what it holds, however it is printed, logged or
// marshalled; Reveal is the only way to it, and the word to search a review
// for. Nothing here falls back to a weaker store by itself, and no error
// quotes a key.
package secret

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// mask is what a Value shows instead of what it holds.
const mask = "REDACTED"

// Value is a key or another secret. The zero Value holds nothing. Values are
// compared with Equal; == does not compile.
type Value struct {
	// A function, because fmt prints the address of one whatever the verb. It
	// follows a pointer, when the Value is an unexported field of a struct.
	reveal func() string
}

// New makes a Value. The empty string gives the zero Value.
func New(s string) Value {
	if s == "" {
		return Value{}
	}
	return Value{func() string { return s }}
}

// Reveal returns the secret itself. What it returns must go to where it is used
// and nowhere else.
func (v Value) Reveal() string {
	if v.reveal == nil {
		return ""
	}
	return v.reveal()
}

// IsZero reports whether the Value holds nothing.
func (v Value) IsZero() bool { return v.reveal == nil }

// Equal compares two secrets in a time that depends on their lengths only.
func (v Value) Equal(w Value) bool {
	return subtle.ConstantTimeCompare([]byte(v.Reveal()), []byte(w.Reveal())) == 1
}

// The least length of a secret of which a part may be shown, and that part.
const (
	tailMin = 16
	tailLen = 4
)

// Tail is the last four characters, by which a person knows a key, or nothing
// when the secret is so short that they would give it away.
func (v Value) Tail() string {
	s := []rune(v.Reveal())
	if len(s) < tailMin {
		return ""
	}
	return string(s[len(s)-tailLen:])
}

// String hides the secret.
func (v Value) String() string {
	if v.IsZero() {
		return ""
	}
	return mask
}

// GoString hides the secret.
func (v Value) GoString() string { return fmt.Sprintf("secret.Value(%q)", v.String()) }

// Format hides the secret from every verb.
func (v Value) Format(f fmt.State, verb rune) {
	out := v.String()
	if verb == 'v' && f.Flag('#') {
		out = v.GoString()
	}
	_, _ = io.WriteString(f, out)
}

// LogValue hides the secret.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalText hides the secret.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// MarshalJSON hides the secret.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(`"` + v.String() + `"`), nil }

// errNotStored keeps secrets out of encodings that are there to be read back.
var errNotStored = errors.New("a secret must not be encoded")

// GobEncode refuses.
func (v Value) GobEncode() ([]byte, error) { return nil, errNotStored }

// MarshalBinary refuses.
func (v Value) MarshalBinary() ([]byte, error) { return nil, errNotStored }

// Store keeps secrets by name; see ProfileEntry and its neighbours for the
// names. A Store is safe for concurrent use. Its errors are ErrNotFound,
// ErrReadOnly, ErrTooBig, *UnavailableError, or those of its files.
type Store interface {
	// Get gives the secret, or ErrNotFound.
	Get(ctx context.Context, name string) (Value, error)

	// Set stores or replaces a secret.
	Set(ctx context.Context, name string, v Value) error

	// Delete removes a secret, or gives ErrNotFound.
	Delete(ctx context.Context, name string) error

	// List returns the names of all secrets in order.
	List(ctx context.Context) ([]string, error)
}

// Facts about a Store that callers branch on.
var (
	ErrNotFound = errors.New("no such key")
	ErrReadOnly = errors.New("keys cannot be stored here")
	ErrTooBig   = errors.New("the key is too long for this store")
)

// Reason is why a Store cannot be used.
type Reason string

// The reasons.
const (
	NoBus       Reason = "no-bus"      // no D-Bus session, so no Secret Service: servers, containers
	NoAnswer    Reason = "no-answer"   // locked, and nobody answers its prompt
	Unsupported Reason = "unsupported" // the system has no keyring
	Failed      Reason = "failed"      // it said no
)

// UnavailableError says that a Store cannot be used now. It is not ErrNotFound:
// it is not known whether the key is there.
type UnavailableError struct {
	Reason Reason
	Err    error // may be nil
}

func (e *UnavailableError) Error() string {
	msg := map[Reason]string{
		NoBus:       "no keyring: this session has no D-Bus",
		NoAnswer:    "the keyring does not answer; it may be locked",
		Unsupported: "this system has no keyring",
		Failed:      "the keyring does not work",
	}[e.Reason]
	if e.Err == nil {
		return msg
	}
	return msg + ": " + e.Err.Error()
}

func (e *UnavailableError) Unwrap() error { return e.Err }
