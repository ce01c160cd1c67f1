package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/suggest"
)

// refusal is a call that was understood and not carried out. It is what the
// model is told.
type refusal struct{ msg string }

func (r *refusal) Error() string { return r.msg }

func refusef(format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...)}
}

// place is a file or directory that a call may use.
type place struct {
	path  string // as the model named it
	real  string // without links; the lock is for this name
	name  string // below the workspace, if confined
	files sandbox.Files
}

// find returns the place of a path. The file need not exist, its directory must.
func (e *Editor) find(path string) (*place, error) {
	if !filepath.IsAbs(path) {
		hint := filepath.Join(e.cfg.Dir, path)
		if path != "" && e.there(hint) {
			return nil, refusef("The path must be absolute. Did you mean %s?", hint)
		}
		return nil, refusef("The path must be absolute, for example %s.", filepath.Join(e.cfg.Dir, "file"))
	}
	path = filepath.Clean(path)
	files, root := e.filesAt(path), e.real
	if e.also(path) {
		root = e.cfg.Also
	}
	real, err := files.Real(path)
	if err != nil {
		return nil, e.cannotFind(path, err)
	}
	if !e.cfg.Confined {
		return &place{path: path, real: real, files: files}, nil
	}
	name, ok := subpath.Rel(root, real)
	if !ok {
		return nil, e.outside(path)
	}
	return &place{path: path, real: real, name: name, files: files}, nil
}

// filesAt is how the editor uses the file at a path.
func (e *Editor) filesAt(path string) sandbox.Files {
	if e.also(path) {
		return e.cfg.AlsoFiles
	}
	return e.files
}

// also reports whether a path is in the other directory that a confined editor may use.
func (e *Editor) also(path string) bool {
	return e.cfg.AlsoFiles != nil && subpath.Within(e.cfg.Also, path) && !subpath.Within(e.cfg.Dir, path)
}

// there reports whether something is at a path.
func (e *Editor) there(path string) bool {
	real, err := e.files.Real(path)
	if err == nil {
		_, err = e.files.Stat(real)
	}
	return err == nil || errors.Is(err, sandbox.ErrDangling)
}

func (e *Editor) outside(path string) error {
	return refusef("%s is outside the workspace %s, and this tool may only use files in there.", path, e.cfg.Dir)
}

// cannotFind says why a path leads nowhere. What is outside the workspace is
// not even said to be missing.
func (e *Editor) cannotFind(path string, err error) error {
	if e.cfg.Confined && !e.also(path) && !subpath.Within(e.cfg.Dir, path) && !subpath.Within(e.real, path) {
		return e.outside(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		dir := filepath.Dir(path)
		if hint := meant(e.filesAt(path), path, dir); hint != "" {
			return refusef("There is no directory %s.%s", dir, hint)
		}
		return refusef("There is no directory %s. Make it first, or correct the path.", dir)
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

// meant names the path that reads like one of those that are missing: models, too, type
// a name again as it looks. A name that cannot be typed so is spelled in JSON.
func meant(files sandbox.Files, paths ...string) string {
	for _, path := range paths {
		near := suggest.Path(path, func(dir string) []string {
			list, err := files.List(dir)
			if err != nil {
				return nil
			}
			names := make([]string, len(list))
			for i, entry := range list {
				names[i] = entry.Name()
			}
			return names
		})
		if near != "" {
			return fmt.Sprintf(" Did you mean %s? It differs in characters that look alike; in JSON it is %s.", near, suggest.Escaped(near))
		}
	}
	return ""
}

// missing says that nothing is at a place.
func (p *place) missing() error {
	path := p.path
	if !filepath.IsAbs(path) { // a patch names files below the workspace
		path = p.real
	}
	return refusef("%s does not exist.%s", p.path, meant(p.files, path))
}

// readable says in one sentence why something cannot be done with a file.
func readable(path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	} else if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		err = linkErr.Err
	}
	size, tooBig := errors.AsType[*sandbox.SizeError](err)
	switch {
	case tooBig:
		return tooLarge(path, size.Size)
	case errors.Is(err, sandbox.ErrNotRegular):
		return refusef("%s is not a regular file.", path)
	case errors.Is(err, fs.ErrPermission):
		return refusef("%s: no permission.", path)
	case errors.Is(err, fs.ErrNotExist):
		return refusef("%s does not exist.", path)
	}
	return refusef("%s: %s.", path, strings.TrimSuffix(err.Error(), "."))
}
