package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/storage"
)

const (
	// scarce is when the space is worth a warning: an agent that clones a
	// repository needs more.
	scarce = 512 << 20
	// none is when nothing can be expected to be written.
	none = 1 << 20
)

// privateFiles are the files of the state directory that are for the user only.
func privateFiles() []string {
	return []string{"tokens.json", "default-token", "keys.json", "key-names.json"}
}

// checkPaths looks at the directories and files of ohgw: their modes, whether
// they can be written, and whether there is room.
func checkPaths(_ context.Context, w *World) Result {
	dirs, err := w.Paths()
	if errors.Is(err, paths.ErrNoHome) {
		return Result{}.fail("cannot find your home directory", err.Error(), "export HOME=/home/NAME, or set XDG_CONFIG_HOME and XDG_STATE_HOME")
	}
	if err != nil {
		return failed(err)
	}
	r := fine("state in %s, config in %s", dirs.State, dirs.Config)
	for _, dir := range []string{dirs.State, dirs.Runtime, dirs.Config} {
		r = w.directory(r, dir, dir != dirs.Config)
	}
	for _, name := range privateFiles() {
		path := filepath.Join(dirs.State, name)
		info, err := w.Stat(path)
		if err != nil || w.GOOS == "windows" {
			continue // that it is not there is fine
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			r = r.fail(fmt.Sprintf("other users can read %s (mode %04o)", path, mode), "the file controls access to ohgw, or holds keys", "chmod 600 "+shellword.Of(path))
		}
	}
	return w.room(r, dirs.State)
}

// directory looks at one directory, or at what it would be made in.
func (w *World) directory(r Result, dir string, written bool) Result {
	info, err := w.Stat(dir)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		info, err = w.Stat(dir)
		if err == nil && written { // it would be made here
			return w.writable(r, dir)
		}
	}
	switch {
	case err != nil:
		return w.closed(r, dir, err)
	case !info.IsDir():
		return r.fail(dir+" is not a directory", "", "mv "+shellword.Of(dir)+" "+shellword.Of(dir+".old"))
	case w.GOOS != "windows" && w.Mine(info) && info.Mode().Perm()&0o500 != 0o500:
		return r.fail(fmt.Sprintf("you cannot read %s (mode %04o)", dir, info.Mode().Perm()), "", "chmod u+rwx "+shellword.Of(dir))
	}
	if filepath.Base(dir) == "ohgw" && w.GOOS != "windows" {
		r = private(r, dir, info.Mode().Perm(), written)
	}
	if !written {
		return r
	}
	return w.writable(r, dir)
}

// private looks whether others can use a directory of ours.
func private(r Result, dir string, mode fs.FileMode, written bool) Result {
	switch {
	case mode&0o022 != 0:
		return r.fail(fmt.Sprintf("other users can write to %s (mode %04o)", dir, mode), "other users could replace your files", "chmod 700 "+shellword.Of(dir))
	case mode&0o077 != 0 && written:
		return r.warn(fmt.Sprintf("other users can look into %s (mode %04o)", dir, mode), "", "chmod 700 "+shellword.Of(dir))
	}
	return r
}

func (w *World) writable(r Result, dir string) Result {
	err := w.Writable(dir)
	if err == nil || storage.Of(err) == storage.Full { // room tells about that
		return r
	}
	if storage.Of(err) == storage.ReadOnly {
		return r.fail(dir+" is on a read-only disk", storage.Cause(err).Error(), "use a directory on another disk: export XDG_STATE_HOME=DIR")
	}
	return r.fail("cannot write to "+dir, storage.Cause(err).Error(), w.open(dir))
}

// closed reports a directory that cannot be looked into: one above it lacks the
// rights.
func (w *World) closed(r Result, dir string, err error) Result {
	return r.fail("the directory "+dir+" cannot be read", storage.Cause(err).Error(), w.open(dir))
}

// open is the command that gives the user the rights for a directory. All that is in one
// of ohgw's own is the user's, too.
func (w *World) open(dir string) string {
	if info, err := w.Stat(dir); err == nil && !w.Mine(info) && filepath.Base(dir) == "ohgw" {
		return storage.Reclaim([]string{dir})
	}
	return storage.Access(dir, w.Stat, w.Mine)
}

// room looks whether there is space for what ohgw and its agents write.
func (w *World) room(r Result, dir string) Result {
	for _, err := w.Stat(dir); err != nil && dir != filepath.Dir(dir); _, err = w.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	free, err := w.Free(dir)
	full := storage.Of(w.Writable(dir)) == storage.Full
	switch {
	case full || err == nil && free < none:
		return r.fail("the disk of "+dir+" is full", "tokens, run records and conversations cannot be stored", "free space on it (du -xh "+shellword.Of(dir)+" | sort -h | tail), or use a directory on another disk: export XDG_STATE_HOME=DIR")
	case err == nil && free < scarce:
		return r.warn(fmt.Sprintf("the disk of %s has %d MiB left", dir, free>>20), "agents' work and conversations are stored on it", "free space on it, or use a directory on another disk: export XDG_STATE_HOME=DIR")
	}
	return r
}
