package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// refusal is a call that was understood and not carried out. It is what the
// model is told.
type refusal struct{ msg string }

func (r *refusal) Error() string { return r.msg }

func refusef(format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...)}
}

// place is a file or directory that a call may use. All access goes through
// root, which no name and no link leaves, whatever is changed meanwhile.
type place struct {
	path string // as the model named it
	real string // without links; the lock is for this name
	root *os.Root
	name string // below root
	// close is nil if root belongs to somebody else.
	close func() error
}

func (p *place) release() {
	if p.close != nil {
		_ = p.close()
	}
}

// find returns the place of a path. The file need not exist, its directory must.
func (e *Editor) find(path string) (*place, error) {
	if !filepath.IsAbs(path) {
		hint := filepath.Join(e.cfg.Dir, path)
		if _, err := os.Lstat(hint); path != "" && err == nil {
			return nil, refusef("The path must be absolute. Did you mean %s?", hint)
		}
		return nil, refusef("The path must be absolute, for example %s.", filepath.Join(e.cfg.Dir, "file"))
	}
	path = filepath.Clean(path)
	real, err := resolve(path)
	if err != nil {
		return nil, e.cannotFind(path, err)
	}
	if e.root == nil {
		return open(path, real)
	}
	name, err := filepath.Rel(e.real, real)
	if err != nil || !filepath.IsLocal(name) {
		return nil, e.outside(path)
	}
	return &place{path: path, real: real, root: e.root, name: name}, nil
}

func (e *Editor) outside(path string) error {
	return refusef("%s is outside the workspace %s, and this tool may only use files in there.", path, e.cfg.Dir)
}

// open returns a place that may be anywhere: its root is its directory.
func open(path, real string) (*place, error) {
	dir, name := filepath.Split(real)
	if name == "" {
		name = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, readable(path, err)
	}
	return &place{path: path, real: real, root: root, name: name, close: root.Close}, nil
}

// resolve follows all links in a path whose last element may be missing.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", errDangling
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

var errDangling = errors.New("it is a symbolic link to something that does not exist")

// cannotFind says why a path leads nowhere. What is outside the workspace is
// not even said to be missing.
func (e *Editor) cannotFind(path string, err error) error {
	if e.root != nil && !inside(e.cfg.Dir, path) && !inside(e.real, path) {
		return e.outside(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return refusef("There is no directory %s. Make it first, or correct the path.", filepath.Dir(path))
	}
	return readable(path, err)
}

// ofGit reports whether a path below the workspace is git's own: hooks and
// configuration in there make git run programs outside of every confinement.
// Some file systems do not tell ".GIT" from ".git".
func ofGit(name string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(name), "/"), func(part string) bool {
		return strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1")
	})
}

func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// readable says in one sentence why something cannot be done with a file.
func readable(path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	} else if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		err = linkErr.Err
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return refusef("%s: no permission.", path)
	case errors.Is(err, fs.ErrNotExist):
		return refusef("%s does not exist.", path)
	}
	return refusef("%s: %s.", path, strings.TrimSuffix(err.Error(), "."))
}
