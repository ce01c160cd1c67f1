package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// found is a file that matches.
type found struct {
	path    string // absolute
	changed time.Time
}

// walker goes through the directories below one.
type walker struct {
	files sandbox.Files
	root  string
	// match reports whether a regular file is wanted, given by its path below root
	// with forward slashes.
	match func(name string, info fs.FileInfo) (bool, error)
	// hidden enters hidden directories and offers hidden files, .git excepted.
	hidden bool
	// leave is what is left out of what git leaves out.
	leave leave

	seen int
	all  []found
}

var errTooMany = errors.New("too many files")

// walk returns the files that match, the newest first. cut says why it is not all.
func (w *walker) walk(ctx context.Context) (all []found, cut string, err error) {
	bounded, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	var git checkout
	if w.leave != leaveNothing {
		git = w.above()
	}
	err = w.dir(bounded, "", git)
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case errors.Is(err, errTooMany):
		cut, err = fmt.Sprintf("the search ended after %d files and directories", maxEntries), nil
	case errors.Is(err, context.DeadlineExceeded):
		cut, err = fmt.Sprintf("the search ended after %.0f seconds", maxTime.Seconds()), nil
	}
	slices.SortFunc(w.all, func(a, b found) int {
		return cmp.Or(b.changed.Compare(a.changed), strings.Compare(a.path, b.path))
	})
	return w.all, cut, err
}

// dir goes through one directory. One that cannot be read is left out, but not the
// first.
func (w *walker) dir(ctx context.Context, name string, git checkout) error {
	entries, err := w.files.List(filepath.Join(w.root, filepath.FromSlash(name)))
	if err != nil {
		if name == "" {
			return err
		}
		return ctx.Err()
	}
	if w.leave != leaveNothing {
		git = w.enter(name, entries, git)
	}
	for _, entry := range entries {
		if w.seen++; w.seen > maxEntries {
			return errTooMany
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".") && (!w.hidden || strings.EqualFold(entry.Name(), ".git")) {
			continue
		}
		below := path.Join(name, entry.Name())
		if (entry.IsDir() || w.leave == leaveAll) && git.leavesOut(below, entry.IsDir()) {
			continue
		}
		if err := w.entry(ctx, below, entry, git); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(ctx context.Context, name string, entry fs.DirEntry, git checkout) error {
	if entry.IsDir() {
		return w.dir(ctx, name, git)
	}
	if !entry.Type().IsRegular() {
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return nil //nolint:nilerr // it is gone
	}
	ok, err := w.match(name, info)
	if ok {
		w.all = append(w.all, found{filepath.Join(w.root, filepath.FromSlash(name)), info.ModTime()})
	}
	return err
}

// namesHidden reports whether a pattern is about names that begin with a dot.
func namesHidden(pattern string) bool {
	pattern = strings.TrimPrefix(pattern, "./")
	return strings.HasPrefix(pattern, ".") || strings.Contains(pattern, "/.") || strings.Contains(pattern, "{.") || strings.Contains(pattern, ",.")
}

// list writes the result for the model and the paths in it.
func list(all []found, none, some, cut string) (text string, paths []string, truncated bool) {
	paths = make([]string, 0, min(len(all), maxFiles))
	for _, f := range all[:min(len(all), maxFiles)] {
		paths = append(paths, f.path)
	}
	text = none
	if len(all) > 0 {
		text = some + "\n" + strings.Join(paths, "\n")
	}
	if len(all) > maxFiles {
		text += fmt.Sprintf("\n[These are the newest %d of %d files: make the pattern or the path narrower.]", maxFiles, len(all))
	}
	if cut != "" {
		text += "\n[Not everything was searched: " + cut + ". Give a path with fewer files.]"
	}
	return text, paths, len(all) > maxFiles || cut != ""
}
