// Package filelist lists the files below a directory for a person to choose
// from: without those that git ignores, and with limits, so that a directory of
// any size costs a moment. It follows no symbolic link and changes nothing.
package filelist

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/gitignore"
)

// Options are the limits of a list.
type Options struct {
	Hidden bool // also names that begin with a dot, but never .git
	Max    int  // how many names are listed
	Look   int  // how many entries are looked at
}

// List is the names of files and directories below a directory.
type List struct {
	// Names have slashes and are relative; those of directories end with a slash.
	// They are sorted: what is nearer to the directory comes first.
	Names []string
	Cut   bool // there are more
}

// Below lists what is below dir. Names with control characters, characters that
// change the direction of text, or invalid UTF-8 are left out. Directories that cannot be read are left out;
// the error is that of dir itself, or of ctx.
func Below(ctx context.Context, dir string, o Options) (List, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return List{}, err
	}
	defer func() { _ = root.Close() }() // It was only read.
	w := &walk{fs: root.FS(), Options: o}
	// Level by level: with a limit, what is near is in the list.
	level := []place{{".", with(nil, w.fs, ".", ".git/info/exclude")}}
	for len(level) > 0 && !w.list.Cut {
		var next []place
		for _, p := range level {
			if err := ctx.Err(); err != nil {
				return List{}, err
			}
			below, err := w.directory(p)
			if err != nil && p.dir == "." {
				return List{}, err
			}
			next = append(next, below...)
		}
		level = next
	}
	return w.list, nil
}

// place is a directory with the rules that are valid there.
type place struct {
	dir   string
	rules gitignore.Rules
}

type walk struct {
	Options

	fs     fs.FS
	looked int
	list   List
}

// directory lists the entries of a directory and returns those to walk next.
func (w *walk) directory(p place) (below []place, err error) {
	entries, err := fs.ReadDir(w.fs, p.dir)
	if err != nil {
		return nil, err
	}
	rules := with(p.rules, w.fs, p.dir, path.Join(p.dir, ".gitignore"))
	for _, e := range entries {
		if w.looked++; w.looked > w.Look || len(w.list.Names) >= w.Max {
			w.list.Cut = true
			return nil, nil
		}
		name := path.Join(p.dir, e.Name())
		if e.Name() == ".git" || !visible(e.Name()) || !w.Hidden && strings.HasPrefix(e.Name(), ".") || rules.Ignore(name, e.IsDir()) {
			continue
		}
		switch {
		case e.IsDir():
			w.list.Names = append(w.list.Names, name+"/")
			below = append(below, place{name, rules})
		case e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0:
			w.list.Names = append(w.list.Names, name)
		}
	}
	return below, nil
}

// visible reports whether a terminal shows all of a name: one with control
// characters or invalid UTF-8 could pretend to be another one.
func visible(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		const joiner, nonJoiner = 0x200d, 0x200c // languages and emojis need them
		return r != joiner && r != nonJoiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	})
}

// with adds the rules in a file, for what is below a directory; none if there is no such
// file.
func with(rules gitignore.Rules, files fs.FS, dir, name string) gitignore.Rules {
	f, err := files.Open(name)
	if err != nil {
		return rules
	}
	defer func() { _ = f.Close() }() // It was only read.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return rules
	}
	data, err := io.ReadAll(io.LimitReader(f, gitignore.MaxSize))
	if err != nil {
		return rules
	}
	return rules.With(dir, data)
}
