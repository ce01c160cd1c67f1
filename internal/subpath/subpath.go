// Package subpath says whether a path is below another one. What keeps agents and clients
// in their directories asks it, so there is one answer.
package subpath

import "path/filepath"

// Within reports whether a path is dir or below it, by their names: the caller has resolved
// symbolic links. An empty dir holds nothing, and neither does a relative one an absolute
// path.
func Within(dir, at string) bool {
	if dir == "" || at == "" {
		return false
	}
	rel, err := filepath.Rel(dir, at)
	return err == nil && filepath.IsLocal(rel)
}
