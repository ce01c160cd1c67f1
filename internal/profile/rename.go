package profile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/profile/canon"
	"github.com/ohgw/ohgw/internal/profile/document"
	"github.com/ohgw/ohgw/internal/profile/jsonedit"
)

// Renaming is what Rename did.
type Renaming struct {
	Old           string   `json:"old"`
	New           string   `json:"new"`
	Active        bool     `json:"active"`         // it was the active profile, and is
	AgentProfiles []string `json:"agent_profiles"` // that use it and were changed
}

// Rename gives a profile another name, in the agent profiles that use it and in
// the settings as well. The old name may be one that OpenHands does not see any
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
	done := Renaming{Old: old, New: name, AgentProfiles: []string{}}
	if err := s.movable(old); err != nil && old != name {
		return done, fmt.Errorf("rename profile %q: %w", old, err)
	}
	err = s.withAgentProfiles(ctx, func(users []agentProfile) error {
		users = slices.DeleteFunc(users, func(a agentProfile) bool { return a.ref != old || old == name })
		if err := writable(users); err != nil {
			return err
		}
		if err := s.renameFile(ctx, old, name); err != nil || old == name {
			return err
		}
		for _, user := range users {
			if err := user.point(name); err != nil {
				return fmt.Errorf("change agent profile %q: %w", user.file.Name(), err)
			}
			done.AgentProfiles = append(done.AgentProfiles, user.file.Name())
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
		return os.Rename(from.Path, to.Path)
	})
}

// existing is CleanName for a profile that is there, whose name may be one of
// those that only old releases made.
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

// Remove deletes a profile, unless agent profiles use it: then it returns an
// *InUseError. It also returns ErrName and ErrNotFound.
func (s *Store) Remove(ctx context.Context, name string) (Removal, error) {
	name, err := s.existing(name)
	if err != nil {
		return Removal{}, err
	}
	if err := s.movable(name); err != nil {
		return Removal{}, fmt.Errorf("remove profile %q: %w", name, err)
	}
	err = s.withAgentProfiles(ctx, func(users []agentProfile) error {
		var by []string
		for _, user := range users {
			if user.ref == name {
				by = append(by, user.file.Name())
			}
		}
		if len(by) > 0 {
			return &InUseError{by}
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
		return os.Remove(f.Path)
	})
}

// agentProfile is an agent profile, as far as it matters here.
type agentProfile struct {
	file document.File
	doc  *jsonedit.Doc
	ref  string // the profile that it uses

	sealed *document.GateError // why it must not be written, as a newer OpenHands wrote it
}

// writable reports an agent profile that must not be written.
func writable(users []agentProfile) error {
	for _, user := range users {
		if user.sealed != nil {
			return &NewerFileError{user.file.Path, user.sealed}
		}
	}
	return nil
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
		if ref, ok := root.Get("llm_profile_ref").Text(); ok {
			user := agentProfile{file: f, doc: snap.Doc, ref: ref}
			if snap.Newer() {
				user.sealed = snap.Sealed
			}
			users = append(users, user)
		}
	}
	return users, nil
}

// point makes the agent profile use another profile. The lock is the caller's.
func (a agentProfile) point(name string) error {
	doc, err := a.doc.Set(jsonedit.Quote(name), "llm_profile_ref")
	if err != nil {
		return err
	}
	return a.file.Write(doc.Bytes())
}
