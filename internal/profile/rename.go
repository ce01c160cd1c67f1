package profile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// Renaming is what Rename did.
type Renaming struct {
	Old           string   `json:"old"`
	New           string   `json:"new"`
	Active        bool     `json:"active"`         // it was the active profile, and is
	AgentProfiles []string `json:"agent_profiles"` // that use it and were changed
	MetaProfiles  []string `json:"meta_profiles"`  // that use it and were changed
}

// Rename gives a profile another name, in the agent profiles and meta-profiles that use
// it and in the settings as well. The old name may be one that OpenHands does not see any
// more. It returns ErrName, ErrNotFound or ErrExists, and before it changes anything a
// *SettingsError or *NewerFileError for a file that would have to change and is newer than
// all that are known.
func (s *Store) Rename(ctx context.Context, old, name string) (Renaming, error) {
	old, err := s.existing(old)
	if err != nil {
		return Renaming{}, err
	}
	if name, err = newName(name); err != nil {
		return Renaming{}, err
	}
	done := Renaming{Old: old, New: name, AgentProfiles: []string{}, MetaProfiles: []string{}}
	if err := s.movable(old); err != nil && old != name {
		return done, fmt.Errorf("rename profile %q: %w", old, err)
	}
	err = s.withUsers(ctx, func(agents []agentProfile, metas []metaProfile) error {
		var files []rewritten
		if old != name {
			if files, err = renamedUsers(agents, metas, old, name); err != nil {
				return err
			}
		}
		if err := s.renameFile(ctx, old, name); err != nil {
			return err
		}
		for _, f := range files {
			if err := f.file.Write(f.content); err != nil {
				return fmt.Errorf("change %s: %w", f.file.Path, err)
			}
			if f.file.Kind == document.AgentProfile {
				done.AgentProfiles = append(done.AgentProfiles, f.file.Name())
			} else {
				done.MetaProfiles = append(done.MetaProfiles, f.file.Name())
			}
		}
		return nil
	})
	if err == nil && old != name {
		done.Active, err = s.moveActive(ctx, old, name)
	}
	if err != nil {
		return done, fmt.Errorf("rename profile %q: %w", old, err)
	}
	return done, nil
}

// rewritten is a file that is about to be changed.
type rewritten struct {
	file    document.File
	content []byte
}

// renamedUsers rewrites the files that use a profile for its other name.
func renamedUsers(agents []agentProfile, metas []metaProfile, old, name string) ([]rewritten, error) {
	var files []rewritten
	for _, a := range agents {
		if a.ref != old {
			continue
		}
		if a.sealed != nil {
			return nil, &NewerFileError{a.file.Path, a.sealed}
		}
		doc, err := a.doc.Set(jsonedit.Quote(name), "llm_profile_ref")
		if err != nil {
			return nil, fmt.Errorf("change agent profile %q: %w", a.file.Name(), err)
		}
		files = append(files, rewritten{a.file, doc.Bytes()})
	}
	for _, m := range metas {
		uses := m.uses(old)
		if len(uses) == 0 {
			continue
		}
		doc, err := m.doc.Replace(jsonedit.Quote(name), uses...)
		if err != nil {
			return nil, fmt.Errorf("change meta-profile %q: %w", m.file.Name(), err)
		}
		files = append(files, rewritten{m.file, doc.Bytes()})
	}
	return files, nil
}

func (s *Store) renameFile(ctx context.Context, old, name string) error {
	from, to := s.file(old), s.file(name)
	return from.WithLock(ctx, s.cfg.Locking, func() error {
		info, err := os.Lstat(from.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return ErrNotFound
		case err != nil:
			return err
		case info.IsDir():
			return &document.GateError{Action: canon.ErrorUnreadable, Msg: "is not a file"}
		case old == name:
			return nil
		}
		// On some file systems two names that differ in case are one file.
		if taken, err := os.Lstat(to.Path); err == nil && (!strings.EqualFold(old, name) || !os.SameFile(info, taken)) {
			return ErrExists
		}
		return mounted(from.Path, os.Rename(from.Path, to.Path))
	})
}

// MountError says that the file of a profile is a mount of its own, as containers have
// files of their hosts. Its content can be changed, and its name cannot.
type MountError struct {
	Path string
	Err  error
}

func (e *MountError) Error() string { return e.Err.Error() }
func (e *MountError) Unwrap() error { return e.Err }

// mounted returns the error of a change of the name at path, a [*MountError] if a mount is
// the reason.
func mounted(path string, err error) error {
	if err != nil && atomicfile.IsMount(err) {
		return &MountError{path, err}
	}
	return err
}

// existing checks a name like CleanName, for a profile that is there, whose name may be
// one of those that only old releases made.
func (s *Store) existing(given string) (string, error) {
	name, err := CleanName(given)
	if err == nil {
		return name, nil
	}
	entries, dirErr := s.readDir()
	if dirErr != nil {
		return "", dirErr
	}
	for _, e := range entries {
		if document.Stem(e) == given {
			return given, nil
		}
	}
	return "", err
}

// Removal is what Remove did.
type Removal struct {
	Name   string `json:"name"`
	Active bool   `json:"active"` // it was the active profile; there is none now
}

// Remove deletes a profile, unless agent profiles or meta-profiles use it: then it returns
// an *InUseError. It also returns ErrName and ErrNotFound.
func (s *Store) Remove(ctx context.Context, name string) (Removal, error) {
	name, err := s.existing(name)
	if err != nil {
		return Removal{}, err
	}
	if err := s.movable(name); err != nil {
		return Removal{}, fmt.Errorf("remove profile %q: %w", name, err)
	}
	err = s.withUsers(ctx, func(agents []agentProfile, metas []metaProfile) error {
		used := InUseError{By: []string{}}
		for _, a := range agents {
			if a.ref == name {
				used.By = append(used.By, a.file.Name())
			}
		}
		for _, m := range metas {
			if len(m.uses(name)) > 0 {
				used.Meta = append(used.Meta, m.file.Name())
			}
		}
		if len(used.By)+len(used.Meta) > 0 {
			return &used
		}
		return s.removeFile(ctx, name)
	})
	done := Removal{Name: name}
	if err == nil {
		done.Active, err = s.moveActive(ctx, name, "")
	}
	if err != nil {
		return done, fmt.Errorf("remove profile %q: %w", name, err)
	}
	return done, nil
}

func (s *Store) removeFile(ctx context.Context, name string) error {
	f := s.file(name)
	return f.WithLock(ctx, s.cfg.Locking, func() error {
		info, err := os.Lstat(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return ErrNotFound
		case err != nil:
			return err
		case info.IsDir():
			return &document.GateError{Action: canon.ErrorUnreadable, Msg: "is not a file"}
		}
		return mounted(f.Path, os.Remove(f.Path))
	})
}

// agentProfile is an agent profile, as far as it matters here.
type agentProfile struct {
	file document.File
	doc  *jsonedit.Doc
	ref  string // the profile that it uses

	sealed *document.GateError // why it must not be written, as a newer OpenHands wrote it
}

// withUsers calls fn with the agent profiles and the meta-profiles while their locks are
// held.
func (s *Store) withUsers(ctx context.Context, fn func([]agentProfile, []metaProfile) error) error {
	return s.withAgentProfiles(ctx, func(agents []agentProfile) error {
		return s.withMetaProfiles(ctx, func(metas []metaProfile) error { return fn(agents, metas) })
	})
}

// withAgentProfiles calls fn with the agent profiles that use some profile,
// while their lock is held. It is the outermost of the locks. A store without
// agent profiles is not given a directory for them.
func (s *Store) withAgentProfiles(ctx context.Context, fn func([]agentProfile) error) error {
	if _, err := os.Stat(document.AgentProfilesDir(s.cfg.Base)); errors.Is(err, fs.ErrNotExist) {
		return fn(nil)
	}
	return document.AgentProfileFile(s.cfg.Base, "").WithLock(ctx, s.cfg.Locking, func() error {
		users, err := s.agentProfiles()
		if err != nil {
			return err
		}
		return fn(users)
	})
}

// agentProfiles reads what OpenHands would: files that it cannot read use
// nothing.
func (s *Store) agentProfiles() ([]agentProfile, error) {
	entries, err := document.ListDir(document.AgentProfilesDir(s.cfg.Base))
	if err != nil {
		return nil, fmt.Errorf("list agent profiles: %w", err)
	}
	var users []agentProfile
	for _, e := range entries {
		f := document.AgentProfileFile(s.cfg.Base, document.Stem(e))
		snap := f.ReadAs(e.Type())
		if !document.ValidName(f.Name()) || snap.Gate != nil {
			continue
		}
		root := snap.Doc.Root()
		if kind := root.Get("agent_kind"); kind.Exists() {
			if text, _ := kind.Text(); text != "openhands" {
				continue
			}
		}
		if ref := root.Get("llm_profile_ref"); isText(ref) {
			user := agentProfile{file: f, doc: snap.Doc, ref: refOf(ref)}
			if snap.Newer() {
				user.sealed = snap.Sealed
			}
			users = append(users, user)
		}
	}
	return users, nil
}
