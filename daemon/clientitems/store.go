package clientitems

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/recordfile"
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
	files *recordfile.Dir
	locks [stripes]sync.Mutex // each of a part of the conversations
}

// Open makes a store in the state directory; without one it is in memory.
func Open(stateDir string) *Store {
	dir := ""
	if stateDir != "" {
		dir = filepath.Join(stateDir, "client-items")
	}
	return &Store{files: recordfile.Open(dir)}
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

// Update changes a record like Change, and fails with ErrNotFound if it does not
// exist.
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
	if len(data) > minSize+2*rec.size() { // lines that do not count any more
		return s.replace(rec)
	}
	return s.append(id, &c)
}

// Delete forgets the record of a conversation, if there is one.
func (s *Store) Delete(id string) error {
	defer s.lock(id)()
	name, err := file(id)
	if err == nil {
		err = s.files.Remove(name)
	}
	if err != nil {
		return fmt.Errorf("delete the items of a conversation: %w", err)
	}
	return nil
}

// Sweep gives every conversation whose record was last changed before a time to
// gone, which removes what is not wanted any more. It reads the directory, so it
// is for the background.
func (s *Store) Sweep(ctx context.Context, before time.Time, gone func(id string) error) error {
	var errs []error
	err := s.files.Each(ctx, func(name string, written time.Time) error {
		id, isRecord := strings.CutSuffix(path.Base(name), suffix)
		if isRecord && !written.IsZero() && !written.After(before) {
			errs = append(errs, gone(id))
		}
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

// file is the name of a conversation's record. The id of one is always in normal form.
func file(id string) (string, error) {
	if clean, err := uuid.Parse(id); err != nil || clean != id {
		return "", fmt.Errorf("items of %q: %w", id, uuid.ErrMalformed)
	}
	return id[:2] + "/" + id + suffix, nil
}

func (s *Store) read(id string) ([]byte, error) {
	name, err := file(id)
	if err != nil {
		return nil, err
	}
	data, err := s.files.Read(name)
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
	name, err := file(rec.ID)
	if err != nil {
		return err
	}
	data, err := rec.encode()
	if err == nil {
		err = s.files.Write(name, data)
	}
	if err != nil {
		return fmt.Errorf("store the items of a conversation: %w", err)
	}
	return nil
}

// append adds a change to a record.
func (s *Store) append(id string, c *Change) error {
	name, err := file(id)
	if err != nil {
		return err
	}
	line, err := json.Marshal(c)
	if err == nil {
		err = s.files.Append(name, line)
	}
	if err != nil {
		return fmt.Errorf("store the items of a conversation: %w", err)
	}
	return nil
}
