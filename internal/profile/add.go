package profile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/profile/canon"
	"github.com/ohgw/ohgw/internal/profile/document"
	"github.com/ohgw/ohgw/internal/profile/jsonedit"
	"github.com/ohgw/ohgw/internal/secret"
)

// Draft is a profile that is to be added.
type Draft struct {
	// Key is the key that was in the draft. It is not written into the
	// profile; it belongs into a secret.Store.
	Key secret.Value

	members []draftMember
}

type draftMember struct {
	name string
	raw  []byte
}

// NewDraft makes a draft of a model and a base URL, which may be "".
func NewDraft(model, baseURL string) Draft {
	d := Draft{members: []draftMember{{"model", jsonedit.Quote(model)}}}
	if baseURL != "" {
		d.members = append(d.members, draftMember{"base_url", jsonedit.Quote(baseURL)})
	}
	return d
}

// ParseDraft reads the text of a profile that somebody wrote or saved. A key in
// clear is taken out of it; see Draft.Key. The error never quotes the text.
func ParseDraft(src []byte) (Draft, error) {
	doc, err := jsonedit.Parse(src)
	if err != nil {
		return Draft{}, fmt.Errorf("read draft: %w", err)
	}
	if doc.Root().Kind() != jsonedit.Object || doc.Irregular().Any() {
		return Draft{}, errors.New("read draft: it is not one JSON object with each member once")
	}
	var d Draft
	for name, v := range doc.Root().Members() {
		if name == "api_key" && keyState(v) != KeyEncrypted {
			text, _ := v.Text()
			if d.Key, err = draftKey(text, keyState(v)); err != nil {
				return Draft{}, fmt.Errorf("read draft: api_key: %w", err)
			}
			continue
		}
		d.members = append(d.members, draftMember{name, v.Raw()})
	}
	return d, nil
}

func draftKey(text string, state KeyState) (secret.Value, error) {
	if state == KeyPlain {
		return secret.Parse(strings.TrimSpace(text))
	}
	return secret.Value{}, nil
}

// AddOptions are the judgements that Add leaves to people.
type AddOptions struct {
	Replace bool // there may be a profile of that name
	NoLimit bool // there may be more than MaxProfiles
}

// Add writes a new profile. It returns ErrName, ErrExists, ErrLimit, an
// *EntryError or a *FieldError when OpenHands would not load it.
func (s *Store) Add(ctx context.Context, name string, d Draft, opts AddOptions) error {
	name, err := newName(name)
	if err != nil {
		return err
	}
	doc, err := s.compose(d)
	if err != nil {
		return fmt.Errorf("add profile %q: %w", name, err)
	}
	f := s.file(name)
	err = f.WithLock(ctx, s.cfg.Locking, func() error {
		info, err := os.Lstat(f.Path)
		switch {
		case err == nil && !opts.Replace:
			return ErrExists
		case err == nil && !info.Mode().IsRegular():
			return &document.GateError{Action: canon.ErrorSymlink, Msg: "is there and is not a file"}
		case err == nil:
			return f.Write(doc.Bytes())
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if names, err := s.Names(); err != nil || len(names) >= MaxProfiles && !opts.NoLimit {
			return errors.Join(err, ErrLimit)
		}
		return f.Write(doc.Bytes())
	})
	if err != nil {
		return fmt.Errorf("add profile %q: %w", name, err)
	}
	return nil
}

// compose spells a draft as OpenHands would write it, in its present form.
func (s *Store) compose(d Draft) (*jsonedit.Doc, error) {
	doc, err := jsonedit.Parse([]byte("{}"))
	if err != nil {
		return nil, err
	}
	for _, m := range d.members {
		if doc, err = doc.Set(jsonedit.ASCII(m.raw), m.name); err != nil {
			return nil, err
		}
	}
	if doc, err = s.present(doc); err != nil {
		return nil, err
	}
	if !doc.Root().Get("schema_version").Exists() {
		return doc.Set([]byte("1"), "schema_version")
	}
	if gate := document.Profile.Gate(doc.Root()); gate != nil {
		return nil, gate
	}
	return doc, nil
}

// present brings an entry that is a whole text to its present form, or says why
// OpenHands would refuse it.
func (s *Store) present(doc *jsonedit.Doc) (*jsonedit.Doc, error) {
	snap := document.Snapshot{File: document.File{Kind: document.Profile}, Doc: doc}
	entry := snap.Entries()[0]
	if entry.Gate != "" {
		return nil, &EntryError{entry.Gate}
	}
	d := s.cfg.Models.Decide(entry.Canon(func(string) bool { return false }))
	if d.Action.IsError() {
		return nil, &EntryError{d.Action}
	}
	if bad := badFields(entry.Value); len(bad) > 0 {
		return nil, &FieldError{bad[0]}
	}
	if d.Action != canon.Migrate {
		return doc, nil
	}
	doc, err := doc.Set(jsonedit.Quote(d.Model), "model")
	if err != nil || !d.DropURL {
		return doc, err
	}
	return doc.Delete("base_url")
}

// LegacyDraft makes a draft of the settings of the first OpenHands, which a
// newer one forgets when it writes its own. It returns ErrNotFound when the
// settings are not of that kind.
func (s *Store) LegacyDraft() (Draft, error) {
	snap := s.settings().Read()
	if snap.Gate == nil || snap.Gate.Action != canon.ReportLegacyV0 {
		return Draft{}, ErrNotFound
	}
	root := snap.Doc.Root()
	model, _ := root.Get("llm_model").Text()
	url, _ := root.Get("llm_base_url").Text()
	if ours, err := canon.IsAppProxy(url); err == nil && ours && strings.HasPrefix(model, canon.OpenHands) {
		url = ""
	}
	d := NewDraft(model, url)
	key, _ := root.Get("llm_api_key").Text()
	var err error
	if state := keyState(root.Get("llm_api_key")); state == KeyEncrypted {
		d.Key, _, err = s.cfg.Ciphers.Decrypt(key)
	} else {
		d.Key, err = draftKey(key, state)
	}
	if errors.Is(err, fernet.ErrNoKey) || errors.Is(err, fernet.ErrWrongKey) {
		err = nil // The profile is worth having without its key.
	}
	return d, err
}
