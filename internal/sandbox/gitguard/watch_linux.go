package gitguard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"

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
}

// watched is one directory.
type watched struct {
	path    string
	allowed map[string]bool // names that were there before
	tell    map[*subscription]func(string)
}

// subscription is one call of Add. It is not empty: each has an address of its own.
type subscription struct{ _ byte }

// events are those by which a name comes to a directory.
const events = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW

// NewWatcher starts a watcher.
func NewWatcher() (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	w := &Watcher{file: os.NewFile(uintptr(fd), "inotify"), done: make(chan struct{}), dirs: map[int]*watched{}, paths: map[string]int{}}
	go w.watch()
	return w, nil
}

// Close ends the watch, and waits until it has ended.
func (w *Watcher) Close() error {
	err := w.file.Close()
	<-w.done
	return err
}

// Add watches directories until remove is called. removed is called with the path of
// each file that was removed, by the watcher's goroutine.
func (w *Watcher) Add(dirs []string, removed func(string)) (remove func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &subscription{}
	for _, dir := range dirs {
		if err := w.add(dir, s, removed); err != nil {
			w.remove(s)
			return nil, err
		}
	}
	return func() {
		w.drain()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.remove(s)
	}, nil
}

func (w *Watcher) add(dir string, s *subscription, removed func(string)) error {
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
	w.dirs[number].tell[s] = removed
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
	for _, dir := range w.dirs {
		for _, name := range []string{commonDir, worktreeConfig} {
			dir.take(name)
		}
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
			for _, dir := range w.dirs {
				dir.take(commonDir)
				dir.take(worktreeConfig)
			}
			continue
		}
		if dir, ok := w.dirs[e.watch]; ok {
			dir.take(e.name)
		}
	}
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
