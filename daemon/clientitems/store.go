package clientitems

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/uuid"
)

const (
	// suffix ends the name of a record's file.
	suffix = ".jsonl"
	// minSize is how many bytes of lines that do not count a file may have in any
	// case.
	minSize = 64 << 10
	// stripes is how many conversations can be changed at the same time.
	stripes = 16
)

// Store keeps records. It is safe for concurrent use.
type Store struct {
	dir string // empty: in memory

	locks [stripes]sync.Mutex // each of a part of the conversations; taken before mu

	mu     sync.Mutex
	memory map[string][]byte
}

// Open makes a store in the state directory; without one it is in memory.
func Open(stateDir string) *Store {
	s := &Store{memory: make(map[string][]byte)}
	if stateDir != "" {
		s.dir = filepath.Join(stateDir, "client-items")
	}
	return s
}

// Load reads the record of a conversation. The errors are ErrNotFound, ErrNewer,
// ErrDamaged, and those of the disk.
func (s *Store) Load(id string) (*Record, error) {
	data, err := s.read(id)
	if err != nil {
		return nil, err
	}
	return decode(id, data)
}

// Create stores a new record.
func (s *Store) Create(rec *Record) error {
	defer s.lock(rec.ID)()
	if rec.full() {
		return ErrFull
	}
	return s.replace(rec)
}

// Change changes the record of a conversation as f says, to which it is given as
// it is. Where there is none, f is given an empty one. When Change returns nil,
// the change is stored; on an error nothing was changed.
func (s *Store) Change(id string, f func(*Record) (Change, error)) error {
	return s.change(id, true, f)
}

// Update is Change for a record that exists; else it is ErrNotFound.
func (s *Store) Update(id string, f func(*Record) (Change, error)) error {
	return s.change(id, false, f)
}

func (s *Store) change(id string, create bool, f func(*Record) (Change, error)) error {
	defer s.lock(id)()
	data, err := s.read(id)
	isNew := errors.Is(err, ErrNotFound) && create
	rec := &Record{ID: id}
	switch {
	case isNew:
	case err != nil:
		return err
	default:
		if rec, err = decode(id, data); err != nil {
			return err
		}
	}
	c, err := f(rec)
	if err != nil || c.empty() {
		return err
	}
	rec.apply(c)
	if len(c.Add) > 0 && rec.full() {
		return ErrFull
	}
	if isNew {
		return s.replace(rec)
	}
	line, err := c.encode()
	if err != nil {
		return err
	}
	if len(data) > minSize+2*rec.size() { // lines that do not count any more
		return s.replace(rec)
	}
	return s.append(id, line)
}

// Delete forgets the record of a conversation, if there is one.
func (s *Store) Delete(id string) error {
	defer s.lock(id)()
	if s.dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.memory, id)
		return nil
	}
	path, err := s.path(id)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete the items of a conversation: %w", err)
	}
	return nil
}

// Sweep gives every conversation whose record was last changed before a time to
// gone, which removes what is not wanted any more. It reads the directory, so it
// is for the background.
func (s *Store) Sweep(ctx context.Context, before time.Time, gone func(id string) error) error {
	if s.dir == "" {
		return nil
	}
	var errs []error
	err := filepath.WalkDir(s.dir, func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		id, isRecord := strings.CutSuffix(e.Name(), suffix)
		info, err := e.Info()
		if err != nil || !isRecord || info.ModTime().After(before) {
			return nil //nolint:nilerr // removed meanwhile
		}
		errs = append(errs, gone(id))
		return nil
	})
	return errors.Join(append(errs, err)...)
}

func (s *Store) lock(id string) (unlock func()) {
	n := 0
	for _, c := range []byte(id) {
		n = n*31 + int(c)
	}
	l := &s.locks[uint(n)%stripes]
	l.Lock()
	return l.Unlock
}

// path is the file of a conversation. The id of one is always in normal form.
func (s *Store) path(id string) (string, error) {
	if clean, err := uuid.Parse(id); err != nil || clean != id {
		return "", fmt.Errorf("items of %q: %w", id, uuid.ErrMalformed)
	}
	return filepath.Join(s.dir, id[:2], id+suffix), nil
}

func (s *Store) read(id string) ([]byte, error) {
	if s.dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		data, ok := s.memory[id]
		if !ok {
			return nil, ErrNotFound
		}
		return bytes.Clone(data), nil
	}
	path, err := s.path(id)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read the items of a conversation: %w", err)
	}
	return data, nil
}

// replace writes a whole record.
func (s *Store) replace(rec *Record) error {
	data, err := rec.encode()
	if err != nil {
		return err
	}
	return s.write(rec.ID, data)
}

func (s *Store) write(id string, data []byte) error {
	if s.dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.memory[id] = data
		return nil
	}
	path, err := s.path(id)
	if err != nil {
		return err
	}
	err = atomicfile.Write(path, data, atomicfile.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = atomicfile.Write(path, data, atomicfile.Options{})
		}
	}
	if err != nil {
		return fmt.Errorf("store the items of a conversation: %w", err)
	}
	return nil
}

// append adds a line to a file. One that cannot be written whole is taken back.
func (s *Store) append(id string, line []byte) error {
	if s.dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.memory[id] = append(s.memory[id], line...)
		return nil
	}
	path, err := s.path(id)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("store the items of a conversation: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		if _, err = f.Write(line); err != nil {
			err = errors.Join(err, f.Truncate(info.Size()))
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("store the items of a conversation: %w", err)
	}
	return nil
}
