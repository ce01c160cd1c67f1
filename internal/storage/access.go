package storage

import (
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

// Access is the command that gives the user the rights for a path: a mode where
// the file or directory is the user's own, the owner where it is not. A path
// that cannot be looked at, or is missing, stands for the nearest directory
// above it that can be.
func Access(path string, stat func(string) (fs.FileInfo, error), mine func(fs.FileInfo) bool) string {
	info, err := stat(path)
	for err != nil && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		info, err = stat(path)
	}
	switch {
	case err != nil || !mine(info):
	case !info.IsDir() && info.Mode().Perm()&0o600 != 0o600:
		return "chmod u+rw " + word(path)
	case info.IsDir() && info.Mode().Perm()&0o700 != 0o700:
		return "chmod u+rwx " + word(path)
	}
	return "sudo chown $USER " + word(path)
}

// word is a path as a shell reads it as one word: that of macOS has a space.
func word(path string) string {
	if strings.Contains(path, " ") {
		return strconv.Quote(path)
	}
	return path
}
