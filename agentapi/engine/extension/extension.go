// Package extension installs plugins and skills for the user, in the directories of
// OpenHands and beside it: a directory for each, and the file .installed.json with what is
// known of them.
//
// What is installed is a copy. It is made beside its place and moved there as a whole, so
// that an installation that fails changes nothing. The copy has regular files and
// directories, and links that stay inside: nothing outside of the source is read.
package extension

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/optional"
)

// Config is what a Store needs. All fields are required.
type Config struct {
	// Noun is what is installed: "plugin" or "skill".
	Noun string
	// Dir has the installed ones; it is made when it is needed.
	Dir string
	// Load reads the one in a directory. The error says in words for people why there is
	// none.
	Load    func(dir string) (About, error)
	Sources plugin.Sources
	Now     func() time.Time
}

// About is what a plugin or a skill says of itself.
type About struct{ Name, Version, Description string }

// Store has what is installed. It is safe for concurrent use, also by several programs.
type Store struct{ Config }

// New does not touch the directory yet.
func New(cfg Config) *Store { return &Store{cfg} }

const (
	lockName = ".ohgw.lock"
	tempName = ".new-"
)

// leftBehind is after which time what an interrupted installation has left is removed.
const leftBehind = time.Hour

// Install installs from a source. What is installed already under that name is
// [openhands.Taken] unless force replaces it; it stays disabled if it was.
func (s *Store) Install(ctx context.Context, from control.Plugin, force bool) (openhands.Extension, error) {
	return s.install(ctx, from, force, "")
}

// install installs; name is the directory's name that a repository as a whole gets, and
// with it the name of a plugin that says none. Empty: that of the repository.
func (s *Store) install(ctx context.Context, from control.Plugin, force bool, name string) (openhands.Extension, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return openhands.Extension{}, s.unwritable(err)
	}
	temp, err := os.MkdirTemp(s.Dir, tempName)
	if err != nil {
		return openhands.Extension{}, s.unwritable(err)
	}
	defer os.RemoveAll(temp)
	place, err := s.fetch(ctx, from, temp, name)
	if err != nil {
		return openhands.Extension{}, err
	}
	about, err := s.Load(place.Dir)
	if err == nil && !skill.ValidName(about.Name) {
		err = errors.New("its name has other characters than lower-case letters, digits and single dashes; change the name")
	}
	if err != nil {
		return openhands.Extension{}, s.invalid(err)
	}
	copied := filepath.Join(temp, "copy")
	if err := copyTree(place.Dir, copied, usualLimits()); err != nil {
		return openhands.Extension{}, s.invalid(err)
	}
	made := openhands.Extension{
		Name: about.Name, Version: about.Version, Description: about.Description, Enabled: true, Source: from.Source,
		RequestedRef: optional.Of(from.Ref), ResolvedRef: optional.Of(place.Commit), RepoPath: optional.Of(from.Path),
		InstalledAt: s.stamp(), Path: filepath.Join(s.Dir, about.Name),
	}
	err = s.locked(ctx, func(all *index) error {
		s.clean(temp)
		if before, ok := all.get(about.Name); ok {
			made.Enabled = before.Enabled
		}
		if err := s.place(copied, made.Path, filepath.Join(temp, "old"), force); err != nil {
			return err
		}
		all.set(made)
		return nil
	})
	if err != nil {
		return openhands.Extension{}, err
	}
	return made, nil
}

// stamp is the time as OpenHands writes it into the file.
func (s *Store) stamp() string { return s.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00") }

// fetch finds a source.
func (s *Store) fetch(ctx context.Context, from control.Plugin, temp, name string) (plugin.Place, error) {
	place, err := s.Sources.Copy(ctx, from, temp)
	if err == nil {
		_, err = os.Stat(place.Dir)
	}
	wrong, ok := errors.AsType[*plugin.Error](err)
	switch {
	case ok:
		return plugin.Place{}, s.refused(openhands.Malformed, "cannot be fetched: "+wrong.Msg, err)
	case errors.Is(err, fs.ErrNotExist):
		return plugin.Place{}, s.refused(openhands.Malformed, "cannot be fetched: there is no such directory", err)
	case err != nil:
		return plugin.Place{}, err
	}
	if strings.HasPrefix(from.Source, "file://") && place.Commit == "" {
		return plugin.Place{}, s.refused(openhands.Malformed, "cannot be fetched: its source is not a git repository; give its path without file://", nil)
	}
	if name == "" || place.Commit == "" || from.Path != "" {
		return place, nil
	}
	renamed := filepath.Join(temp, name)
	if renamed != place.Dir {
		err = os.Rename(place.Dir, renamed)
	}
	return plugin.Place{Dir: renamed, Commit: place.Commit}, err
}

// place moves a copy to its place; what is there goes to old, and comes back if that fails.
func (s *Store) place(copied, target, old string, force bool) error {
	_, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(copied, target); err != nil {
			return s.unwritable(err)
		}
		return nil
	}
	if !force {
		return s.refused(openhands.Taken, "is installed already; to replace it, set force to true", nil)
	}
	if err := os.Rename(target, old); err != nil {
		return s.unwritable(err)
	}
	if err := os.Rename(copied, target); err != nil {
		return errors.Join(s.unwritable(err), os.Rename(old, target))
	}
	return nil
}

// clean removes what interrupted installations have left; own is that of this one.
func (s *Store) clean(own string) {
	left, _ := filepath.Glob(filepath.Join(s.Dir, tempName+"*")) // the pattern is valid
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && dir != own && s.Now().Sub(info.ModTime()) > leftBehind {
			_ = os.RemoveAll(dir) // the next time, then
		}
	}
}

// List are all that are installed. A directory that was put there by hand is one of them,
// and one that was removed by hand is not.
func (s *Store) List(ctx context.Context) ([]openhands.Extension, error) {
	if _, err := os.Stat(s.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []openhands.Extension
	err := s.locked(ctx, func(all *index) error {
		s.sync(all)
		list = all.list
		return nil
	})
	return list, err
}

// Enabled are the directories of those that are in use.
func (s *Store) Enabled() (dirs []string, err error) {
	all, err := s.index()
	if err != nil {
		return nil, err
	}
	s.sync(all)
	for _, e := range all.list {
		if e.Enabled {
			dirs = append(dirs, filepath.Join(s.Dir, e.Name))
		}
	}
	return dirs, nil
}

// Get is one that is installed.
func (s *Store) Get(name string) (openhands.Extension, error) {
	all, err := s.index()
	if err != nil {
		return openhands.Extension{}, err
	}
	if e, ok := all.get(name); ok && isDir(filepath.Join(s.Dir, name)) {
		return e, nil
	}
	return openhands.Extension{}, s.missing(name)
}

// Enable switches one on or off.
func (s *Store) Enable(ctx context.Context, name string, enabled bool) error {
	if _, err := os.Stat(s.Dir); err != nil {
		return s.missing(name)
	}
	return s.locked(ctx, func(all *index) error {
		s.sync(all)
		e, ok := all.get(name)
		if !ok {
			return s.missing(name)
		}
		e.Enabled = enabled
		all.set(e)
		return nil
	})
}

// Remove removes one that was installed.
func (s *Store) Remove(ctx context.Context, name string) error {
	if _, err := os.Stat(s.Dir); err != nil || !skill.ValidName(name) {
		return s.missing(name)
	}
	return s.locked(ctx, func(all *index) error {
		if _, ok := all.get(name); !ok {
			return s.missing(name)
		}
		temp, err := os.MkdirTemp(s.Dir, tempName)
		if err != nil {
			return s.unwritable(err)
		}
		defer os.RemoveAll(temp)
		if err := os.Rename(filepath.Join(s.Dir, name), filepath.Join(temp, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.unwritable(err)
		}
		all.remove(name)
		return nil
	})
}

// Refresh installs one again as its source is now. If that fails, the installed one stays.
func (s *Store) Refresh(ctx context.Context, name string) (openhands.Extension, error) {
	e, err := s.Get(name)
	if err != nil {
		return openhands.Extension{}, err
	}
	from := control.Plugin{Source: e.Source}
	if e.RepoPath != nil {
		from.Path = *e.RepoPath
	}
	return s.install(ctx, from, true, name)
}

// locked changes what is known of the installed ones.
func (s *Store) locked(ctx context.Context, change func(*index) error) (err error) {
	lock, err := filelock.Acquire(ctx, filepath.Join(s.Dir, lockName), filelock.Options{Mode: 0o600})
	if busy, ok := errors.AsType[*filelock.BusyError](err); ok {
		return &openhands.Error{Kind: openhands.Busy, Msg: "Another program changes the installed " + s.Noun + "s; try again.", Err: busy}
	}
	if err != nil {
		return s.unwritable(err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	all, err := s.index()
	if err != nil {
		return err
	}
	if err := change(all); err != nil {
		return err
	}
	return all.write(s.Dir)
}

func (s *Store) missing(name string) error {
	noun := strings.ToUpper(s.Noun[:1]) + s.Noun[1:]
	return &openhands.Error{Kind: openhands.NotFound, Msg: fmt.Sprintf("%s '%s' is not installed", noun, name)}
}

func (s *Store) refused(kind openhands.Kind, what string, err error) error {
	return &openhands.Error{Kind: kind, Msg: fmt.Sprintf("The %s %s.", s.Noun, what), Err: err}
}

func (s *Store) invalid(err error) error {
	return s.refused(openhands.Invalid, "cannot be installed: "+err.Error(), err)
}

func (s *Store) unwritable(err error) error {
	return fmt.Errorf("install a %s in %s: %w", s.Noun, s.Dir, err)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
