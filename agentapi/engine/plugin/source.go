package plugin

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/subpath"
)

// Code is what is wrong with a source, in OpenHands' words.
type Code string

// The codes.
const (
	MissingSecret Code = "missing_secret"
	InvalidSource Code = "invalid_source"
	Unavailable   Code = "source_unavailable"
	RefNotFound   Code = "ref_not_found"
	NoRepoPath    Code = "repo_path_not_found"
	InvalidPlugin Code = "invalid_plugin"
	Timeout       Code = "timeout"
)

// Error is why a source cannot be used, in words for people. It does not have the source,
// which may have a password in it.
type Error struct {
	Code Code
	Msg  string
}

// Error is the message.
func (e *Error) Error() string { return e.Msg }

// Sources finds plugins and skills on this machine; it fetches nothing from the network.
type Sources struct {
	Home  string // the user's home directory, for a source that begins with ~; may be empty
	Cache Cache
}

// Place is a directory with a plugin or a skill.
type Place struct {
	Dir string
	// Commit is what was checked out; empty for a directory that is used as it is.
	Commit string
}

// elsewhere are sources of OpenHands that are on the network.
var elsewhere = pattern.Of(`^(https?://|git://|ssh://|[\w.-]+@[\w.-]+:|github:[^/]+/[^/]+)`)

// Find is the directory of a source. A file URL of a repository and a path with a ref are
// checked out to the cache; a path without one is used as it is.
func (s Sources) Find(ctx context.Context, p control.Plugin) (Place, error) {
	return s.find(ctx, p, s.Cache.Checkout)
}

// Copy is Find for who makes a copy of its own: what is checked out is below a directory
// that the caller made.
func (s Sources) Copy(ctx context.Context, p control.Plugin, dir string) (Place, error) {
	return s.find(ctx, p, func(ctx context.Context, repository, ref string) (Place, error) {
		at := filepath.Join(dir, shortName(repository))
		if err := os.Mkdir(at, 0o700); err != nil {
			return Place{}, &Error{Unavailable, "its checkout cannot be made; check that the disk has free space"}
		}
		commit, err := git{dir: at, path: s.Cache.Path}.checkout(ctx, repository, ref)
		return Place{Dir: at, Commit: commit}, err
	})
}

func (s Sources) find(ctx context.Context, p control.Plugin, checkout func(ctx context.Context, repository, ref string) (Place, error)) (Place, error) {
	at, isURL, err := s.local(p.Source)
	if err != nil {
		return Place{}, err
	}
	below := filepath.FromSlash(p.Path)
	if below != "" && !filepath.IsLocal(below) {
		return Place{}, &Error{NoRepoPath, "its repo_path leads out of the source; give a path below it"}
	}
	place := Place{Dir: at}
	switch isRepository := IsRepository(at); {
	case p.Ref != "" && !isRepository:
		return Place{}, &Error{Unavailable, "it has a ref, and its source is not a git repository; give the directory of a repository, or no ref"}
	case p.Ref != "" || isURL && isRepository:
		if place, err = checkout(ctx, at, p.Ref); err != nil {
			return Place{}, err
		}
	}
	if below == "" {
		return place, nil
	}
	base, dir := subpath.Real(place.Dir), subpath.Real(filepath.Join(place.Dir, below))
	if !subpath.Within(base, dir) {
		return Place{}, &Error{NoRepoPath, "its repo_path is a link that leads out of the source; give the directory itself"}
	}
	place.Dir = dir
	return place, nil
}

// local is the absolute path of a source.
func (s Sources) local(source string) (at string, isURL bool, err error) {
	at, isURL = strings.CutPrefix(strings.TrimSpace(source), "file://")
	if rest, ok := strings.CutPrefix(at, "~"); ok && s.Home != "" && (rest == "" || rest[0] == '/') {
		at = filepath.Join(s.Home, rest)
	}
	switch {
	case filepath.IsAbs(at):
		return filepath.Clean(at), isURL, nil
	case elsewhere().MatchString(at):
		return "", false, &Error{Unavailable, "its source is on the network, from which ohgw fetches nothing; clone it, and give its directory"}
	}
	return "", false, &Error{InvalidSource, "its source is not an absolute path; clone it, and give its directory"}
}
