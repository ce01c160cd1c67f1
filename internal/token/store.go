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
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/workdir"
)

// Config says where tokens are.
type Config struct {
	Dir string // the state directory; made when something is written
	Now func() time.Time
	// Keys are the values of OHGW_API_KEYS. If there are any, Check knows
	// these and no others: they may call any model and never expire.
	Keys []string
	// Values keeps the plain value of the default token; nil for none. Where it
	// does not work, a private file in Dir keeps the value.
	Values secret.Store
}

// Store is the tokens of one user. Its methods may be called at the same time,
// by several processes too.
type Store struct {
	dir    string
	now    func() time.Time
	fixed  []entry
	values secret.Store

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
	s := &Store{dir: c.Dir, now: c.Now, values: c.Values}
	for i, key := range c.Keys {
		h := sumOf(key)
		s.fixed = append(s.fixed, entry{Token{ID: h.id(), Name: fmt.Sprintf("%s[%d]", keysVariable, i), Tail: tail(key)}, h})
	}
	return s
}

// firstKey is the name of the first key of OHGW_API_KEYS, which no token of the
// files can have.
const firstKey = keysVariable + "[0]"

// keysVariable is the variable with keys that take the place of the files.
const keysVariable = "OHGW_API_KEYS"

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
// cannot be read, which is not the client's fault. It takes the same time
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

// List returns all tokens in the order of their names.
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

// ValueFile is the path of the file that keeps the value of the default token
// where Config.Values does not.
func (s *Store) ValueFile() string { return s.path(valueFile) }

// current returns the tokens as they are now. The file is read again when it is
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

// Made is a token that was just made.
type Made struct {
	Token

	Value secret.Value // shown once

	// WhyFile is why Config.Values does not keep the value of the default
	// token, so that a private file does; nil otherwise. The values of other
	// tokens are never kept.
	WhyFile error
}

// Create makes a token. ErrExists, ErrName, ErrModel.
func (s *Store) Create(ctx context.Context, spec Spec) (made Made, err error) {
	if err := spec.check(); err != nil {
		return Made{}, err
	}
	err = s.change(ctx, func(doc *document) (err error) {
		if doc.find(spec.Name) >= 0 {
			return ErrExists
		}
		made, err = s.add(ctx, doc, spec)
		return err
	})
	if err != nil {
		return Made{}, err
	}
	return made, nil
}

// Revoke removes a token. ErrNotFound. The value of the default token opens
// nothing afterwards; [Store.Forget] removes it, too.
func (s *Store) Revoke(ctx context.Context, name string) error {
	return s.change(ctx, func(doc *document) error {
		i := doc.find(name)
		if i < 0 {
			return ErrNotFound
		}
		doc.entries = slices.Delete(doc.entries, i, i+1)
		return nil
	})
}

// add makes a token. The value of the default token is kept before its hash: a
// crash between the two makes another one later.
func (s *Store) add(ctx context.Context, doc *document, spec Spec) (made Made, err error) {
	made = Made{Value: newValue()}
	h := sumOf(made.Value.Reveal())
	made.Token = Token{
		ID: h.id(), Name: spec.Name, Models: spec.Models, ChatBy: spec.ChatBy, Workspaces: workspacesOf(spec.Name, spec.Models, spec.Workspaces), Tail: tail(made.Value.Reveal()),
		AllConversations: spec.AllConversations, Confirm: floorOf(spec.Confirm), Budgets: spec.Budgets, Native: spec.Native,
		Created: s.now().UTC().Truncate(time.Second), Expires: spec.Expires.UTC().Truncate(time.Second),
	}
	if spec.Name == DefaultName {
		if made.WhyFile, err = s.keep(ctx, made.Value); err != nil {
			return Made{}, err
		}
		doc.hadDefault = true
	}
	doc.entries = append(doc.entries, entry{made.Token, h})
	return made, nil
}

// workspacesOf are the directories that a token may choose. The default token is
// the user's own, and may choose any, unless it was limited.
func workspacesOf(name string, models, dirs []string) []string {
	if name == DefaultName && len(models) == 0 && len(dirs) == 0 {
		return []string{workdir.Any}
	}
	return dirs
}

// errUnchanged ends a change that has nothing to write.
var errUnchanged = errors.New("unchanged")

// change rewrites the tokens under their lock.
func (s *Store) change(ctx context.Context, edit func(*document) error) error {
	err := s.locked(ctx, func() error { return s.rewrite(edit) })
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// locked calls fn while no other process changes anything.
func (s *Store) locked(ctx context.Context, fn func() error) error {
	if err := paths.MakePrivate(s.dir); err != nil {
		return err
	}
	lock, err := filelock.Acquire(ctx, s.path(lockFile), filelock.Options{Mode: 0o600})
	if err != nil {
		return fmt.Errorf("change tokens: %w", err)
	}
	return errors.Join(fn(), lock.Release())
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
