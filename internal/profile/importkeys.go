package profile

import (
	"context"
	"fmt"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
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
	i := importer{store: s, keys: keys, opts: opts}
	out := []Import{}
	for _, f := range files {
		snap := f.Read()
		if snap.Doc == nil {
			out = append(out, Import{Profile: f.Name(), Path: f.Path, Action: KeySkipped, Err: snap.Err(), Problem: snap.Gate.Error()})
			continue
		}
		for _, field := range secretFields() {
			if inClearOrEncrypted(snap.Doc.Root().Get(field)) {
				out = append(out, i.key(ctx, secretAt{f.Name(), snap, nil, field}))
			}
		}
		out = append(out, i.active(ctx, snap)...)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
	}
	return out, nil
}

// importer imports keys into a key store.
type importer struct {
	store *Store

	keys secret.Store
	opts ImportOptions
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

// active imports the keys of the settings' copy of a profile: those that
// the profile itself does not have, or all of them if they are to be removed. A
// key of the copy never replaces that of the profile.
func (i importer) active(ctx context.Context, of document.Snapshot) []Import {
	snap := i.store.settings().Read()
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
		case !inClearOrEncrypted(at.member()) || own && !i.opts.Remove:
		case own && i.opts.Replace:
			out = append(out, i.drop(ctx, at))
		default:
			out = append(out, i.key(ctx, at))
		}
	}
	return out
}

// drop removes a copy whose place another key takes.
func (i importer) drop(ctx context.Context, at secretAt) Import {
	out := i.of(at)
	out.Action = KeyMoved
	if err := i.remove(ctx, at); err != nil {
		out.Action, out.Err, out.Problem = KeySkipped, err, err.Error()
	}
	return out
}

func (i importer) of(at secretAt) Import {
	return Import{Profile: at.profile, Path: at.in.File.Path, Field: at.field, Entry: i.store.entryName(at.profile, at.field)}
}

// key imports one key.
func (i importer) key(ctx context.Context, at secretAt) Import {
	out := i.of(at)
	skip := func(err error) Import {
		out.Action, out.Err, out.Problem = KeySkipped, err, err.Error()
		return out
	}
	member := at.member()
	text, _ := member.Text()
	key := secret.New(text)
	var err error
	if keyState(member) == KeyEncrypted {
		if key, out.Source, err = i.store.cfg.Ciphers.Decrypt(text); err != nil {
			return skip(err)
		}
	}
	if key, err = secret.Parse(key.Reveal()); err != nil {
		return skip(err)
	}
	if out.Action, err = storeKey(ctx, i.keys, out.Entry, key, i.opts.Replace); err != nil {
		return skip(err)
	}
	if subject, known := i.subject(at); known && i.opts.Bind != nil && out.Action != KeyDiffers {
		if err := i.opts.Bind(ctx, subject); err != nil {
			return skip(err)
		}
	}
	if i.opts.Remove && out.Action != KeyDiffers {
		if err := i.remove(ctx, at); err != nil {
			return skip(fmt.Errorf("the key was stored, but is still in %s, too: %w", at.in.File.Path, err))
		}
		out.Action = KeyMoved
	}
	return out
}

// subject is whose key a secret in a file is. A copy in the settings may be for another
// host than the profile; then its key is, too.
func (i importer) subject(at secretAt) (secret.Subject, bool) {
	if len(at.entry) == 0 {
		p, err := i.store.load(at.in)
		if err != nil {
			return secret.Subject{}, false
		}
		return p.Subject(fieldOf(at.field)), true
	}
	llm, err := readLLM(at.in.Doc.Root().At(at.entry...), i.store.cfg.Models)
	p := Profile{Summary: Summary{Base: i.store.cfg.Base, Name: at.profile}, LLM: llm}
	return p.Subject(fieldOf(at.field)), err == nil
}

// remove takes a secret out of its file if it is still what it was.
func (i importer) remove(ctx context.Context, at secretAt) error {
	was := string(at.member().Raw())
	_, err := at.in.File.Update(ctx, i.store.cfg.Locking, func(now document.Snapshot) (*jsonedit.Doc, error) {
		if now.Doc == nil || string(now.Doc.Root().At(at.path()...).Raw()) != was {
			return nil, document.ErrChanged
		}
		return now.Doc.Delete(at.path()...)
	})
	return err
}
