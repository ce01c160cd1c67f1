package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/secret"
)

// The files of the stores of keys, in the state directory.
const (
	keysFile     = "keys.json"      // the keys themselves, with --key-store file
	keyNamesFile = "key-names.json" // names of the keys in the keyring
)

// keyStore is where the keys of LLMs are kept, as the settings say.
type keyStore struct {
	secret.Store

	kind     string // config.KeyringStore or config.FileStore
	origin   config.Origin
	settings *config.Settings
	path     string       // of its file
	file     *secret.File // nil for a keyring
	plain    bool         // what is stored is not encrypted
	probe    func(context.Context) error
}

// keyStore opens the store of keys. It asks no keyring yet.
func (a *app) keyStore(flags settingFlags) (*keyStore, error) {
	s, err := a.settings(flags)
	if err != nil {
		return nil, err
	}
	return a.openKeyStore(s, a.patience())
}

// patience is how long the keyring gets: long where a person can unlock it.
func (a *app) patience() time.Duration {
	if a.canAsk() {
		return secret.PatienceForPeople
	}
	return secret.PatienceForMachines
}

// openKeyStore opens the store of keys of these settings.
func (a *app) openKeyStore(s *config.Settings, patience time.Duration) (*keyStore, error) {
	dirs, err := a.dirs()
	if err != nil {
		return nil, err
	}
	store := &keyStore{kind: s.KeyStore, origin: s.Origin(config.KeyStoreKey), settings: s}
	if s.KeyStore == config.FileStore {
		store.path = filepath.Join(dirs.State, keysFile)
		c := secret.FileConfig{Path: store.path, Now: a.Now}
		if text := a.Getenv("OH_SECRET_KEY"); text != "" {
			c.Key = fernet.NewKey(text)
		}
		store.plain = c.Key.IsZero()
		store.file = secret.NewFile(c)
		store.Store = store.file
		store.probe = func(ctx context.Context) error { _, err := store.file.List(ctx); return err }
		return store, nil
	}
	store.path = filepath.Join(dirs.State, keyNamesFile)
	keyring := secret.NewKeyring(secret.KeyringConfig{Index: store.path, LookupEnv: a.lookup, Backend: a.Keyring, Patience: patience, Now: a.Now})
	store.Store, store.probe = keyring, keyring.Probe
	return store, nil
}

// String names the store for people.
func (s *keyStore) String() string {
	if s.kind == config.FileStore {
		return "file " + s.path
	}
	return "keyring of the system"
}

// keyringSlow is what is said when the keyring takes long.
const keyringSlow = "waiting for the keyring; it may want to be unlocked"

// reach makes sure that the store can be used, and says so when somebody has
// to unlock it.
func (a *app) reach(ctx context.Context, s *keyStore) error {
	defer a.tellLate(keyringSlow)()
	return keyFault(ctx, s.probe(ctx), s)
}

// keysJSON is a store in JSON.
type keyStoreJSON struct {
	Kind   string        `json:"kind"`
	Origin config.Origin `json:"origin"`
	Path   string        `json:"path"`
}

func (s *keyStore) json() keyStoreJSON {
	return keyStoreJSON{Kind: s.kind, Origin: s.origin, Path: s.path}
}

// warnPlain says that a key is about to be written as it is.
func (a *app) warnPlain(s *keyStore) {
	if s.plain {
		a.note("warning: %s holds keys as they are, readable by you alone; with OH_SECRET_KEY set, they are encrypted", s.path)
	}
}

// settle makes the choice of a store by a flag hold from now on: a key that is
// stored where nobody looks for it is of no use.
func (a *app) settle(s *keyStore) {
	if s.origin.Kind != config.FromFlag {
		return
	}
	if configured, err := a.settings(nil); err == nil && configured.KeyStore == s.kind {
		return
	}
	line := config.Line(config.KeyStoreKey, s.kind)
	if err := config.Remember(s.settings.File, config.KeyStoreKey, s.kind); err != nil {
		a.note("ohgw looks for keys elsewhere until %s has the line, above all tables:\n  %s", s.settings.File, line)
		a.detail("it was not added: %v", err)
		return
	}
	a.note("From now on ohgw has its keys there: %s has the line %s", s.settings.File, line)
}

// keyFault is an error of a store of keys as a person should read it.
func keyFault(ctx context.Context, err error, s *keyStore) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if busy, ok := errors.AsType[*filelock.BusyError](err); ok {
		return &fault.Error{Msg: "another process changes the stored keys: " + busy.Holder.String(), Hint: "try again when it is done", Code: fault.Conflict, Err: err}
	}
	if gone, ok := errors.AsType[*secret.UnavailableError](err); ok {
		return unavailable(gone)
	}
	switch {
	case errors.Is(err, secret.ErrTooBig):
		return fault.New("the key is too long for the "+s.String(), "look whether it is one key; else use --key-store file", err)
	case errors.Is(err, fernet.ErrNoKey), errors.Is(err, fernet.ErrWrongKey):
		return &fault.Error{
			Msg: "a stored key is encrypted, and OH_SECRET_KEY is not what it was encrypted with", Code: fault.Credential, Err: err,
			Hint: "set OH_SECRET_KEY as it was then, or store the key again with ohgw keys set --replace",
		}
	}
	return fault.New("the stored keys cannot be used", "look at "+s.path, err)
}

// otherStores are the alternatives to a keyring.
const otherStores = "keep keys in a private file with --key-store file, or in a variable of the provider such as OPENAI_API_KEY"

func unavailable(err *secret.UnavailableError) error {
	f := &fault.Error{Msg: "the keyring of the system cannot be used", Hint: otherStores, Code: fault.Credential, Err: err.Err}
	switch err.Reason {
	case secret.NoBus:
		f.Msg = "there is no keyring: this is no desktop session (no D-Bus)"
	case secret.Unsupported:
		f.Msg = "this system has no keyring"
	case secret.NoAnswer:
		f.Msg = "the keyring does not answer; it may be locked"
		f.Hint = "unlock it, or " + otherStores
	case secret.Failed:
		if err.Err != nil && strings.Contains(err.Err.Error(), "unlock") {
			f.Msg, f.Hint = "the keyring is locked", "unlock it, or "+otherStores
		}
	}
	return f
}

// describeEntry says what a stored key is for.
func describeEntry(e secret.Entry) string {
	what := e.Name
	switch {
	case e.Profile != "":
		what = fmt.Sprintf("profile %q", e.Profile)
	case e.Provider != "":
		what = "provider " + e.Provider
	}
	if e.Field != secret.APIKey {
		what += " (" + e.Field + ")"
	}
	return what
}

// keyFinder finds the keys of profiles, without reading any.
type keyFinder struct {
	*secret.Resolver

	names []string // of what is stored
}

// finder looks into a store, into profiles and into the environment.
func (a *app) finder(ctx context.Context, store *keyStore) keyFinder {
	r := secret.NewResolver(store, secret.Providers(), a.lookup)
	names, err := r.Names(ctx)
	if err != nil {
		a.note("warning: the stored keys are not known: %s", clean(err.Error()))
	}
	return keyFinder{r, names}
}

// keys opens the store that the flags name, and looks there.
func (a *app) keys(ctx context.Context, flags settingFlags) (keyFinder, error) {
	store, err := a.keyStore(flags)
	if err != nil {
		return keyFinder{}, err
	}
	return a.finder(ctx, store), nil
}

// from tells where a key comes from.
func (f keyFinder) from(s secret.Subject) secret.Origin { return f.Locate(s, f.names) }
