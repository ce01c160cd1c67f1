package setup

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/secret"
)

// The files of the key stores, in the state directory.
const (
	KeysFile     = "keys.json"      // the keys themselves, with --key-store file
	KeyNamesFile = "key-names.json" // names of the keys in the keyring
)

// BackupsDir has the copies of OpenHands' files that were changed, in the state
// directory.
const BackupsDir = "backups"

// KeyStore is where the LLM keys are kept, as the settings say.
type KeyStore struct {
	secret.Store
	*secret.Hosts

	kind      string // config.KeyringStore or config.FileStore
	Origin    config.Origin
	Settings  *config.Settings
	Path      string       // of its file
	File      *secret.File // nil for a keyring
	cleartext bool         // what is stored is not encrypted
	ofServers bool         // the hints of its faults are about the keys of servers
	Probe     func(context.Context) error
}

// KeyringPatience is how long the keyring gets: long where a person can unlock it.
func (env *Env) KeyringPatience() time.Duration {
	if env.CanAsk() {
		return secret.PatienceForPeople
	}
	return secret.PatienceForMachines
}

// OpenKeyStore opens the key store of these settings.
func (env *Env) OpenKeyStore(s *config.Settings, patience time.Duration) (*KeyStore, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return nil, err
	}
	store := &KeyStore{kind: s.KeyStore, Origin: s.Origin(config.KeyStoreKey), Settings: s}
	if s.KeyStore == config.FileStore {
		store.Path = filepath.Join(dirs.State, KeysFile)
		c := secret.FileConfig{Path: store.Path, Now: env.Now}
		if text := env.Getenv("OH_SECRET_KEY"); text != "" {
			c.Key = fernet.NewKey(text)
		}
		store.cleartext = c.Key.IsZero()
		store.File = secret.NewFile(c)
		store.Store, store.Hosts = store.File, hostsBeside(store.Path)
		store.Probe = func(ctx context.Context) error { _, err := store.File.List(ctx); return err }
		return store, nil
	}
	store.Path = filepath.Join(dirs.State, KeyNamesFile)
	keyring := secret.NewKeyring(secret.KeyringConfig{Index: store.Path, LookupEnv: env.Lookup, Backend: env.Keyring, Patience: patience, Now: env.Now})
	store.Store, store.Probe, store.Hosts = keyring, keyring.Probe, hostsBeside(store.Path)
	return store, nil
}

// hostsBeside is the file with the hosts that the keys of a store are for.
func hostsBeside(path string) *secret.Hosts {
	return &secret.Hosts{Path: strings.TrimSuffix(path, ".json") + "-hosts.json"}
}

// Set stores a secret. For which host the one before was, is forgotten after that, so
// that no key is ever without a host that had one.
func (s *KeyStore) Set(ctx context.Context, name string, v secret.Value) error {
	if err := s.Store.Set(ctx, name, v); err != nil {
		return err
	}
	return s.SetHost(ctx, name, "")
}

// Delete removes a secret, and for which host it was.
func (s *KeyStore) Delete(ctx context.Context, name string) error {
	err := s.Store.Delete(ctx, name)
	if err == nil || errors.Is(err, secret.ErrNotFound) {
		err = errors.Join(err, s.SetHost(ctx, name, ""))
	}
	return err
}

// String names the store for people.
func (s *KeyStore) String() string {
	if s.kind == config.FileStore {
		return "file " + s.Path
	}
	return "system keyring"
}

// KeyringSlow is what is said when the keyring takes long.
const KeyringSlow = "waiting for the keyring; it may need to be unlocked"

// Reach makes sure that the store can be used, and notes when a user has to
// unlock it.
func (env *Env) Reach(ctx context.Context, s *KeyStore) error {
	defer env.TellLate(KeyringSlow)()
	return KeyFault(ctx, s.Probe(ctx), s)
}

// KeyStoreJSON is a key store in the JSON output.
type KeyStoreJSON struct {
	Kind   string        `json:"kind"`
	Origin config.Origin `json:"origin"`
	Path   string        `json:"path"`
}

// JSON returns the store in the form of the JSON output.
func (s *KeyStore) JSON() KeyStoreJSON {
	return KeyStoreJSON{Kind: s.kind, Origin: s.Origin, Path: s.Path}
}
