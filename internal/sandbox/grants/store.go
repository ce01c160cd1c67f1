package grants

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/paths"
)

// Limits of the file: more than this is a mistake.
const (
	maxSize   = 1 << 20
	maxGrants = 2000
)

// outlived is the age at which the grant of one conversation is removed. The
// conversation is nearly always gone by then, and asks again if it is not.
const outlived = 90 * 24 * time.Hour

// Config is the world of a store.
type Config struct {
	State   string   // ohgw's state directory
	Home    string   // the user's home directory; "" if there is none
	Private []string // more directories of ohgw and OpenHands
	Now     func() time.Time
}

// Store is the grants of one user. Its methods may be called at the same time, also
// by several processes.
type Store struct {
	cfg  Config
	file string

	mu   sync.Mutex
	info fs.FileInfo // of the file that list was read from; nil: there was none
	list []Grant
}

// Open makes a store. It touches nothing.
func Open(cfg Config) *Store {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Store{cfg: cfg, file: filepath.Join(cfg.State, "sandbox", "grants.json")}
}

// DamagedError says that the file cannot be understood. It then grants nothing.
type DamagedError struct {
	File string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the grants in %s cannot be read: %v: repair the file, or remove all grants with: ohgw sandbox revoke --all", e.File, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// List lists all grants, the oldest first.
func (s *Store) List() ([]Grant, error) {
	list, err := s.current()
	return slices.Clone(list), err
}

// For lists what is granted to a conversation in a workspace, which has no symbolic
// links. It reads the file only if that has changed.
func (s *Store) For(workspace, conversation string) ([]Grant, error) {
	list, err := s.current()
	var found []Grant
	for _, g := range list {
		if g.holds(workspace, conversation) {
			found = append(found, g)
		}
	}
	return found, err
}

// Add stores a grant in its canonical spelling, with the time. One that exists
// already is not an error; it stays as it is. For what cannot be granted it
// returns an *InvalidError.
func (s *Store) Add(ctx context.Context, g Grant) (stored Grant, added bool, err error) {
	g, err = s.Canonical(g)
	if err != nil {
		return g, false, err
	}
	now := s.cfg.Now().UTC().Truncate(time.Second)
	g.Created = now
	err = s.change(ctx, func(list []Grant) ([]Grant, error) {
		kept := slices.DeleteFunc(slices.Clone(list), func(old Grant) bool {
			return old.Conversation != "" && now.Sub(old.Created) > outlived
		})
		if i := slices.IndexFunc(kept, g.Same); i >= 0 {
			g = kept[i]
			return kept, nil
		}
		if len(kept) >= maxGrants {
			return nil, &InvalidError{fmt.Sprintf("there are %d grants already", len(kept)), "remove some with: ohgw sandbox revoke"}
		}
		added = true
		return append(kept, g), nil
	})
	return g, added && err == nil, err
}

// Remove removes the grants that match, and returns them.
func (s *Store) Remove(ctx context.Context, match func(Grant) bool) (removed []Grant, err error) {
	err = s.change(ctx, func(list []Grant) ([]Grant, error) {
		var kept []Grant
		for _, g := range list {
			if match(g) {
				removed = append(removed, g)
			} else {
				kept = append(kept, g)
			}
		}
		return kept, nil
	})
	if err != nil {
		return nil, err
	}
	return removed, nil
}

// Clear removes all grants, also those of a file that cannot be understood.
func (s *Store) Clear(ctx context.Context) error {
	return s.locked(ctx, func() error {
		if err := atomicfile.Remove(s.file); err != nil {
			return fmt.Errorf("remove the grants: %w", err)
		}
		return nil
	})
}

// current returns the grants as they are now, and reads the file if it has changed.
// Every change puts a new file in the place of the old one.
func (s *Store) current() ([]Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		s.info, s.list = nil, nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the grants: %w", err)
	}
	if sameFile(s.info, info) {
		return s.list, nil
	}
	list, err := s.read()
	if err != nil {
		return nil, err
	}
	// A file that was replaced after the stat is read again the next time.
	s.info, s.list = info, list
	return list, nil
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// document is the file. Its version changes when an older ohgw would misread it.
type document struct {
	Version int     `json:"version"`
	Grants  []Grant `json:"grants"`
}

// version is the one that this package reads and writes.
const version = 1

// read reads the file. A field that is not known is an error: it may narrow a grant.
func (s *Store) read() ([]Grant, error) {
	f, err := os.Open(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the grants: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read the grants: %w", err)
	}
	list, err := parse(data)
	if err != nil {
		return nil, &DamagedError{File: s.file, Err: err}
	}
	return list, nil
}

func parse(data []byte) ([]Grant, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("it has more than %d bytes", maxSize)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var doc document
	if err := dec.Decode(&doc); err != nil {
		return nil, cmp.Or(emptyFile(data), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the grants")
	}
	if doc.Version != version {
		return nil, fmt.Errorf("its version is %d, and this ohgw knows version %d", doc.Version, version)
	}
	if len(doc.Grants) > maxGrants {
		return nil, fmt.Errorf("it has more than %d grants", maxGrants)
	}
	for i, g := range doc.Grants {
		if err := g.check(); err != nil {
			return nil, fmt.Errorf("grant %d: %w", i+1, err)
		}
	}
	return doc.Grants, nil
}

func emptyFile(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("it is empty")
	}
	return nil
}

// change rewrites the file under its lock, if the list has changed.
func (s *Store) change(ctx context.Context, edit func([]Grant) ([]Grant, error)) error {
	return s.locked(ctx, func() error {
		list, err := s.read()
		if err != nil {
			return err
		}
		edited, err := edit(list)
		if err != nil || slices.Equal(list, edited) {
			return err
		}
		data, err := json.MarshalIndent(document{version, edited}, "", "  ")
		if err != nil {
			return err
		}
		return atomicfile.Write(s.file, append(data, '\n'), atomicfile.Options{MaxMode: 0o600})
	})
}

// locked calls fn while no other process changes the grants.
func (s *Store) locked(ctx context.Context, fn func() error) error {
	if err := paths.MakePrivate(filepath.Dir(s.file)); err != nil {
		return err
	}
	lock, err := filelock.Acquire(ctx, s.file+".lock", filelock.Options{Mode: 0o600})
	if err != nil {
		return fmt.Errorf("change the grants: %w", err)
	}
	return errors.Join(fn(), lock.Release())
}
