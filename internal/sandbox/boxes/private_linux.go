package boxes

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
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

// private finds the files and directories of a tree that not everybody may read. Root
// in a box sees what any user of the machine sees: it has no capabilities, but most
// keys belong to root. Symbolic links count by what is behind them, which has a path
// of its own.
func private(tree string, depth int, looked *int) (found []string) {
	dir, err := os.Open(tree)
	if err != nil {
		return nil // There is none, or it is not readable inside either.
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(-1) // in no order
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		*looked++
		var stat unix.Stat_t
		if entry.Type()&fs.ModeSymlink != 0 || unix.Fstatat(int(dir.Fd()), entry.Name(), &stat, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue // or it was removed
		}
		switch kind := stat.Mode & unix.S_IFMT; {
		case kind == unix.S_IFREG && stat.Mode&unix.S_IROTH == 0:
			found = append(found, filepath.Join(tree, entry.Name()))
		case kind != unix.S_IFDIR:
		case stat.Mode&unix.S_IXOTH == 0 || *looked > maxPrivate:
			found = append(found, filepath.Join(tree, entry.Name()))
		case depth > 1:
			found = append(found, private(filepath.Join(tree, entry.Name()), depth-1, looked)...)
		}
	}
	return found
}
