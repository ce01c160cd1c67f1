package definition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ohgw/ohgw/internal/sandbox"
)

const (
	maxFile  = 1 << 20 // bytes of a file
	maxFiles = 500     // definitions of a directory
)

type loader struct {
	parse    func(path string, data []byte) (Definition, []Problem)
	noun     string // for what the files define
	found    []Definition
	names    map[string]string // to the path of the definition that counts
	problems []Problem
}

func (l *loader) problem(p Problem) { l.problems = append(l.problems, p) }

// directory reads the definitions of one directory.
func (l *loader) directory(ctx context.Context, d Dir) {
	rootPath, place := d.Root, d.Place
	if d.User { // the user's own links may lead out of the home directory
		rootPath, place = d.Path(), "."
	}
	root, err := os.OpenRoot(rootPath)
	if err != nil {
		l.unreadable(d.Path(), err)
		return
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), path.Clean(place))
	if err != nil {
		l.unreadable(d.Path(), err)
		return
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() || !strings.EqualFold(path.Ext(e.Name()), ".md") || e.Name() == "README.md" || e.Name() == "readme.md"
	})
	if len(entries) > maxFiles {
		l.problem(Problem{
			Path: d.Path(), Msg: fmt.Sprintf("the directory has %d definitions; only the first %d are read", len(entries), maxFiles),
			Hint: "move definitions that are not needed to another directory",
		})
		entries = entries[:maxFiles]
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return
		}
		l.file(d, root, path.Join(place, e.Name()))
	}
}

// unreadable notes a directory that cannot be read; most do not exist.
func (l *loader) unreadable(dir string, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return
	}
	l.problem(Problem{Path: dir, Msg: "the directory cannot be read: " + cause(err), Hint: "make the directory readable: chmod u+rx " + dir, Unused: true})
}

// file reads the definition name below root, which is the directory d or holds it.
func (l *loader) file(d Dir, root *os.Root, name string) {
	full := filepath.Join(d.Path(), path.Base(name))
	data, err := read(d, root, name)
	if err != nil {
		l.problem(unread(full, err))
		return
	}
	def, problems := l.parse(full, data)
	l.problems = append(l.problems, problems...)
	if slices.ContainsFunc(problems, func(p Problem) bool { return p.Unused }) {
		return
	}
	if first, taken := l.names[def.Name]; taken {
		l.problem(Problem{
			Path: full, Line: def.Line("name"), Agent: def.Name, Unused: true,
			Msg:  fmt.Sprintf("another %s is named %q and comes first: %s", l.noun, def.Name, first),
			Hint: "give one of them another name",
		})
		return
	}
	def.User = d.User
	l.names[def.Name] = full
	l.found = append(l.found, def)
}

var errSize = fmt.Errorf("the file is larger than %d bytes", maxFile)

func read(d Dir, root *os.Root, name string) ([]byte, error) {
	if d.User {
		if target, err := filepath.EvalSymlinks(filepath.Join(d.Path(), name)); err == nil {
			outside, err := os.OpenRoot(filepath.Dir(target))
			if err != nil {
				return nil, err
			}
			defer outside.Close()
			root, name = outside, filepath.Base(target)
		}
	}
	file, info, err := sandbox.OpenRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > maxFile {
		return nil, errSize
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errSize
	}
	return data, err
}

// unread is the problem of a file that cannot be read.
func unread(file string, err error) Problem {
	p := Problem{Path: file, Unused: true, Msg: "the file cannot be read: " + cause(err), Hint: "make the file readable: chmod u+r " + file}
	switch {
	case errors.Is(err, sandbox.ErrNotRegular):
		p.Msg, p.Hint = "it is not a regular file", "replace it with a Markdown file"
	case errors.Is(err, errSize):
		p.Msg, p.Hint = err.Error(), "shorten the definition; move long instructions to a skill"
	case errors.Is(err, fs.ErrNotExist):
		p.Msg, p.Hint = "the file is a link to nothing", "remove the link, or repair it"
	case strings.Contains(cause(err), "escapes"):
		p.Msg, p.Hint = "the file is a link that leads out of the project", "copy the file into the project"
	}
	return p
}

// cause is an error without the path, which the problem names.
func cause(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}
