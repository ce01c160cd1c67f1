// Package files keeps what package openhands describes in OpenHands' own files, beside
// other programs that use them: a change is made under the file's lock, replaces the
// file as a whole, and leaves every byte of what it does not change.
//
// Secrets in a file are encrypted with the key of the agent-server where there is one,
// and in clear text where there is none, as OpenHands does. No error quotes one.
package files

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

// Config is what a Store needs.
type Config struct {
	Profiles *profile.Store
	Ciphers  *profile.Ciphers // to decrypt; may be nil
	// Wire encrypts the secrets for clients where OpenHands has no key. It is never used
	// in files. Zero: then clients get no encrypted secrets.
	Wire fernet.Key
	// Keys are where ohgw itself keeps keys of profiles; nil: nowhere.
	Keys secret.Store
	// Resolver finds the keys of profiles. Nil: those in the files only.
	Resolver *secret.Resolver
	// Skills names the skills that agents find without a workspace. Nil: none.
	Skills  func(ctx context.Context) ([]string, error)
	Locking document.Locking
	Now     func() time.Time
	Log     *slog.Logger // never gets a secret; nil: nothing is logged
}

// Store keeps OpenHands' values in one base directory. It is safe for concurrent use.
type Store struct {
	Config

	base  string
	plain sync.Once // that secrets are not encrypted is said once
}

// New does not touch the directory yet.
func New(cfg Config) *Store {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{Config: cfg, base: cfg.Profiles.Base()}
}

func (s *Store) reader() shape.Reader { return shape.Reader{Open: s.open, Now: s.Now} }

// read reads an object; what cannot be decrypted counts as missing.
func (s *Store) read(o *shape.Object, v jsonedit.Value) (shape.Tree, []pydantic.Fault) {
	return s.reader().Read(o, v)
}

// readJSON is read for what comes from a client or was merged.
func (s *Store) readJSON(o *shape.Object, data []byte) (shape.Tree, []pydantic.Fault, error) {
	doc, err := jsonedit.Parse(data)
	if err != nil || doc.Irregular().NaN {
		return nil, nil, &openhands.Error{Kind: openhands.Malformed, Msg: "The value is not JSON."}
	}
	tree, faults := s.read(o, doc.Root())
	return tree, faults, nil
}

func (s *Store) open(token string) (secret.Value, error) {
	text, err := s.Unseal(token)
	return secret.New(text), err
}

// Unseal decrypts a secret that was encrypted for a client or in a file.
func (s *Store) Unseal(token string) (string, error) {
	if !s.Wire.IsZero() {
		if plain, err := s.Wire.Decrypt(token); err == nil {
			return string(plain), nil
		}
	}
	value, _, err := s.Ciphers.Decrypt(token)
	if err != nil {
		return "", fmt.Errorf("decrypt a secret: %w", err)
	}
	return value.Reveal(), nil
}

// atRest is how secrets are written into files.
func (s *Store) atRest() shape.Show {
	key, ok := s.Profiles.SealingKey()
	if !ok {
		return s.inClear
	}
	return s.sealWith(key)
}

// inClear shows a secret as it is, and says so in the log.
func (s *Store) inClear(v secret.Value) (string, error) {
	text, err := shape.Plain(v)
	if text != "" {
		s.plain.Do(func() {
			s.Log.Warn("secrets are stored in clear text; set OH_SECRET_KEY to have them encrypted", "directory", s.base)
		})
	}
	return text, err
}

func (s *Store) sealWith(key fernet.Key) shape.Show {
	return func(v secret.Value) (string, error) {
		return key.Encrypt([]byte(v.Reveal()), s.Now().Truncate(time.Second), rand.Reader)
	}
}

// show is how secrets are shown to a client.
func (s *Store) show(e openhands.Exposure) (shape.Show, error) {
	switch e {
	case openhands.Encrypted:
		key, ok := s.Profiles.SealingKey()
		if !ok {
			key = s.Wire
		}
		if key.IsZero() {
			return nil, &openhands.Error{
				Kind: openhands.NoKey,
				Msg:  "Encryption not available: OH_SECRET_KEY is not configured. Cannot return encrypted secrets.",
			}
		}
		return s.sealWith(key), nil
	case openhands.Clear:
		return shape.Plain, nil
	}
	return shape.Masked, nil
}

// exposed is a tree as a client sees it.
func exposed(t shape.Tree, show shape.Show) (map[string]any, error) {
	shown, err := shape.Expose(t, show)
	if err != nil {
		return nil, fmt.Errorf("encrypt secrets: %w", err)
	}
	out, _ := shown.(map[string]any)
	return out, nil
}

// encode is a value of a tree as it is written into a file.
func encode(value any, show shape.Show) ([]byte, error) {
	shown, err := shape.Expose(value, show)
	if err != nil {
		return nil, fmt.Errorf("encrypt secrets: %w", err)
	}
	data, err := json.Marshal(shown)
	if err != nil {
		return nil, errors.New("a value cannot be encoded")
	}
	return jsonedit.ASCII(data), nil
}

// faultsOf are faults at a place of a call.
func faultsOf(list []pydantic.Fault, at ...any) []pydantic.Fault {
	out := make([]pydantic.Fault, len(list))
	for i, f := range list {
		f.Loc = append(append([]any{}, at...), f.Loc...)
		out[i] = f
	}
	return out
}

// busy is err as a failure of the lock, or err.
func busy(err error) error {
	if document.IsLockError(err) {
		return &openhands.Error{Kind: openhands.Busy, Msg: "Profile store is busy. Please retry.", Err: err}
	}
	return err
}

func refuse(kind openhands.Kind, format string, args ...any) error {
	return &openhands.Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// text returns a member that is a text, and nil for any other member.
func text(v jsonedit.Value) *string {
	if t, ok := v.Text(); ok {
		return &t
	}
	return nil
}

// newDoc is the text of a file that is made.
func newDoc(src string) (*jsonedit.Doc, error) { return jsonedit.Parse([]byte(src)) }
