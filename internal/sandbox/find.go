package sandbox

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Find looks a program up: of a name without a slash, what the PATH of env
// (NAME=value) finds, or that of ohgw where env is nil. Directories of PATH that are
// not absolute do not count. The error names the program once.
func Find(name string, env []string) (string, error) {
	switch {
	case filepath.IsAbs(name):
		path, err := exec.LookPath(name)
		if missing, ok := errors.AsType[*fs.PathError](err); ok {
			return path, missing
		}
		return path, err
	case env == nil || runtime.GOOS == "windows":
		return exec.LookPath(name)
	case strings.ContainsRune(name, '/'):
		return name, nil // below the directory in which the program starts
	}
	for _, dir := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// variable is the value of a variable, the last one if there are several.
func variable(env []string, name string) (value string) {
	for _, entry := range env {
		if n, v, ok := strings.Cut(entry, "="); ok && n == name {
			value = v
		}
	}
	return value
}
