package gitguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/subpath"
)

// Keeper puts back what programs change of the files by which git runs programs, for
// boxes that cannot make them read-only. A change is there for a moment. Changes of
// .git/config that run nothing, such as a new remote, stay.
type Keeper struct {
	root  *os.Root // the writable tree; no link leads out of it
	tree  string
	kept  map[string]snapshot // by path in the tree
	never []string            // paths that must not exist
	told  func(path string)
	added *sweeper // what programs add to the repository; nil without one

	file *os.File
	done chan struct{} // closed at the end
	wait sync.WaitGroup

	mu      sync.Mutex
	watched map[int]string // paths in the tree, by the number of the watch
}

// snapshot is a file or a directory as it was, by path below it; "." is itself.
type snapshot map[string]entry

type entry struct {
	mode fs.FileMode
	data string // of a file, or where a link leads
}

// Limits of what is kept: it is in memory.
const (
	maxKept     = 1000
	maxKeptSize = 8 << 20
)

// keeperEvents are those by which what a name stands for changes.
const keeperEvents = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_CLOSE_WRITE | unix.IN_MODIFY |
	unix.IN_ATTRIB | unix.IN_DONT_FOLLOW

// NewKeeper begins to keep what guards say of one writable tree. putBack is called
// with the path of each file or directory that was put back or removed, one at a
// time.
func NewKeeper(tree string, g Guards, putBack func(path string)) (*Keeper, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, err
	}
	k := &Keeper{root: root, tree: tree, kept: map[string]snapshot{}, told: putBack, done: make(chan struct{}), watched: map[int]string{}}
	if g.Repository.Dir != "" {
		k.added = newSweeper(g.Repository, putBack)
	}
	if err := k.take(g); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("inotify: %w", err), root.Close())
	}
	k.file = os.NewFile(uintptr(fd), "inotify")
	k.check()
	k.wait.Go(k.watch)
	k.wait.Go(k.look)
	return k, nil
}

// take notes how everything is.
func (k *Keeper) take(g Guards) error {
	for _, at := range g.Protect {
		if name, ok := subpath.Rel(k.tree, at); ok {
			s, err := k.snapshot(name)
			if err != nil {
				return fmt.Errorf("keep %s: %w", at, err)
			}
			k.kept[name] = s
		}
	}
	for _, dir := range g.Watch {
		for _, planted := range []string{commonDir, worktreeConfig} {
			name, ok := subpath.Rel(k.tree, filepath.Join(dir, planted))
			if ok && k.kept[name] == nil {
				k.never = append(k.never, name)
			}
		}
	}
	return nil
}

// snapshot reads a file or a directory; it is empty if there is nothing.
func (k *Keeper) snapshot(name string) (snapshot, error) {
	s := snapshot{}
	size := 0
	err := fs.WalkDir(k.root.FS(), name, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := k.root.Lstat(at)
		if err != nil {
			return err
		}
		e := entry{mode: info.Mode()}
		switch {
		case e.mode.IsRegular() && info.Size() <= maxKeptSize:
			data, err := k.root.ReadFile(at)
			if err != nil {
				return err
			}
			e.data = string(data)
		case e.mode&fs.ModeSymlink != 0:
			if e.data, err = k.root.Readlink(at); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(name, at)
		s[rel] = e
		if size += len(e.data); size > maxKeptSize || len(s) > maxKept {
			return errors.New("it is too large to be watched")
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return snapshot{}, nil
	}
	return s, err
}

// check compares everything with how it was, puts back what must not change, and
// watches all directories that are there now.
func (k *Keeper) check() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rearm()
	for name, was := range k.kept {
		now, err := k.snapshot(name)
		if err == nil && equal(was, now) {
			continue
		}
		if err == nil && filepath.Base(name) == "config" && was["."].mode == now["."].mode {
			if onlyHarmless(was["."].data, now["."].data) {
				k.kept[name] = now
				continue
			}
			// git may have written settings that run nothing at the same moment.
			if text, ok := withoutHarm(was["."].data, now["."].data); ok {
				was = snapshot{".": {mode: was["."].mode, data: text}}
				k.kept[name] = was
			}
		}
		if k.restore(name, was) == nil {
			k.told(filepath.Join(k.tree, name))
		}
	}
	for _, name := range k.never {
		if _, err := k.root.Lstat(name); err == nil && k.root.RemoveAll(name) == nil {
			k.told(filepath.Join(k.tree, name))
		}
	}
	k.rearm()
	if k.added != nil {
		k.added.worktrees()
		k.added.repositories()
	}
}

func equal(a, b snapshot) bool {
	if len(a) != len(b) {
		return false
	}
	for at, e := range a {
		if other, ok := b[at]; !ok || other != e {
			return false
		}
	}
	return true
}

// restore makes a file or a directory what it was.
func (k *Keeper) restore(name string, was snapshot) error {
	if err := k.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if e := was["."]; e.mode.IsRegular() && len(was) == 1 {
		return k.replace(name, e)
	}
	if err := k.root.RemoveAll(name); err != nil {
		return err
	}
	paths := make([]string, 0, len(was))
	for at := range was {
		paths = append(paths, at)
	}
	slices.Sort(paths)
	var errs []error
	for _, at := range paths {
		e, to := was[at], filepath.Join(name, at)
		switch {
		case e.mode.IsDir():
			errs = append(errs, k.root.Mkdir(to, e.mode.Perm()))
		case e.mode&fs.ModeSymlink != 0:
			errs = append(errs, k.root.Symlink(e.data, to))
		case e.mode.IsRegular():
			errs = append(errs, k.write(to, e))
		}
	}
	return errors.Join(errs...)
}

// replace puts a file into the place of another one, which git may be reading.
func (k *Keeper) replace(name string, e entry) error {
	if info, err := k.root.Lstat(name); err == nil && info.IsDir() {
		if err := k.root.RemoveAll(name); err != nil {
			return err
		}
	}
	temporary := name + ".ohgw"
	if err := errors.Join(k.root.RemoveAll(temporary), k.write(temporary, e)); err != nil {
		return err
	}
	return atomicfile.Over(k.root, temporary, name)
}

// write makes a file.
func (k *Keeper) write(to string, e entry) error {
	f, err := k.root.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, e.mode.Perm())
	if err != nil {
		return err
	}
	_, err = f.WriteString(e.data)
	return errors.Join(err, f.Chmod(e.mode.Perm()), f.Close())
}

// rearm watches everything that is kept, and the directories above it: a directory
// can be moved aside, and another one put into its place. A file is watched itself,
// because it can have a second name elsewhere.
func (k *Keeper) rearm() {
	var paths []string
	add := func(name string) {
		for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
			paths = append(paths, dir)
			if dir == "." {
				break
			}
		}
	}
	for name, was := range k.kept {
		add(name)
		for at := range was {
			paths = append(paths, filepath.Join(name, at))
		}
	}
	for _, name := range k.never {
		add(name)
	}
	if k.added != nil {
		if dir, ok := subpath.Rel(k.tree, filepath.Join(k.added.repo.Dir, "worktrees")); ok {
			paths = append(paths, filepath.Dir(dir), dir)
			for _, entry := range entriesOf(k.root, dir) {
				paths = append(paths, filepath.Join(dir, entry.Name()))
			}
		}
	}
	slices.Sort(paths)
	control, err := k.file.SyscallConn()
	if err != nil {
		return
	}
	_ = control.Control(func(fd uintptr) {
		for _, at := range slices.Compact(paths) {
			if number, err := unix.InotifyAddWatch(int(fd), filepath.Join(k.tree, at), keeperEvents); err == nil {
				k.watched[number] = at
			}
		}
	})
}

// watch checks after each event that may be about something kept.
func (k *Keeper) watch() {
	buf := make([]byte, 64<<10)
	for {
		n, err := k.file.Read(buf)
		if err != nil {
			return
		}
		if k.concerns(buf[:n]) {
			k.check()
		}
	}
}

// lookEvery is how long a change without an event may stay: one through memory that
// a file is mapped to.
const lookEvery = 2 * time.Second

// look checks from time to time.
func (k *Keeper) look() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-k.done:
			return
		case <-tick.C:
			k.check()
		}
	}
}

// concerns reports whether events are about something kept, or a directory above it.
func (k *Keeper) concerns(data []byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for e := range eventsOf(data) {
		dir, ok := k.watched[e.watch]
		if !ok || e.mask&(unix.IN_Q_OVERFLOW|unix.IN_IGNORED) != 0 {
			return true
		}
		at := filepath.Join(dir, e.name)
		for kept := range k.kept {
			if subpath.Within(kept, at) || subpath.Within(at, kept) && e.mask&(unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_MOVED_FROM|unix.IN_DELETE) != 0 {
				return true
			}
		}
		if slices.Contains(k.never, at) || k.added != nil && k.added.concerns(filepath.Join(k.tree, dir), e.name) {
			return true
		}
	}
	return false
}

// Close checks once more, for the last act of a program that is dead by now, and
// ends the watch.
func (k *Keeper) Close() error {
	k.check()
	close(k.done)
	err := k.file.Close()
	k.wait.Wait()
	return errors.Join(err, k.root.Close())
}
