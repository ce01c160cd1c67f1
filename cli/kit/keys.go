package kit

import (
	"errors"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

// SayKept says to a person that a key is stored.
func (a *App) SayKept(store *setup.KeyStore, entry secret.Entry, key secret.Value, action string) {
	if action == setup.KeyAlready {
		a.Note("That key for %s is in the %s already.", setup.DescribeEntry(entry), store)
		return
	}
	a.Note("The key%s for %s is in the %s.", tail(key), setup.DescribeEntry(entry), store)
}

// tail shows the end of a key, by which people know it.
func tail(key secret.Value) string {
	if t := key.Tail(); t != "" {
		return " …" + t
	}
	return ""
}

// InputFault says what is wrong with something that was given as a key.
func InputFault(err error) error {
	switch {
	case err == nil, fault.CodeOf(err) == fault.Usage:
		return err
	case errors.Is(err, secret.ErrEmpty):
		return fault.NewUsage("the key is empty", "pass it at the prompt, on stdin or with --file")
	case errors.Is(err, secret.ErrNotOneKey), errors.Is(err, secret.ErrTooBig):
		return fault.NewUsage("this is not a single key: "+err.Error(), "put one key into the file, and nothing else")
	case errors.Is(err, secret.ErrMasked), errors.Is(err, secret.ErrEncrypted):
		return fault.NewUsage("this is not a key: "+err.Error(), "copy the key from the provider's site; to copy keys from profiles: ohgw keys import")
	}
	return fault.New("the key cannot be read", "check that the file exists and is readable", err)
}
