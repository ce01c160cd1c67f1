package files

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/secret"
)

// Secrets are the secrets of the user.
type Secrets struct{ place }

// The members of the file of secrets.
const (
	secretsMember  = "custom_secrets"
	versionsMember = "_credential_versions"
)

// List returns the user's secrets, without their values.
func (s *Secrets) List(context.Context) ([]openhands.SecretInfo, error) {
	out := []openhands.SecretInfo{}
	snap := document.SecretsFile(s.base).Read()
	if snap.Doc == nil {
		return out, nil // as OpenHands does; a change of such a file is refused
	}
	for name, v := range snap.Doc.Root().Get(secretsMember).Members() {
		out = append(out, openhands.SecretInfo{Name: name, Description: text(v.Get("description"))})
	}
	return out, nil
}

// Get returns the value of a secret. One that is empty, or cannot be decrypted, is not
// found.
func (s *Secrets) Get(_ context.Context, name string) (string, error) {
	if snap := document.SecretsFile(s.base).Read(); snap.Doc != nil {
		v := snap.Doc.Root().At(secretsMember, name)
		if v.Kind() == jsonedit.Object {
			v = v.Get("secret")
		}
		raw, _ := v.Text()
		if value := s.sealing.reader().Stored(raw); !value.IsZero() {
			return value.Reveal(), nil
		}
	}
	return "", refuse(openhands.NotFound, "Secret not found")
}

// Set stores a secret, in the place of one of that name.
func (s *Secrets) Set(ctx context.Context, name, value string, description *string) error {
	return s.change(ctx, func(w *writer) error {
		members := map[string]any{"name": name, "secret": "", "description": description}
		if value != "" {
			sealed, err := w.show(secret.New(value))
			if err != nil {
				return err
			}
			members["secret"] = sealed
		}
		if w.doc.Root().At(versionsMember, name).Exists() {
			w.set([]string{versionsMember, name}, newVersion())
		}
		w.set([]string{secretsMember, name}, members)
		return w.err
	})
}

// Remove deletes a secret.
func (s *Secrets) Remove(ctx context.Context, name string) error {
	return s.change(ctx, func(w *writer) error {
		if !w.doc.Root().At(secretsMember, name).Exists() {
			return refuse(openhands.NotFound, "Secret not found")
		}
		w.remove([]string{secretsMember, name})
		if w.doc.Root().At(versionsMember, name).Exists() {
			w.remove([]string{versionsMember, name})
		}
		return w.err
	})
}

// newVersion is what a program compares that refreshes a credential.
func newVersion() string {
	random := make([]byte, 24)
	_, _ = rand.Read(random) // it never fails
	return base64.RawURLEncoding.EncodeToString(random)
}

func (s *Secrets) change(ctx context.Context, fn func(*writer) error) error {
	f := document.SecretsFile(s.base)
	_, err := f.Update(ctx, s.cfg.Locking, func(snap document.Snapshot) (*jsonedit.Doc, error) {
		doc := snap.Doc
		if doc == nil {
			var err error
			if doc, err = newDoc("{\n  \"custom_secrets\": {}\n}"); err != nil {
				return nil, err
			}
		}
		w := &writer{doc: doc, show: s.sealing.atRest()}
		err := fn(w)
		return w.doc, err
	})
	if _, gate := errors.AsType[*document.GateError](err); gate || errors.Is(err, jsonedit.ErrIrregular) {
		return &openhands.Error{Kind: openhands.Unreadable, Msg: "Secrets file is corrupted or encrypted with a different key", Err: err}
	}
	return busy(err)
}
