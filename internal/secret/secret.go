// Package secret holds keys in memory and finds, stores and removes them: in
// the keyring of the operating system, in a private file, in the environment.
//
// A Value does not show what it holds. Nothing here falls back to a weaker store
// by itself, and no error quotes a key.
package secret

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/internal/hidden"
)

// Value is a key or another secret.
type Value = hidden.Text

// New makes a Value. The empty string gives the zero Value.
func New(s string) Value { return hidden.NewText(s) }

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
	NoAnswer    Reason = "no-answer"   // locked, and its prompt gets no answer
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
