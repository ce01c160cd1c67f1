package kit

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/suggest"
	"github.com/ohgw/ohgw/internal/workdir"
)

// Expand is a path as a shell would have given it: ~ is the home directory.
func (a *App) Expand(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && !os.IsPathSeparator(rest[0]) {
		return path, nil
	}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return "", err
	}
	return filepath.Join(dirs.Home, rest), nil
}

// Absolute is a path of the command line, from the working directory on.
func (a *App) Absolute(path string) (string, error) {
	path, err := a.Expand(path)
	if err != nil || filepath.IsAbs(path) {
		return path, err
	}
	cwd, err := a.Getwd()
	if err != nil {
		return "", fault.New("cannot find the current directory", "use an absolute path", err)
	}
	return filepath.Join(cwd, path), nil
}

// Meant is a hint about a path that cannot be opened: the one that is there and reads
// like it, or what else is to do.
func Meant(path, otherwise string) string {
	if abs, err := filepath.Abs(path); err == nil && !exists(path) {
		if near := suggest.PathHere(abs); near != "" {
			return "did you mean " + shellword.Of(near) + "? It differs in characters that look alike"
		}
	}
	return otherwise
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Directory is a directory of the command line, without symbolic links. It has
// to exist.
func Directory(path string) (string, error) {
	dir, err := workdir.Resolve(path)
	switch {
	case err == nil:
		return dir, nil
	case workdir.NotDir(err):
		return "", fault.NewUsage(path+" is not a directory", "use a directory")
	case workdir.Missing(err):
		return "", fault.NewUsage("there is no directory "+path, Meant(path, "create it: mkdir -p "+shellword.Of(path)))
	}
	return "", fault.New("the directory "+path+" cannot be used", "check its permissions: ls -ld "+path, err)
}
