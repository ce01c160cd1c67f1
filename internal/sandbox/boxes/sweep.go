package boxes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// LeftOver reports which home directories are no longer in use.
type LeftOver struct {
	// Gone says of a workspace that it is gone for good.
	Gone func(workspace string) bool
	// Used lists the workspaces that something is kept for: conversations, grants. It is
	// asked only if there are old home directories whose workspace is not known, as ohgw
	// made them before it wrote it down.
	Used func() (workspaces []string, err error)
	// Before is when such a home directory was used last, if it may be removed.
	Before time.Time
}

// SweepHomes removes the home directories of workspaces that are gone for good. Of those
// whose workspace is not known, it removes the ones in which nothing is new and which no
// workspace has that is used. Those in use stay.
func SweepHomes(ctx context.Context, state string, left LeftOver) (removed int, err error) {
	base := filepath.Join(state, "sandbox")
	entries, err := os.ReadDir(base)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return 0, err
	}
	remove, unknown := left.among(ctx, base, entries)
	var errs []error
	if len(unknown) > 0 && ctx.Err() == nil {
		unused, err := left.unused(unknown)
		remove, errs = append(remove, unused...), append(errs, err)
	}
	for _, dir := range remove {
		if ctx.Err() != nil {
			break
		}
		switch err := removeHome(dir); {
		case err == nil:
			removed++
		case !errors.Is(err, ErrHomeInUse):
			errs = append(errs, err)
		}
	}
	return removed, errors.Join(errs...)
}

// among finds the directories whose workspace is gone, and old ones whose workspace is not
// known.
func (l LeftOver) among(ctx context.Context, base string, entries []fs.DirEntry) (gone, unknown []string) {
	for _, entry := range entries {
		if ctx.Err() != nil {
			break
		}
		dir := filepath.Join(base, entry.Name())
		data, err := os.ReadFile(filepath.Join(dir, ownerName))
		switch workspace := string(data); {
		case err == nil && entry.Name() == keyOf(workspace) && l.Gone(workspace):
			gone = append(gone, dir)
		case errors.Is(err, fs.ErrNotExist) && isKey(entry.Name()) && oldHome(dir, l.Before):
			unknown = append(unknown, dir)
		}
	}
	return gone, unknown
}

// unused finds those of home directories that no workspace has. What the others belong to
// is written down.
func (l LeftOver) unused(dirs []string) (unused []string, err error) {
	workspaces, err := l.Used()
	if err != nil {
		return nil, fmt.Errorf("list the workspaces that are used: %w", err)
	}
	owners := map[string]string{}
	for _, workspace := range workspaces {
		if real, err := filepath.EvalSymlinks(workspace); err == nil {
			owners[keyOf(real)] = real
		}
		owners[keyOf(workspace)] = workspace
	}
	for _, dir := range dirs {
		owner, used := owners[filepath.Base(dir)]
		if !used {
			unused = append(unused, dir)
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, ownerName), []byte(owner), 0o600); err != nil {
			return nil, err
		}
	}
	return unused, nil
}

// isKey reports whether a name is one that keyOf makes.
func isKey(name string) bool {
	return len(name) == len(keyOf("")) && strings.Trim(name, "0123456789abcdef") == ""
}

var errNew = errors.New("it is new")

// oldHome reports whether a directory has nothing but a home directory in which nothing
// was written since.
func oldHome(dir string, since time.Time) bool {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != homeName || !entries[0].IsDir() {
		return false
	}
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil && d == nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !info.ModTime().Before(since) {
			return errNew
		}
		return nil // What cannot be read was not written to either.
	})
	return err == nil
}
