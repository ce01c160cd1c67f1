// Package subpath compares paths by their names: which is below which, and what is above
// one. What keeps agents and clients in their directories asks it, so there is one answer.
// The caller has resolved symbolic links; [Existing] resolves those of a path of which only
// the beginning exists.
package subpath

import (
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"syscall"
)

// Within reports whether a path is dir or below it. An empty dir holds nothing, and
// neither does a relative one an absolute path.
func Within(dir, at string) bool {
	_, ok := Rel(dir, at)
	return ok
}

// Rel is the name that a path within dir has there, "." for dir itself; false for a path
// that is not [Within] it.
func Rel(dir, at string) (string, bool) {
	if dir == "" || at == "" {
		return "", false
	}
	if filepath.Separator == '/' && filepath.IsAbs(dir) && filepath.IsAbs(at) {
		return below(filepath.Clean(dir), filepath.Clean(at))
	}
	rel, err := filepath.Rel(dir, at)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// below is [Rel] for clean absolute paths. It makes no string: most calls compare a path
// with many directories.
func below(dir, at string) (string, bool) {
	rest, ok := strings.CutPrefix(at, dir)
	switch {
	case ok && rest == "":
		return ".", true
	case ok && dir == "/":
		return rest, true
	case ok && rest[0] == '/':
		return rest[1:], true
	}
	return "", false
}

// Up is a path and the directories above it, up to the root.
func Up(at string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(at) && at != filepath.Dir(at) {
			at = filepath.Dir(at)
		}
	}
}

// Existing splits a path into the longest beginning that exists, without links, and the
// rest, which is "." where all of it exists. A link to what does not exist is in the rest.
func Existing(path string) (real, rest string, err error) {
	path, rest = filepath.Clean(path), "."
	for {
		real, err = filepath.EvalSymlinks(path)
		if err == nil {
			return real, rest, nil
		}
		up := filepath.Dir(path)
		if up == path || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return "", "", err
		}
		path, rest = up, filepath.Join(filepath.Base(path), rest)
	}
}

// Inside reports whether a path is within a directory when the links in both are
// resolved. A relative path, and one that cannot be read, is in no directory.
func Inside(dir, path string) bool {
	return filepath.IsAbs(path) && Within(resolved(dir), resolved(path))
}

// resolved is a path without links, as far as it exists; "" for one that cannot be read.
func resolved(path string) string {
	real, rest, err := Existing(path)
	if err != nil {
		return ""
	}
	return filepath.Join(real, rest)
}

// Real is a path without links; one that is not there stays as it is.
func Real(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
