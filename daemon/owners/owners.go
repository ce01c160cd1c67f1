// Package owners remembers which token began a conversation.
//
// A conversation is its owner's: other tokens are refused. What has no owner
// was begun elsewhere, by an ohgw that required no key, or by one that knew of
// no owners yet; who may enter that is for the caller to say.
//
// Owners are lines in up to 256 files below the state directory, by the first
// digits of the conversation's id. Nothing is read when the gateway starts and
// nothing is kept in memory: an owner is looked up in one file of some kilobytes.
// The last line of a conversation counts. A line that a crash cut off does not.
// Lines are not synced: after a power loss a conversation may have no owner.
package owners

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/uuid"
)

// minSize is the size of a file below which it is never rewritten, in bytes.
const minSize = 16 << 10

// Store knows the owners of conversations. Its methods may be called at the
// same time.
type Store struct {
	dir string // empty: in memory

	mu     sync.Mutex
	memory map[string]string
	living map[string]int64 // by file: its size when it had no line too many
}

// Open opens the owners of a state directory. With an empty name they are kept
// in memory.
func Open(stateDir string) *Store {
	s := &Store{memory: make(map[string]string), living: make(map[string]int64)}
	if stateDir != "" {
		s.dir = filepath.Join(stateDir, "owners")
	}
	return s
}

// Owner is the id of the token that owns a conversation; empty: nobody does.
func (s *Store) Owner(conversation string) (token string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return s.memory[conversation], nil
	}
	data, err := s.read(conversation)
	if err != nil {
		return "", err
	}
	for rest := data; ; {
		at := bytes.LastIndex(rest, []byte("\n"+conversation+" "))
		if at < 0 {
			return "", nil
		}
		if _, token, whole := parse(lineAt(data, at)); whole {
			return token, nil
		}
		rest = rest[:at]
	}
}

// Claim notes who owns a conversation.
func (s *Store) Claim(conversation, token string) error {
	if token == "" || strings.ContainsAny(token, " \n;") {
		return fmt.Errorf("record owner: %q is not a token id", token)
	}
	return s.note(conversation, token)
}

// Forget notes that a conversation is gone, and with it its owner.
func (s *Store) Forget(conversation string) error { return s.note(conversation, "") }

func (s *Store) note(conversation, token string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		delete(s.memory, conversation)
		if token != "" {
			s.memory[conversation] = token
		}
		return nil
	}
	if err := s.append(conversation, line(conversation, token)); err != nil {
		return fmt.Errorf("record owner: %w", err)
	}
	return nil
}

// append adds a line to the file of a conversation, and takes out the lines
// that count no more when they are half of it. The caller holds s.mu.
func (s *Store) append(conversation, text string) error {
	path, err := s.path(conversation)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(s.dir, 0o700); err != nil {
			return err
		}
		f, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		return err
	}
	if size := info.Size(); size < max(minSize, 2*s.living[path]) {
		return nil
	}
	return s.shorten(path)
}

// shorten writes a file again with the lines that count. The caller holds s.mu.
func (s *Store) shorten(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	owners := make(map[string]string)
	for text := range bytes.SplitSeq(data, []byte{'\n'}) {
		switch conversation, token, whole := parse(text); {
		case !whole:
		case token == "":
			delete(owners, conversation)
		default:
			owners[conversation] = token
		}
	}
	var kept strings.Builder
	for conversation, token := range owners {
		kept.WriteString(line(conversation, token))
	}
	s.living[path] = int64(kept.Len())
	return atomicfile.Write(path, []byte(kept.String()), atomicfile.Options{})
}

func (s *Store) read(conversation string) ([]byte, error) {
	path, err := s.path(conversation)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look up owner: %w", err)
	}
	return data, nil
}

// path is the file of a conversation. The id of one is always in normal form.
func (s *Store) path(conversation string) (string, error) {
	if id, err := uuid.Parse(conversation); err != nil || id != conversation {
		return "", fmt.Errorf("owner of %q: %w", conversation, uuid.ErrMalformed)
	}
	return filepath.Join(s.dir, conversation[:2]), nil
}

// line is how an owner is noted. It begins with a newline, so that one that a
// crash cut off does not spoil the next, and ends with a mark, so that it is
// not taken for a whole one.
func line(conversation, token string) string { return "\n" + conversation + " " + token + ";" }

// parse reads a line without its newline.
func parse(text []byte) (conversation, token string, whole bool) {
	text, whole = bytes.CutSuffix(text, []byte{';'})
	before, after, ok := bytes.Cut(text, []byte{' '})
	return string(before), string(after), whole && ok
}

// lineAt is the line after the newline at a place.
func lineAt(data []byte, at int) []byte {
	text, _, _ := bytes.Cut(data[at+1:], []byte{'\n'})
	return text
}
