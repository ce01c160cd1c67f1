// Package answers keeps what a person was asked once: in which directories agents may
// work, which agent-server may have keys, what was chosen in place of an LLM profile.
//
// A store is a file of JSON lines, for the user only, that several processes may use at the
// same time. Invariants: a writer never loses a line that another one stored. A line that
// is cut off or cannot be read does not count as an answer, so the question comes again.
package answers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// patience bounds the wait for another process that writes.
const patience = 5 * time.Second

// Store has answers of the type T, each a line.
type Store[T any] struct {
	Path string
}

// In is the store in the file of that name, in the state directory.
func In[T any](dirs paths.Set, name string) Store[T] {
	return Store[T]{filepath.Join(dirs.State, "chat", name)}
}

// Any reports whether there is an answer for which is is true.
func (s Store[T]) Any(is func(T) bool) bool {
	data, err := os.ReadFile(s.Path)
	if err != nil {
		return false
	}
	for line := range bytes.Lines(data) {
		var answer T
		if json.Unmarshal(line, &answer) == nil && is(answer) {
			return true
		}
	}
	return false
}

// Add stores an answer beside the others.
func (s Store[T]) Add(ctx context.Context, answer T) error {
	return s.write(ctx, answer, func(old []byte) []byte {
		if len(old) > 0 && old[len(old)-1] != '\n' {
			return append(old, '\n')
		}
		return old
	})
}

// Set stores an answer in place of all others.
func (s Store[T]) Set(ctx context.Context, answer T) error {
	return s.write(ctx, answer, func([]byte) []byte { return nil })
}

func (s Store[T]) write(ctx context.Context, answer T, kept func(old []byte) []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("store the answer: %w", err)
		}
	}()
	line, err := plainjson.Marshal(answer)
	if err != nil {
		return err
	}
	if err := paths.MakePrivate(filepath.Dir(s.Path)); err != nil {
		return err
	}
	lock, err := filelock.Acquire(ctx, s.Path+".lock", filelock.Options{Timeout: patience, Mode: 0o600})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	data, err := os.ReadFile(s.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data = append(append(kept(data), bytes.TrimSpace(line)...), '\n')
	return atomicfile.Write(s.Path, data, atomicfile.Options{MaxMode: 0o600})
}
