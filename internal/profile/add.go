package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/secret"
)

// Draft is a profile that is to be added.
type Draft struct {
	// Keys are the secrets in clear that were in the draft, by their fields:
	// secret.APIKey and the three of AWS. They are not written into the
	// profile; they belong into a secret.Store, as secret.ProfileEntry.
	Keys map[string]secret.Value

	// Legacy says that the draft is of settings that a newer OpenHands
	// forgets, so that they are worth a copy.
	Legacy bool

	members []draftMember
}

type draftMember struct {
	name string
	raw  []byte
}

// Format shows nothing of the draft: headers and encrypted keys are in it.
func (d Draft) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "profile.Draft") }

// NewDraft makes a draft of a model and a base URL, which may be "".
func NewDraft(model, baseURL string) Draft {
	d := Draft{Keys: map[string]secret.Value{}, members: []draftMember{{"model", jsonedit.Quote(model)}}}
	if baseURL != "" {
		d.members = append(d.members, draftMember{"base_url", jsonedit.Quote(baseURL)})
	}
	return d
}

// ParseDraft reads the text of a profile that the user wrote or saved: one JSON
// object, with each member once and no NaN. It checks nothing else; Add does.
//
// Secrets in clear are taken out of it, into Draft.Keys. Encrypted ones stay as
// they are, byte for byte: only an agent-server with the same secret can read
// them. What stands for no secret (null, blanks, the mask of OpenHands) is left
// out. Headers and members for the provider, which may hold credentials, stay.
// Neither a Draft nor the error shows a value.
func ParseDraft(src []byte) (Draft, error) {
	doc, err := jsonedit.Parse(src)
	if err != nil {
		return Draft{}, fmt.Errorf("read draft: %w", err)
	}
	if doc.Root().Kind() != jsonedit.Object || doc.Irregular().Any() {
		return Draft{}, errors.New("read draft: it must be a single JSON object without duplicate members")
	}
	return draftOf(doc.Root())
}

func draftOf(entry jsonedit.Value) (Draft, error) {
	d := Draft{Keys: map[string]secret.Value{}}
	for name, v := range entry.Members() {
		isText := v.Kind() == jsonedit.String || v.Kind() == jsonedit.Null
		if !slices.Contains(secretFields(), name) || keyState(v) == KeyEncrypted || !isText {
			d.members = append(d.members, draftMember{name, v.Raw()})
			continue
		}
		text, _ := v.Text()
		key, err := draftKey(text, keyState(v))
		if err != nil {
			return Draft{}, fmt.Errorf("read draft: %s: %w", name, err)
		}
		if !key.IsZero() {
			d.Keys[fieldOf(name)] = key
		}
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
// *EntryError or a *shape.FieldError when OpenHands would not load it.
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

// Preview returns the profile that Add would write, as Load would read it. Its API
// key is that of the draft. The errors are those of Add and Load.
func (s *Store) Preview(name string, d Draft) (*Profile, error) {
	name, err := newName(name)
	if err != nil {
		return nil, err
	}
	doc, err := s.compose(d)
	if err != nil {
		return nil, fmt.Errorf("preview profile %q: %w", name, err)
	}
	p, err := s.load(document.Snapshot{File: s.file(name), Doc: doc})
	if err != nil {
		return nil, fmt.Errorf("preview profile %q: %w", name, err)
	}
	if key, ok := d.Keys[secret.APIKey]; ok {
		p.LLM.APIKey, p.KeyErr = key, nil
	}
	return p, nil
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
		return nil, &shape.FieldError{Field: bad[0]}
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

// SettingsDraft makes a draft of the LLM in the settings. Those of the first
// OpenHands are read, too: a newer one forgets them when it writes its own. It
// returns ErrNotFound when the settings have no LLM or are not there.
func (s *Store) SettingsDraft() (Draft, error) {
	snap := s.settings().Read()
	switch {
	case snap.Missing():
		return Draft{}, fmt.Errorf("settings: %w", ErrNotFound)
	case snap.Gate != nil && snap.Gate.Action == canon.ReportLegacyV0:
		return s.legacyDraft(snap.Doc.Root())
	case snap.Gate != nil:
		return Draft{}, fmt.Errorf("settings: %w", snap.Gate)
	case snap.Doc.Irregular().Any():
		return Draft{}, errors.New("settings: a member is duplicated, or a number is not valid")
	}
	entries := snap.Entries()
	if len(entries) == 0 {
		return Draft{}, fmt.Errorf("settings: %w", ErrNotFound)
	}
	if entries[0].Gate != "" {
		return Draft{}, &EntryError{entries[0].Gate}
	}
	d, err := draftOf(entries[0].Value)
	// Settings have null for what a profile leaves out.
	d.members = slices.DeleteFunc(d.members, func(m draftMember) bool { return string(m.raw) == "null" })
	return d, err
}

// BackUpSettings copies the settings to a file that is not there yet, for their
// owner only: keys are in them.
func (s *Store) BackUpSettings(path string) error {
	src, err := os.ReadFile(s.settings().Path)
	if err != nil {
		return fmt.Errorf("back up settings: %w", err)
	}
	defer clear(src)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("back up settings: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("back up settings: %w", err)
	}
	_, err = f.Write(src)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("back up settings: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// legacyDraft reads the LLM of the first OpenHands.
func (s *Store) legacyDraft(root jsonedit.Value) (Draft, error) {
	model, _ := root.Get("llm_model").Text()
	url, _ := root.Get("llm_base_url").Text()
	if ours, err := canon.IsAppProxy(url); err == nil && ours && strings.HasPrefix(model, canon.OpenHands) {
		url = ""
	}
	d := NewDraft(model, url)
	d.Legacy = true
	member := root.Get("llm_api_key")
	text, _ := member.Text()
	key, err := draftKey(text, keyState(member))
	if keyState(member) == KeyEncrypted {
		key, _, err = s.cfg.Ciphers.Decrypt(text)
	}
	if errors.Is(err, fernet.ErrNoKey) || errors.Is(err, fernet.ErrWrongKey) {
		return d, nil // The profile is worth having without its key.
	}
	if !key.IsZero() {
		d.Keys[secret.APIKey] = key
	}
	return d, err
}
