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
	"path/filepath"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/internal/recordfile"
	"github.com/ohgw/ohgw/internal/uuid"
)

// minSize is the size of a file below which it is never rewritten, in bytes.
const minSize = 16 << 10

// Store knows the owners of conversations. Its methods may be called at the
// same time.
type Store struct {
	files *recordfile.Dir

	mu     sync.Mutex
	living map[string]int // by file: its size when it had no line too many
}

// Open opens the owners of a state directory. With an empty name they are kept
// in memory.
func Open(stateDir string) *Store {
	dir := ""
	if stateDir != "" {
		dir = filepath.Join(stateDir, "owners")
	}
	return &Store{files: recordfile.Open(dir), living: make(map[string]int)}
}

// Owner returns the id of the token that owns a conversation; empty: it has no owner.
func (s *Store) Owner(conversation string) (token string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, data, err := s.read(conversation)
	if err != nil {
		return "", fmt.Errorf("look up owner: %w", err)
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

// note adds a line to the file of a conversation, and takes out the lines that
// count no more when they are half of it.
func (s *Store) note(conversation, token string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, data, err := s.read(conversation)
	text := line(conversation, token)
	switch {
	case err != nil:
	case data == nil || len(data) >= max(minSize, 2*s.living[name]):
		kept := shortened(append(data, "\n"+text...))
		s.living[name] = len(kept)
		err = s.files.Write(name, kept)
	default:
		err = s.files.Append(name, []byte(text))
	}
	if err != nil {
		return fmt.Errorf("record owner: %w", err)
	}
	return nil
}

// shortened rewrites a file with only the lines that count.
func shortened(data []byte) []byte {
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
	var kept bytes.Buffer
	for conversation, token := range owners {
		kept.WriteString("\n" + line(conversation, token))
	}
	return kept.Bytes()
}

// read reads the file of a conversation, which need not be there. The id of one is
// always in normal form.
func (s *Store) read(conversation string) (name string, data []byte, err error) {
	if id, err := uuid.Parse(conversation); err != nil || id != conversation {
		return "", nil, fmt.Errorf("owner of %q: %w", conversation, uuid.ErrMalformed)
	}
	name = conversation[:2]
	if data, err = s.files.Read(name); errors.Is(err, fs.ErrNotExist) {
		return name, nil, nil
	}
	return name, data, err
}

// line is how an owner is noted, behind a newline. It ends with a mark, so that one
// that a crash cut off is not taken for a whole one.
func line(conversation, token string) string { return conversation + " " + token + ";" }

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
