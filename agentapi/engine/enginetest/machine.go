package enginetest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// ErrNoPower is what a [Machine] returns that has lost its power.
var ErrNoPower = errors.New("the machine has lost its power")

// Machine is the disk of a machine that may lose its power. It knows what the disk was asked to
// keep: of a file its content, of a directory its names. The rest the system may have written or
// not, file by file, in any order and in part. That is less than the usual file systems promise.
type Machine struct {
	store.Disk

	mu    sync.Mutex
	left  int               // requests until the power is lost; negative: it is not
	dead  bool              // it is lost
	syncs int               // requests that wait for the disk
	files map[string]*inode // by path, as the system has them
	names map[string]names  // by path of the directory, as the disk has them
}

// inode is the content of a file that has or had a name.
type inode struct {
	data []byte // as the system has it
	kept bool   // the disk has it, too
	torn []byte // what the disk may have instead, of an addition that failed
}

// names are those of a directory. A directory in it has no inode.
type names map[string]*inode

// NewMachine returns a machine that loses its power after a number of requests. A negative one
// never comes.
func NewMachine(left int) *Machine {
	return &Machine{left: left, files: make(map[string]*inode), names: make(map[string]names)}
}

// request counts one request; the caller holds the mutex.
func (m *Machine) request() error {
	if m.left == 0 {
		m.dead = true
	}
	if m.dead {
		return ErrNoPower
	}
	m.left--
	return nil
}

// Requests counts the requests to a machine that was made with a negative number.
func (m *Machine) Requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return -1 - m.left
}

// Syncs counts the requests that wait for the disk.
func (m *Machine) Syncs() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.syncs
}

// Off takes the power.
func (m *Machine) Off() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}

// Write writes a file, which has its name at once, and another inode than the one before it.
func (m *Machine) Write(path string, data []byte, sync bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request(); err != nil {
		return err
	}
	if err := m.Disk.Write(path, data, false); err != nil {
		return err
	}
	if sync {
		m.syncs++
	}
	m.files[path] = &inode{data: append([]byte(nil), data...), kept: sync}
	if sync {
		return m.keepNames(filepath.Dir(path))
	}
	return nil
}

// Overwrite writes over a file, which stays the same inode.
func (m *Machine) Overwrite(path string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request(); err != nil {
		return err
	}
	if err := m.Disk.Overwrite(path, data); err != nil {
		return err
	}
	if m.files[path] == nil {
		m.files[path] = &inode{}
	}
	now, err := os.ReadFile(path)
	m.files[path].data, m.files[path].kept = now, false
	return err
}

// WriteAt writes over a file, and has the disk keep what it holds. Its name is not kept by that.
func (m *Machine) WriteAt(path string, data []byte, at int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if m.files[path] == nil {
		m.files[path] = &inode{data: was, kept: true}
	}
	if err := m.request(); err != nil {
		m.files[path].torn = over(was, data[:len(data)/2], at)
		return err
	}
	if err := m.Disk.WriteAt(path, data, at); err != nil {
		return err
	}
	m.syncs++
	m.files[path].data, m.files[path].kept = over(was, data, at), true
	return nil
}

// over returns a file with data written over it.
func over(file, data []byte, at int64) []byte {
	file = append(slices.Clone(file), make([]byte, max(0, int(at)+len(data)-len(file)))...)
	copy(file[at:], data)
	return file
}

// SyncAll has the disk keep everything in a directory and below.
func (m *Machine) SyncAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request(); err != nil {
		return err
	}
	m.syncs++
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return m.keepNames(path)
		case e.Type().IsRegular():
			return m.keepFile(path)
		}
		return nil
	})
}

// Sync has the disk keep the contents of files and the names of directories.
func (m *Machine) Sync(paths []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.request(); err != nil {
		return err
	}
	m.syncs++
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return err
		case info.IsDir():
			err = m.keepNames(path)
		default:
			err = m.keepFile(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *Machine) keepFile(path string) error {
	if m.files[path] == nil { // it was written by other means
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		m.files[path] = &inode{data: data}
	}
	m.files[path].kept = true
	return nil
}

func (m *Machine) keepNames(dir string) error {
	now, err := m.current(dir)
	if err == nil {
		m.names[dir] = now
	}
	return err
}

// current returns the names of a directory as the system has them.
func (m *Machine) current(dir string) (names, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	now := names{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			now[e.Name()] = nil
		case m.files[path] == nil:
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			m.files[path] = &inode{data: data}
			fallthrough
		default:
			now[e.Name()] = m.files[path]
		}
	}
	return now, nil
}

// Restart makes a directory what the disk has of it after the loss of power: all that it was
// asked to keep, and of the rest what the dice say.
func (m *Machine) Restart(dir string, dice *rand.Rand) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	return m.restore(dir, dice)
}

func (m *Machine) restore(dir string, dice *rand.Rand) error {
	now, err := m.current(dir)
	if err != nil {
		return err
	}
	kept, all := m.names[dir], now
	for name, n := range kept {
		if _, still := now[name]; !still {
			all[name] = n // removed, which the disk may not know
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) { // in one order: the dice decide the same again
		n := all[name]
		path, before := filepath.Join(dir, name), kept[name]
		_, named := kept[name]
		switch {
		case named && n != before && dice.IntN(2) == 0:
			n = before // another file has had the name
		case !named && dice.IntN(2) == 0:
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			continue
		}
		if err := m.put(path, n, dice); err != nil {
			return err
		}
	}
	return nil
}

// put makes a file or a directory what the disk has of it.
func (m *Machine) put(path string, n *inode, dice *rand.Rand) error {
	if info, err := os.Stat(path); n == nil && err == nil && info.IsDir() {
		return m.restore(path, dice)
	} else if n == nil {
		return err
	}
	data := n.data
	if !n.kept {
		data = data[:[]int{0, len(data) / 2, len(data)}[dice.IntN(3)]]
	}
	if n.torn != nil && dice.IntN(2) == 0 {
		data = n.torn
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restart: %w", err)
	}
	return os.WriteFile(path, data, 0o600)
}
