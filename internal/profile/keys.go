package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/llmentry"
	"github.com/ohgw/ohgw/internal/secret"
)

// ImportAction is what happened to a key that was to be imported.
type ImportAction string

// The outcomes of an import.
const (
	KeyCopied  ImportAction = "copied"
	KeyMoved   ImportAction = "moved"   // copied, and removed from the profile
	KeyThere   ImportAction = "already" // the store had this key
	KeyDiffers ImportAction = "differs" // the store has another key, which stays
	KeySkipped ImportAction = "skipped" // see Problem
)

// Import is one key that was looked at.
type Import struct {
	Profile string       `json:"profile"`
	Path    string       `json:"path"`
	Field   string       `json:"field"`
	Entry   string       `json:"entry"`
	Action  ImportAction `json:"action"`
	Source  string       `json:"secret_source,omitempty"` // what the key was encrypted with
	Problem string       `json:"problem,omitempty"`
	Err     error        `json:"-"`
}

// ImportOptions are the judgements that ImportKeys leaves to people.
type ImportOptions struct {
	Names   []string // profiles; none means all
	Replace bool     // a key that the store has already gives way
	Remove  bool     // the key is removed from the profile: a running server needs it there

	// Bind is told for which host each key is that was stored; see
	// [secret.Resolver.Bind]. It may be nil.
	Bind func(context.Context, secret.Subject) error
}

// ImportKeys copies the keys that are written in profiles, and in the settings'
// copy of the active one, into a key store. One that cannot be read does not
// stop the others.
func (s *Store) ImportKeys(ctx context.Context, keys secret.Store, opts ImportOptions) ([]Import, error) {
	files, err := s.choose(opts.Names)
	if err != nil {
		return nil, err
	}
	out := []Import{}
	for _, f := range files {
		snap := f.Read()
		if snap.Doc == nil {
			out = append(out, Import{Profile: f.Name(), Path: f.Path, Action: KeySkipped, Err: snap.Err(), Problem: snap.Gate.Error()})
			continue
		}
		for _, field := range secretFields() {
			if inClearOrEncrypted(snap.Doc.Root().Get(field)) {
				out = append(out, s.importKey(ctx, keys, secretAt{f.Name(), snap, nil, field}, opts))
			}
		}
		out = append(out, s.importActive(ctx, keys, snap, opts)...)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
	}
	return out, nil
}

func secretFields() []string {
	return []string{llmentry.FieldAPIKey, secret.AWSAccessKeyID, secret.AWSSecretAccessKey, secret.AWSSessionToken}
}

// entryName is where the key of a member belongs in a key store.
func (s *Store) entryName(profile, member string) string {
	return secret.ProfileEntry(s.cfg.Base, profile, fieldOf(member))
}

// fieldOf is the field of a stored entry for a member of a profile.
func fieldOf(member string) string {
	if member == llmentry.FieldAPIKey {
		return secret.APIKey
	}
	return member
}

// secretAt is a secret in a file.
type secretAt struct {
	profile string            // whose it is
	in      document.Snapshot // the profile, or the settings
	entry   []string          // path of its entry in the file
	field   string            // member of the entry
}

func (a secretAt) path() []string { return append(slices.Clone(a.entry), a.field) }

func (a secretAt) member() jsonedit.Value { return a.in.Doc.Root().At(a.path()...) }

func inClearOrEncrypted(member jsonedit.Value) bool {
	state := keyState(member)
	return state == KeyPlain || state == KeyEncrypted
}

// importActive imports the keys of the settings' copy of a profile: those that
// the profile itself does not have, or all of them if they are to be removed. A
// key of the copy never replaces that of the profile.
func (s *Store) importActive(ctx context.Context, keys secret.Store, of document.Snapshot, opts ImportOptions) []Import {
	snap := s.settings().Read()
	if snap.Doc == nil {
		return nil // Check reports settings that cannot be read.
	}
	if active, _ := snap.Doc.Root().Get(activeMember).Text(); active != of.File.Name() {
		return nil
	}
	var out []Import
	for _, field := range secretFields() {
		at := secretAt{of.File.Name(), snap, []string{"agent_settings", "llm"}, field}
		own := inClearOrEncrypted(of.Doc.Root().Get(field))
		switch {
		case !inClearOrEncrypted(at.member()) || own && !opts.Remove:
		case own && opts.Replace:
			out = append(out, s.dropKey(ctx, at))
		default:
			out = append(out, s.importKey(ctx, keys, at, opts))
		}
	}
	return out
}

// dropKey removes a copy whose place another key takes.
func (s *Store) dropKey(ctx context.Context, at secretAt) Import {
	out := s.importOf(at)
	out.Action = KeyMoved
	if err := s.removeKey(ctx, at); err != nil {
		out.Action, out.Err, out.Problem = KeySkipped, err, err.Error()
	}
	return out
}

func (s *Store) importOf(at secretAt) Import {
	return Import{Profile: at.profile, Path: at.in.File.Path, Field: at.field, Entry: s.entryName(at.profile, at.field)}
}

func (s *Store) importKey(ctx context.Context, keys secret.Store, at secretAt, opts ImportOptions) Import {
	out := s.importOf(at)
	skip := func(err error) Import {
		out.Action, out.Err, out.Problem = KeySkipped, err, err.Error()
		return out
	}
	member := at.member()
	text, _ := member.Text()
	key := secret.New(text)
	var err error
	if keyState(member) == KeyEncrypted {
		if key, out.Source, err = s.cfg.Ciphers.Decrypt(text); err != nil {
			return skip(err)
		}
	}
	if key, err = secret.Parse(key.Reveal()); err != nil {
		return skip(err)
	}
	if out.Action, err = storeKey(ctx, keys, out.Entry, key, opts.Replace); err != nil {
		return skip(err)
	}
	if subject, known := s.subjectAt(at); known && opts.Bind != nil && out.Action != KeyDiffers {
		if err := opts.Bind(ctx, subject); err != nil {
			return skip(err)
		}
	}
	if opts.Remove && out.Action != KeyDiffers {
		if err := s.removeKey(ctx, at); err != nil {
			return skip(fmt.Errorf("the key was stored, but is still in %s, too: %w", at.in.File.Path, err))
		}
		out.Action = KeyMoved
	}
	return out
}

// subjectAt is whose key a secret in a file is. A copy in the settings may be for another
// host than the profile; then its key is, too.
func (s *Store) subjectAt(at secretAt) (secret.Subject, bool) {
	if len(at.entry) == 0 {
		p, err := s.load(at.in)
		if err != nil {
			return secret.Subject{}, false
		}
		return p.Subject(fieldOf(at.field)), true
	}
	llm, err := readLLM(at.in.Doc.Root().At(at.entry...), s.cfg.Models)
	p := Profile{Summary: Summary{Base: s.cfg.Base, Name: at.profile}, LLM: llm}
	return p.Subject(fieldOf(at.field)), err == nil
}

// errNotStored means that a store gave back something else than it was given.
var errNotStored = errors.New("the key store did not store the key")

// storeKey stores a key and makes sure that it is there.
func storeKey(ctx context.Context, keys secret.Store, entry string, key secret.Value, replace bool) (ImportAction, error) {
	old, err := keys.Get(ctx, entry)
	switch {
	case err == nil && old.Equal(key):
		return KeyThere, nil
	case err == nil && !replace:
		return KeyDiffers, nil
	case err != nil && !errors.Is(err, secret.ErrNotFound):
		return "", err
	}
	if err := keys.Set(ctx, entry, key); err != nil {
		return "", err
	}
	if back, err := keys.Get(ctx, entry); err != nil || !back.Equal(key) {
		return "", errors.Join(errNotStored, err)
	}
	return KeyCopied, nil
}

// removeKey takes a secret out of its file if it is still what it was.
func (s *Store) removeKey(ctx context.Context, at secretAt) error {
	was := string(at.member().Raw())
	_, err := at.in.File.Update(ctx, s.cfg.Locking, func(now document.Snapshot) (*jsonedit.Doc, error) {
		if now.Doc == nil || string(now.Doc.Root().At(at.path()...).Raw()) != was {
			return nil, document.ErrChanged
		}
		return now.Doc.Delete(at.path()...)
	})
	return err
}

// choose returns the files of these profiles, or of all.
func (s *Store) choose(names []string) ([]document.File, error) {
	var files []document.File
	if len(names) == 0 {
		entries, err := s.readDir()
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			files = append(files, s.file(document.Stem(e)))
		}
		return files, nil
	}
	for _, given := range names {
		name, err := s.existing(given)
		if err != nil {
			return nil, err
		}
		f := s.file(name)
		if f.Read().Missing() {
			return nil, fmt.Errorf("profile %q: %w", name, ErrNotFound)
		}
		files = append(files, f)
	}
	return files, nil
}

// MoveKeys moves the keys that are stored for a profile to its new name, after
// a Rename. The old entries go last, so that a key is never lost. A key that is stored for
// the new name already was for another profile, and is not for this one.
func (s *Store) MoveKeys(ctx context.Context, keys secret.Store, old, name string) error {
	if hosts, ok := keys.(secret.HostStore); ok {
		_, err := s.eachKey(ctx, keys, name, func(entry, _ string) error {
			if host, err := hosts.Host(entry); host != "" || err != nil {
				return err
			}
			return hosts.SetHost(ctx, entry, otherProfile)
		})
		if err != nil {
			return err
		}
	}
	_, err := s.eachKey(ctx, keys, old, func(entry, field string) error {
		key, err := keys.Get(ctx, entry)
		if errors.Is(err, secret.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := storeKey(ctx, keys, s.entryName(name, field), key, true); err != nil {
			return err
		}
		if err := moveHost(ctx, keys, entry, s.entryName(name, field)); err != nil {
			return err
		}
		return keys.Delete(ctx, entry)
	})
	return err
}

// otherProfile takes the place of a host that is not known.
const otherProfile = "another profile of that name"

// moveHost lets a key be for the host that it was for under its old name.
func moveHost(ctx context.Context, keys secret.Store, old, name string) error {
	hosts, ok := keys.(secret.HostStore)
	if !ok {
		return nil
	}
	host, err := hosts.Host(old)
	if err != nil {
		return err
	}
	return hosts.SetHost(ctx, name, host)
}

// RemoveKeys removes the keys that are stored for a profile, after a Remove. It
// reports how many there were.
func (s *Store) RemoveKeys(ctx context.Context, keys secret.Store, name string) (int, error) {
	return s.eachKey(ctx, keys, name, func(entry, _ string) error { return keys.Delete(ctx, entry) })
}

// eachKey calls do for the keys that are stored for a profile, and counts them.
// It asks for their names first: a keyring is only asked for what it has.
func (s *Store) eachKey(ctx context.Context, keys secret.Store, profile string, do func(entry, field string) error) (int, error) {
	names, err := keys.List(ctx)
	if err != nil {
		return 0, fmt.Errorf("keys of profile %q: %w", profile, err)
	}
	n := 0
	for _, field := range secretFields() {
		entry := s.entryName(profile, field)
		if !slices.Contains(names, entry) {
			continue
		}
		if err := do(entry, field); err != nil && !errors.Is(err, secret.ErrNotFound) {
			return n, fmt.Errorf("keys of profile %q: %w", profile, err)
		}
		n++
	}
	return n, nil
}
