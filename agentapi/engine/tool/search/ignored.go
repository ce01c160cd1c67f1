package search

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/gitignore"
)

// leave is what a search leaves out of what git leaves out, as ripgrep does.
type leave int

const (
	leaveNothing leave = iota
	leaveDirs          // directories, and not files: these were asked for by their names
	leaveAll
)

// checkout is the checkout of git that a directory is in. The zero value leaves nothing out.
type checkout struct {
	is    bool
	up    string // the root of the search in a checkout that is above it
	down  string // the checkout in the root of the search
	rules gitignore.Rules
}

// leavesOut reports whether git leaves out a name, which is relative to the root of the
// search.
func (c checkout) leavesOut(name string, dir bool) bool {
	return c.is && c.rules.Ignore(c.named(name), dir)
}

// named returns the name that something below the root of the search has in the checkout.
func (c checkout) named(name string) string {
	if c.down != "" {
		name = strings.TrimPrefix(strings.TrimPrefix(name, c.down), "/")
	}
	return path.Join(c.up, name)
}

// above finds the checkout that the root of the search is in, with the rules of the
// directories above the root.
func (w *walker) above() checkout {
	var below []string
	for dir := w.root; ; {
		if _, err := w.files.Stat(filepath.Join(dir, ".git")); err == nil {
			c := checkout{is: true, up: path.Join(below...)}
			c.rules = w.rules(nil, "", filepath.Join(dir, ".git", "info", "exclude"))
			for i, name := range below {
				c.rules = w.rules(c.rules, path.Join(below[:i]...), filepath.Join(dir, ".gitignore"))
				dir = filepath.Join(dir, name)
			}
			return c
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return checkout{}
		}
		below = append([]string{filepath.Base(dir)}, below...)
		dir = parent
	}
}

// enter returns the checkout of a directory below the root of the search: a new one, or
// the one that it is in, with the rules of the directory.
func (w *walker) enter(name string, entries []fs.DirEntry, c checkout) checkout {
	has := func(file string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == file })
	}
	dir := filepath.Join(w.root, filepath.FromSlash(name))
	if name != "" && has(".git") {
		c = checkout{is: true, down: name, rules: w.rules(nil, "", filepath.Join(dir, ".git", "info", "exclude"))}
	}
	if c.is && has(".gitignore") {
		c.rules = w.rules(c.rules, c.named(name), filepath.Join(dir, ".gitignore"))
	}
	return c
}

// rules adds the rules in a file to others, for what is below a directory of the checkout.
// A file that cannot be read has none.
func (w *walker) rules(rules gitignore.Rules, dir, file string) gitignore.Rules {
	data, _, err := w.files.Read(file, gitignore.MaxSize)
	if err != nil {
		return rules
	}
	return rules.With(dir, data)
}
