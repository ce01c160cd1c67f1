package boxes

import (
	"os"
	"path/filepath"
)

// privateTrees are where system services keep what only root may read, and how deep
// that is looked for.
var privateTrees = []struct {
	at    string
	depth int
}{{"/etc", 6}, {"/opt", 2}, {"/srv", 2}, {"/usr/local/etc", 4}, {"/var", 3}}

// maxPrivate bounds how many entries are looked at. Directories beyond it are hidden
// whole.
const maxPrivate = 20_000

// private are the files and directories of a tree that not everybody may read. Root
// in a box sees what any user of the machine sees: it has no capabilities, but most
// keys belong to root. Symbolic links count by what is behind them, which has a path
// of its own.
func private(tree string, depth int, looked *int) []string {
	entries, err := os.ReadDir(tree)
	if err != nil {
		return nil // There is none, or it is not readable inside either.
	}
	var found []string
	for _, entry := range entries {
		at := filepath.Join(tree, entry.Name())
		info, err := entry.Info()
		if err != nil {
			continue // It was removed.
		}
		*looked++
		mode := info.Mode()
		switch {
		case mode.IsRegular() && mode&0o004 == 0:
			found = append(found, at)
		case !mode.IsDir():
		case mode&0o001 == 0 || *looked > maxPrivate:
			found = append(found, at)
		case depth > 1:
			found = append(found, private(at, depth-1, looked)...)
		}
	}
	return found
}
