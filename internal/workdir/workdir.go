// Package workdir reads the directories that people choose for an agent's work.
// It creates, changes and removes nothing.
package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Any stands for every directory, as the only one in a list of those that may be chosen.
const Any = "any"

// Why a directory cannot be chosen. Other errors are of the file system.
var (
	ErrRelative = errors.New("not an absolute path")
	ErrNotDir   = errors.New("not a directory")
)

// Resolve returns the directory that path names, without symbolic links. The
// path is absolute. ErrRelative, ErrNotDir, [fs.ErrNotExist], [fs.ErrPermission].
func Resolve(path string) (string, error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("resolve %q: %w", path, ErrRelative)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("resolve directory: %w", err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("resolve directory: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("resolve %q: %w", path, ErrNotDir)
	}
	return real, nil
}

// Same reports whether two paths name the same directory. A path that cannot be
// resolved is compared as it is written.
func Same(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// NotDir reports whether err says that a path names something else.
func NotDir(err error) bool { return errors.Is(err, ErrNotDir) || errors.Is(err, syscall.ENOTDIR) }

// Missing reports whether err says that there is no such directory.
func Missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || NotDir(err) }
