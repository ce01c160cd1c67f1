package browser

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// prefix begins the names of directories of Chromium.
const prefix = "chromium-"

// place is the directory of one Chromium while it runs. Its lock, which this process
// holds, is beside the entry in the directory of the pool.
type place struct {
	dir   string // where Chromium writes
	entry string // the directory itself, or a symbolic link to it
	lock  *filelock.Lock
}

// makePlace makes a directory for one Chromium, and removes those whose process has died.
// A Chromium with another user's rights cannot enter the directory of the pool: its
// directory is a temporary one, and the entry in the pool links to it.
func makePlace(parent string, as *sandbox.User) (*place, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	sweep(parent)
	// The lock is there before the directory: what removes leftovers sees both.
	file, err := os.CreateTemp(parent, prefix+"*.lock")
	if err != nil {
		return nil, err
	}
	_ = file.Close()
	lock, err := filelock.Acquire(context.Background(), file.Name(), filelock.Options{Mode: 0o600})
	if err != nil {
		return nil, err
	}
	p := &place{entry: strings.TrimSuffix(file.Name(), ".lock"), lock: lock}
	p.dir = p.entry
	if err := p.fill(as); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

// fill makes what is in the directory.
func (p *place) fill(as *sandbox.User) error {
	if as != nil {
		dir, err := os.MkdirTemp(shared(os.TempDir(), "/var/tmp", "/tmp"), "ohgw-"+prefix)
		if err != nil {
			return err
		}
		p.dir = dir
		if err := os.Symlink(dir, p.entry); err != nil {
			return err
		}
	}
	for _, sub := range []string{"", "home", "tmp", "downloads", "uploads"} {
		at := filepath.Join(p.dir, sub)
		if err := os.MkdirAll(at, 0o700); err != nil {
			return err
		}
		if err := give(at, as); err != nil {
			return err
		}
	}
	return nil
}

// shared returns the first of the directories that every user can enter, or the last one.
func shared(dirs ...string) string {
	for _, dir := range dirs {
		if enterable(filepath.Clean(dir)) {
			return dir
		}
	}
	return dirs[len(dirs)-1]
}

// enterable reports whether every user can enter a directory.
func enterable(dir string) bool {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil || !info.IsDir() || info.Mode()&0o001 == 0 {
			return false
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}

// give makes a file or a directory that of a user; nil is ours already.
func give(at string, as *sandbox.User) error {
	if as == nil {
		return nil
	}
	return os.Lchown(at, int(as.UID), int(as.GID))
}

// remove removes the directory and its lock.
func (p *place) remove() error {
	return errors.Join(os.RemoveAll(p.dir), os.RemoveAll(p.entry), p.lock.Release(), os.Remove(p.entry+".lock"))
}

// sweep removes the directories of processes that have died.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		at := filepath.Join(parent, e.Name())
		name, isLock := strings.CutSuffix(at, ".lock")
		if !isLock || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if held, err := filelock.Held(at); err != nil || held {
			continue
		}
		if elsewhere, err := os.Readlink(name); err == nil {
			_ = os.RemoveAll(elsewhere)
		}
		_ = os.RemoveAll(name)
		_ = os.Remove(at)
	}
}
