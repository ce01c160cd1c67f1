package setup

import (
	"context"
	"errors"
	"runtime"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/secret"
)

// KeyFault explains an error of a key store to a person, with the next step.
func KeyFault(ctx context.Context, err error, s *KeyStore) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if busy, ok := errors.AsType[*filelock.BusyError](err); ok {
		return &fault.Error{Msg: "another process is changing the stored keys: " + busy.Holder.String(), Hint: "try again when it is done", Code: fault.Conflict, Err: err}
	}
	if gone, ok := errors.AsType[*secret.UnavailableError](err); ok {
		return unavailable(gone, s.elsewhere())
	}
	switch {
	case errors.Is(err, secret.ErrTooBig):
		return fault.New("the key is too long for the "+s.String(), "check that it is a single key, or use --key-store file", err)
	case errors.Is(err, fernet.ErrNoKey), errors.Is(err, fernet.ErrWrongKey):
		f := &fault.Error{
			Msg: "a stored key cannot be decrypted: OH_SECRET_KEY has changed", Code: fault.Credential, Err: err,
			Hint: "set OH_SECRET_KEY to its old value, or store the key again: ohgw keys set NAME --replace",
		}
		if s.ofServers {
			f.Hint = "set OH_SECRET_KEY to its old value, or store the key again: ohgw server add NAME --replace"
		}
		return f
	}
	return fault.New("the stored keys cannot be used", "look at "+s.Path, err)
}

// KeyVariable is the key in a variable. What --key-from refuses is refused here, too: the
// rest would be found out by the server alone, or not at all.
func (env *Env) KeyVariable(name, text string) (secret.Value, error) {
	key, err := secret.ParseVariable(name, text)
	if err != nil {
		return secret.Value{}, &fault.Error{
			Msg: "the environment variable " + name + " has no usable key", Hint: "set " + name + " to the key alone, or unset it: unset " + name,
			Code: fault.Credential, Err: errors.Unwrap(err),
		}
	}
	return key, nil
}

// elsewhere is where keys can be if the keyring does not work.
func (s *KeyStore) elsewhere() string {
	if s.ofServers {
		return "set a variable such as OHGW_CLOUD_API_KEY, or use a private file: --key-store file"
	}
	return "store keys in a private file: ohgw keys set NAME --key-store file; or set a variable such as OPENAI_API_KEY"
}

// unlock is the command that lets a person unlock the keyring.
func unlock() string {
	if runtime.GOOS == "darwin" {
		return "unlock it: security unlock-keychain; or "
	}
	return "unlock it: ohgw keys status waits until the desktop has asked for its password; or "
}

func unavailable(err *secret.UnavailableError, elsewhere string) error {
	f := &fault.Error{Msg: "the system keyring does not work", Hint: elsewhere, Code: fault.Credential, Err: err.Err}
	switch err.Reason {
	case secret.NoBus:
		f.Msg = "no keyring: this session has no D-Bus"
	case secret.Unsupported:
		f.Msg = "this system has no keyring"
	case secret.NoAnswer:
		f.Msg = "the keyring does not answer; it may be locked"
		f.Hint = unlock() + elsewhere
	case secret.Failed:
		if err.Err != nil && strings.Contains(err.Err.Error(), "unlock") {
			f.Msg, f.Hint = "the keyring is locked", unlock()+elsewhere
		}
	}
	return f
}
