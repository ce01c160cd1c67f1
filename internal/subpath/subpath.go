// Package subpath compares paths by their names: which is below which, and what is above
// one. What keeps agents and clients in their directories asks it, so there is one answer.
// The caller has resolved symbolic links.
package subpath

import (
	"iter"
	"path/filepath"
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
	rel, err := filepath.Rel(dir, at)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// Up is a path and the directories above it, up to the root.
func Up(at string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(at) && at != filepath.Dir(at) {
			at = filepath.Dir(at)
		}
	}
}
