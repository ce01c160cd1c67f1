package storage

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/shellword"
)

// Access returns the command that gives the user the rights for a path: a mode where the
// file or directory is the user's own, the owner where it is not. A path that cannot be
// looked at, or is missing, stands for the nearest directory above it that can be.
func Access(path string, stat func(string) (fs.FileInfo, error), mine func(fs.FileInfo) bool) string {
	info, err := stat(path)
	for err != nil && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		info, err = stat(path)
	}
	switch {
	case err != nil || !mine(info):
	case !info.IsDir() && info.Mode().Perm()&0o600 != 0o600:
		return "chmod u+rw " + shellword.Of(path)
	case info.IsDir() && info.Mode().Perm()&0o700 != 0o700:
		return "chmod u+rwx " + shellword.Of(path)
	}
	return "sudo chown $USER " + shellword.Of(path)
}

// Foreign are those of some directories that belong to another user, or have an entry that
// does: after one "sudo ohgw", say.
func Foreign(dirs []string, mine func(fs.FileInfo) bool) (list []string) {
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && (!mine(info) || hasForeign(dir, mine)) {
			list = append(list, dir)
		}
	}
	return list
}

func hasForeign(dir string, mine func(fs.FileInfo) bool) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		info, err := e.Info()
		return err == nil && !mine(info)
	})
}

// Reclaim is the command that gives directories, with all that is in them, to the user.
func Reclaim(dirs []string) string {
	words := make([]string, len(dirs))
	for i, dir := range dirs {
		words[i] = shellword.Of(dir)
	}
	return "sudo chown -R $USER " + strings.Join(words, " ")
}
