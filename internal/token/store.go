package token

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/paths"
)

// Config says where tokens are.
type Config struct {
	Dir string // the state directory; made when something is written
	Now func() time.Time
	// Keys are the values of OHGW_API_KEYS. If there are any, Check knows
	// these and no others: they may call any model and never expire.
	Keys []string
}

// Store is the tokens of one user. Its methods may be called at the same time,
// by several processes too.
type Store struct {
	dir   string
	now   func() time.Time
	fixed []entry

	mu      sync.Mutex
	info    fs.FileInfo // of the file that entries are from; nil: no file
	entries []entry
}

// entry is a token and what its value is compared with.
type entry struct {
	Token

	sum sum
}

// NewStore makes a Store. It reads nothing yet.
func NewStore(c Config) *Store {
	s := &Store{dir: c.Dir, now: c.Now}
	for i, key := range c.Keys {
		h := sumOf(key)
		s.fixed = append(s.fixed, entry{Token{ID: h.id(), Name: fmt.Sprintf("OHGW_API_KEYS[%d]", i), Tail: tail(key)}, h})
	}
	return s
}

// SplitKeys reads the value of OHGW_API_KEYS: keys separated by commas.
func SplitKeys(s string) []string {
	var keys []string
	for key := range strings.SplitSeq(s, ",") {
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// Check finds the token with the value that a client presented. The error is
// ErrUnknown, ErrExpired (then the token comes with it), or why the tokens
// cannot be read, which is no fault of the client. It takes the same time
// wherever in the store a token is.
func (s *Store) Check(presented string) (Token, error) {
	entries, err := s.current()
	if err != nil {
		return Token{}, err
	}
	if presented == "" {
		return Token{}, ErrUnknown
	}
	h := sumOf(presented)
	found := -1
	for i := range entries {
		if subtle.ConstantTimeCompare(entries[i].sum[:], h[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Token{}, ErrUnknown
	}
	t := entries[found].Token
	if t.Expired(s.now()) {
		return t, ErrExpired
	}
	return t, nil
}

// List gives all tokens in the order of their names.
func (s *Store) List() ([]Token, error) {
	entries, err := s.current()
	if err != nil {
		return nil, err
	}
	tokens := make([]Token, 0, len(entries))
	for _, e := range entries {
		tokens = append(tokens, e.Token)
	}
	slices.SortFunc(tokens, func(a, b Token) int { return strings.Compare(a.Name, b.Name) })
	return tokens, nil
}

// Replaced reports whether OHGW_API_KEYS takes the place of the files.
func (s *Store) Replaced() bool { return len(s.fixed) > 0 }

// current is the tokens as they are now. The file is read again when it is
// another one than the last time: every change puts a new file in its place.
func (s *Store) current() ([]entry, error) {
	if s.Replaced() {
		return s.fixed, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.path(tokensFile))
	if errors.Is(err, fs.ErrNotExist) {
		s.info, s.entries = nil, nil
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	if s.info != nil && os.SameFile(s.info, info) && s.info.ModTime().Equal(info.ModTime()) && s.info.Size() == info.Size() {
		return s.entries, nil
	}
	doc, err := s.read()
	if err != nil {
		return nil, err
	}
	// A file that was replaced after the stat is read again the next time.
	s.info, s.entries = info, doc.entries
	return s.entries, nil
}

// Create makes a token and returns its value, which is kept nowhere, unless it
// is the default token. ErrExists, ErrName, ErrModel.
func (s *Store) Create(ctx context.Context, spec Spec) (value string, t Token, err error) {
	if err := spec.check(); err != nil {
		return "", Token{}, err
	}
	err = s.change(ctx, func(doc *document) error {
		if doc.find(spec.Name) >= 0 {
			return ErrExists
		}
		value, t, err = s.add(doc, spec)
		return err
	})
	if err != nil {
		return "", Token{}, err
	}
	return value, t, nil
}

// Revoke removes a token. ErrNotFound.
func (s *Store) Revoke(ctx context.Context, name string) error {
	return s.change(ctx, func(doc *document) error {
		i := doc.find(name)
		if i < 0 {
			return ErrNotFound
		}
		doc.entries = slices.Delete(doc.entries, i, i+1)
		if name == DefaultName {
			return removeFile(s.path(defaultFile))
		}
		return nil
	})
}

// EnsureDefault makes the default token if there never was one. One that was
// revoked stays away.
func (s *Store) EnsureDefault(ctx context.Context) (made bool, err error) {
	err = s.change(ctx, func(doc *document) error {
		if doc.hadDefault || doc.find(DefaultName) >= 0 {
			return errUnchanged
		}
		made = true
		_, _, err := s.add(doc, Spec{Name: DefaultName})
		return err
	})
	return made && err == nil, err
}

// Default is the value of the default token. ErrNotFound when it was revoked
// or never made, ErrNoValue when only its hash is here, fs.ErrPermission when
// others could have read it.
func (s *Store) Default() (string, error) {
	doc, err := s.read()
	if err != nil {
		return "", err
	}
	i := doc.find(DefaultName)
	if i < 0 {
		return "", fmt.Errorf("default token: %w", ErrNotFound)
	}
	value, err := keyfile.Read(s.path(defaultFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && sumOf(value) != doc.entries[i].sum {
		return "", fmt.Errorf("default token: %w", ErrNoValue)
	}
	if err != nil {
		return "", fmt.Errorf("default token: %w", err)
	}
	return value, nil
}

func (s *Store) add(doc *document, spec Spec) (string, Token, error) {
	value := newValue()
	h := sumOf(value)
	t := Token{
		ID: h.id(), Name: spec.Name, Models: spec.Models, Tail: tail(value),
		Created: s.now().UTC().Truncate(time.Second), Expires: spec.Expires.UTC().Truncate(time.Second),
	}
	if spec.Name == DefaultName {
		// Before the hash: a crash between the two makes another one later.
		if err := atomicfile.Write(s.path(defaultFile), []byte(value+"\n"), atomicfile.Options{MaxMode: 0o600}); err != nil {
			return "", Token{}, err
		}
		doc.hadDefault = true
	}
	doc.entries = append(doc.entries, entry{t, h})
	return value, t, nil
}

// errUnchanged ends a change that has nothing to write.
var errUnchanged = errors.New("unchanged")

// change rewrites the tokens under their lock.
func (s *Store) change(ctx context.Context, edit func(*document) error) error {
	if err := paths.MakePrivate(s.dir); err != nil {
		return err
	}
	lock, err := filelock.Acquire(ctx, s.path(lockFile), filelock.Options{Mode: 0o600})
	if err != nil {
		return fmt.Errorf("change tokens: %w", err)
	}
	err = s.rewrite(edit)
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return errors.Join(err, lock.Release())
}

func (s *Store) rewrite(edit func(*document) error) error {
	doc, err := s.read()
	if err != nil {
		return err
	}
	if err := edit(&doc); err != nil {
		return err
	}
	return atomicfile.Write(s.path(tokensFile), doc.encode(), atomicfile.Options{MaxMode: 0o600})
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
