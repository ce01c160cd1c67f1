package gitguard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Watcher removes files that would redirect git, as soon as they are made. One
// watches the directories of any number of boxes: the system allows few of them.
type Watcher struct {
	file *os.File
	done chan struct{}

	mu    sync.Mutex
	dirs  map[int]*watched // by the number of the watch
	paths map[string]int   // the numbers, by path

	stop  chan struct{}
	looks sync.WaitGroup
}

// watched is one directory.
type watched struct {
	path    string
	allowed map[string]bool // names that were there before
	tell    map[*subscription]func(string)
}

// subscription is one call of Add.
type subscription struct {
	removed func(string)
	sweeper *sweeper // nil without a repository
	// dirty says that something was added to the repository since it was looked at.
	dirty bool
	fresh bool // it has worktrees that were made since
}

// events are those by which a name comes to a directory, or a file in it is written.
const events = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW

// NewWatcher starts a watcher.
func NewWatcher() (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	w := &Watcher{file: os.NewFile(uintptr(fd), "inotify"), done: make(chan struct{}), dirs: map[int]*watched{}, paths: map[string]int{}, stop: make(chan struct{})}
	go w.watch()
	w.looks.Go(w.look)
	return w, nil
}

// Close ends the watch, and waits until it has ended.
func (w *Watcher) Close() error {
	close(w.stop)
	err := w.file.Close()
	<-w.done
	w.looks.Wait()
	return err
}

// Add watches the directories of guards until remove is called. removed is called with
// the path of each file that was removed or put right, one at a time.
func (w *Watcher) Add(g Guards, removed func(string)) (remove func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &subscription{removed: removed}
	for _, dir := range g.Watch {
		if err := w.add(dir, s); err != nil {
			w.remove(s)
			return nil, err
		}
	}
	if g.Repository.Dir != "" {
		s.sweeper = newSweeper(g.Repository, removed)
		w.adopt(s)
	}
	return func() {
		w.drain()
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.sweeper != nil {
			s.sweeper.worktrees()
			s.sweeper.repositories()
		}
		w.remove(s)
	}, nil
}

// adopt looks at the worktrees that were made since, and watches them, as long as there
// are watches. A directory is looked at again when it is watched: the files in it may be
// older than the watch.
func (w *Watcher) adopt(s *subscription) {
	_ = w.add(filepath.Join(s.sweeper.repo.Dir, "worktrees"), s) // There may be none.
	found := s.sweeper.worktrees()
	s.fresh = len(found) > 0
	again := false
	for _, dir := range found {
		if _, ok := w.paths[dir]; !ok && w.add(dir, s) == nil {
			again = true
		}
	}
	if again {
		s.sweeper.worktrees()
	}
}

// look goes through the repositories that are added, which takes longer than to look at
// one file.
func (w *Watcher) look() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
		w.mu.Lock()
		for _, s := range w.subscriptions() {
			if s.dirty || s.fresh {
				w.adopt(s)
			}
			if s.dirty {
				s.dirty = false
				s.sweeper.repositories()
			}
		}
		w.mu.Unlock()
	}
}

// subscriptions are those with a repository.
func (w *Watcher) subscriptions() (all []*subscription) {
	for _, dir := range w.dirs {
		for s := range dir.tell {
			if s.sweeper != nil && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

func (w *Watcher) add(dir string, s *subscription) error {
	number, ok := w.paths[dir]
	if !ok {
		allowed := map[string]bool{}
		for _, name := range []string{commonDir, worktreeConfig} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				allowed[name] = true
			}
		}
		err := w.control(func(fd int) (err error) {
			number, err = unix.InotifyAddWatch(fd, dir, events)
			return err
		})
		if err != nil {
			return fmt.Errorf("watch %s: %w", dir, err)
		}
		w.paths[dir] = number
		w.dirs[number] = &watched{path: dir, allowed: allowed, tell: map[*subscription]func(string){}}
	}
	w.dirs[number].tell[s] = s.removed
	return nil
}

func (w *Watcher) remove(s *subscription) {
	for number, dir := range w.dirs {
		delete(dir.tell, s)
		if len(dir.tell) == 0 {
			delete(w.dirs, number)
			delete(w.paths, dir.path)
			_ = w.control(func(fd int) error { // The directory may be gone.
				_, err := unix.InotifyRmWatch(fd, uint32(number))
				return err
			})
		}
	}
}

func (w *Watcher) control(f func(fd int) error) error {
	raw, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	return errors.Join(raw.Control(func(fd uintptr) { failed = f(int(fd)) }), failed)
}

// drain removes what is there without an event: the last file of a program that is
// dead by now. The watch is over afterwards.
func (w *Watcher) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.takeAll()
}

func (w *Watcher) takeAll() {
	for _, dir := range w.dirs {
		if !w.isNew(dir) {
			dir.take(commonDir)
			dir.take(worktreeConfig)
		}
	}
	for _, s := range w.subscriptions() {
		s.dirty = true
		w.adopt(s)
	}
}

func (w *Watcher) watch() {
	defer close(w.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			return
		}
		w.handle(buf[:n])
	}
}

// event is that something happened to a name in a watched directory.
type event struct {
	watch int
	mask  uint32
	name  string
}

// eventsOf reads events as inotify(7) writes them: a watch, a mask, a cookie, the
// size of the name, and the name.
func eventsOf(data []byte) iter.Seq[event] {
	return func(yield func(event) bool) {
		for len(data) >= unix.SizeofInotifyEvent {
			number := int(int32(binary.NativeEndian.Uint32(data)))
			mask := binary.NativeEndian.Uint32(data[4:])
			size := min(int(binary.NativeEndian.Uint32(data[12:])), len(data)-unix.SizeofInotifyEvent)
			name := strings.TrimRight(string(data[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size]), "\x00")
			data = data[unix.SizeofInotifyEvent+size:]
			if !yield(event{number, mask, name}) {
				return
			}
		}
	}
}

// handle takes events.
func (w *Watcher) handle(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range eventsOf(data) {
		if e.mask&unix.IN_Q_OVERFLOW != 0 {
			// Some events are lost: every directory may have a file.
			w.takeAll()
			continue
		}
		dir, ok := w.dirs[e.watch]
		if !ok {
			continue
		}
		if e.mask&unix.IN_IGNORED != 0 { // The directory is gone; its path may come again.
			delete(w.dirs, e.watch)
			delete(w.paths, dir.path)
			continue
		}
		for s := range dir.tell {
			if s.sweeper == nil {
				continue
			}
			s.dirty = true
			if s.sweeper.concerns(dir.path, e.name) {
				w.adopt(s)
			}
		}
		if !w.isNew(dir) {
			dir.take(e.name)
		}
	}
}

// isNew says that a directory is one of a worktree that was made since: its commondir is
// put right, not removed.
func (w *Watcher) isNew(dir *watched) bool {
	for s := range dir.tell {
		if s.sweeper != nil && !s.sweeper.repo.known[dir.path] && dir.path != s.sweeper.repo.Dir {
			return true
		}
	}
	return false
}

// take removes a file that would redirect git, if it is there, and says so.
func (d *watched) take(name string) {
	if name != commonDir && name != worktreeConfig || d.allowed[name] {
		return
	}
	path := filepath.Join(d.path, name)
	if _, err := os.Lstat(path); err != nil {
		return
	}
	// A directory of that name makes git fail; what is in it is the agent's.
	if err := os.RemoveAll(path); err != nil {
		return
	}
	for _, tell := range d.tell {
		tell(path)
	}
}
