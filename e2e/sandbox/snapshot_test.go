//go:build e2e && linux

package sandbox_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// snapshot is what a tree is: one line for each name. Two are the same if nothing was
// changed: names, kinds, modes, owners, contents, extended attributes, times.
type snapshot map[string]string

// take looks at the trees of the user. What ohgw itself writes is left out, and of
// the workspace everything but git's own files.
func (w *world) take() snapshot {
	w.t.Helper()
	s := snapshot{}
	for _, tree := range []string{w.home, w.beside} {
		err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path == w.app, path == w.at(".local/state/ohgw/sandbox"):
				return fs.SkipDir
			}
			line, err := describe(path, d)
			s[path] = line
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return s
}

func describe(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.New("no stat")
	}
	content := ""
	switch {
	case info.Mode().IsRegular():
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		content = fmt.Sprintf("%x", sha256.Sum256(data))
	case info.Mode()&fs.ModeSymlink != 0:
		if content, err = os.Readlink(path); err != nil {
			return "", err
		}
	}
	names := make([]byte, 1024)
	n, err := unix.Llistxattr(path, names)
	if err != nil && !errors.Is(err, unix.ENOTSUP) {
		return "", err
	}
	return fmt.Sprintf("%v %d:%d links %d %s %q modified %d changed %d", info.Mode(), stat.Uid, stat.Gid, stat.Nlink, content,
		names[:max(n, 0)], stat.Mtim.Nano(), stat.Ctim.Nano()), nil
}

// changed are the paths where two snapshots differ.
func (s snapshot) changed(later snapshot) []string {
	var paths []string
	for path := range maps.Keys(later) {
		if s[path] != later[path] {
			paths = append(paths, path)
		}
	}
	for path := range maps.Keys(s) {
		if _, ok := later[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
