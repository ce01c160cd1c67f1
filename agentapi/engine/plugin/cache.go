package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/filelock"
)

// Cache has checkouts of repositories where OpenHands keeps them, too. A checkout never
// changes. Beside each that ohgw has made is a directory with a file for each conversation
// that uses it; with the last of them the checkout goes. One that OpenHands has made stays.
type Cache struct {
	Dir  string // absolute; empty: nothing can be checked out
	Path string // where git is, as in the variable PATH
	Now  func() time.Time
	// For is the directory of the conversation that checkouts are made for; empty: none,
	// and they stay until there are too many of them.
	For string
}

// Bounds of the cache, and of a checkout.
const (
	maxUnused = 16               // checkouts that no conversation uses
	settling  = 10 * time.Minute // in which a conversation begins that uses a checkout
	maxFiles  = 50_000
	maxBytes  = 1 << 30
)

const (
	refsDir  = "resolved-refs" // OpenHands' name
	usersExt = ".ohgw-users"
	lockName = ".ohgw.lock"
)

// CacheIn is where the cache is in OpenHands' directory of the user.
func CacheIn(base string) string { return filepath.Join(base, "cache", "plugins") }

// Checkout has the files of a commit in a directory of the cache, and makes that if need
// be.
func (c Cache) Checkout(ctx context.Context, repository, ref string) (Place, error) {
	if c.Dir == "" {
		return Place{}, &Error{Unavailable, "there is no directory to check it out to; give its directory without a ref"}
	}
	noPlace := &Error{Unavailable, fmt.Sprintf("its place in %s cannot be made", c.Dir)}
	if os.MkdirAll(c.Dir, 0o700) != nil {
		return Place{}, noPlace
	}
	dir, err := os.MkdirTemp(c.Dir, ".new-")
	if err != nil {
		return Place{}, noPlace
	}
	defer os.RemoveAll(dir)
	g := git{dir: dir, path: c.Path}
	commit, err := g.prepare(ctx, repository, ref)
	if err != nil {
		return Place{}, err
	}
	target := filepath.Join(c.Dir, cacheName(repository), refsDir, commit)
	if c.kept(ctx, target) {
		return Place{Dir: target, Commit: commit}, nil
	}
	if err := g.files(ctx, commit); err != nil {
		return Place{}, err
	}
	if c.keep(ctx, dir, target) != nil {
		return Place{}, noPlace
	}
	return Place{Dir: target, Commit: commit}, nil
}

// kept reports whether a checkout is there, and has it stay for a while.
func (c Cache) kept(ctx context.Context, target string) bool {
	there := false
	_ = c.locked(ctx, func() error { // without the lock it is made again
		if there = isOwnDir(target); there {
			return c.touch(target + usersExt)
		}
		return nil
	})
	return there
}

// touch has a checkout of ohgw count as new, and as one that the conversation uses.
func (c Cache) touch(users string) error {
	if !isOwnDir(users) {
		return nil // it is OpenHands'
	}
	if c.For != "" {
		return os.WriteFile(filepath.Join(users, filepath.Base(c.For)), []byte(c.For), 0o600)
	}
	return os.Chtimes(users, c.Now(), c.Now())
}

// keep moves a checkout to its place.
func (c Cache) keep(ctx context.Context, dir, target string) error {
	return c.locked(ctx, func() error {
		if isOwnDir(target) { // another has made it meanwhile
			return c.touch(target + usersExt)
		}
		if err := os.MkdirAll(target+usersExt, 0o700); err != nil {
			return err
		}
		if err := errors.Join(c.touch(target+usersExt), os.Rename(dir, target)); err != nil {
			return err
		}
		c.sweep()
		return nil
	})
}

func (c Cache) locked(ctx context.Context, do func() error) (err error) {
	lock, err := filelock.Acquire(ctx, filepath.Join(c.Dir, lockName), filelock.Options{Mode: 0o600})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return do()
}

// Share notes that a conversation uses what another one does, of which it is a copy or a
// part. Both are directories.
func (c Cache) Share(ctx context.Context, from, conversation string) error {
	return c.each(ctx, from, func(mark string) error {
		c.For = conversation
		return c.touch(filepath.Dir(mark))
	})
}

// Release removes the checkouts that only this conversation, a directory, uses.
func (c Cache) Release(ctx context.Context, conversation string) error {
	return c.each(ctx, conversation, func(mark string) error {
		err := os.Remove(mark)
		if users := filepath.Dir(mark); isEmpty(users) {
			err = errors.Join(err, c.remove(users))
		}
		return err
	})
}

// each calls do with each file that notes a conversation.
func (c Cache) each(ctx context.Context, conversation string, do func(mark string) error) error {
	if c.Dir == "" {
		return nil
	}
	marks, err := filepath.Glob(filepath.Join(c.Dir, "*", refsDir, "*"+usersExt, filepath.Base(conversation)))
	if err != nil || len(marks) == 0 {
		return err
	}
	return c.locked(ctx, func() error {
		var failed error
		for _, mark := range marks {
			failed = errors.Join(failed, do(mark))
		}
		return failed
	})
}

// sweep removes what no conversation uses beyond the newest few, and what was left behind.
func (c Cache) sweep() {
	all, _ := filepath.Glob(filepath.Join(c.Dir, "*", refsDir, "*"+usersExt)) // the pattern is valid
	var unused []aged
	for _, users := range all {
		marks, err := os.ReadDir(users)
		if err != nil {
			continue
		}
		left := len(marks)
		for _, mark := range marks {
			if c.isStale(filepath.Join(users, mark.Name())) && os.Remove(filepath.Join(users, mark.Name())) == nil {
				left--
			}
		}
		if info, err := os.Stat(users); err == nil && left == 0 {
			unused = append(unused, aged{users, info.ModTime()})
		}
	}
	slices.SortFunc(unused, func(a, b aged) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.path, b.path)) })
	for _, old := range unused[min(len(unused), maxUnused):] {
		if c.Now().Sub(old.at) > settling {
			_ = c.remove(old.path) // the next time, then
		}
	}
	left, _ := filepath.Glob(filepath.Join(c.Dir, ".new-*")) // the pattern is valid
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && c.Now().Sub(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(dir) // the next time, then
		}
	}
}

type aged struct {
	path string
	at   time.Time
}

// isStale reports whether the conversation of a file is gone.
func (c Cache) isStale(mark string) bool {
	info, err := os.Stat(mark)
	if err != nil || c.Now().Sub(info.ModTime()) < settling {
		return false
	}
	dir, err := os.ReadFile(mark)
	if err != nil {
		return false
	}
	_, err = os.Lstat(string(dir))
	return errors.Is(err, fs.ErrNotExist)
}

// remove removes a checkout by the directory of its users. What is only half gone is
// never at its place.
func (c Cache) remove(users string) error {
	target := strings.TrimSuffix(users, usersExt)
	old, err := os.MkdirTemp(c.Dir, ".new-")
	if err != nil {
		return err
	}
	if err := os.Rename(target, filepath.Join(old, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.Remove(old))
	}
	err = errors.Join(os.Remove(users), os.RemoveAll(old))
	_ = os.Remove(filepath.Dir(users))               // which may have others
	_ = os.Remove(filepath.Dir(filepath.Dir(users))) // the same
	return err
}

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// measure refuses a checkout that is too large.
func measure(dir string) error {
	files, size := 0, int64(0)
	return filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return &Error{Unavailable, "its checkout cannot be read"}
		}
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
		if files++; files > maxFiles || size > maxBytes {
			return &Error{Unavailable, fmt.Sprintf("its commit has more than %d files or %d MiB; put it into a smaller repository", maxFiles, maxBytes>>20)}
		}
		return nil
	})
}
