package several

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ohgw/ohgw/internal/recordfile"
	"github.com/ohgw/ohgw/internal/uuid"
)

// notes say which server has a conversation: a small file each. Several processes
// may share them. Conversations of the main backend have none.
type notes struct{ dir *recordfile.Dir }

func openNotes(dir string) notes { return notes{recordfile.Open(dir)} }

// Any reports whether a directory has notes of a Backend.
func Any(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// maxNote bounds what is read of a note.
const maxNote = 256

// of is the server that has a conversation; "" if none is noted.
func (n notes) of(id string) (server string, err error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return "", nil //nolint:nilerr // such a conversation has no note
	}
	data, err := n.dir.Head(id, maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read where conversation %s is: %w", id, err)
	}
	return strings.TrimSpace(string(data)), nil
}

func (n notes) put(id, server string) error {
	if err := n.dir.Write(id, []byte(server+"\n")); err != nil {
		return fmt.Errorf("note where conversation %s is: %w", id, err)
	}
	return nil
}

func (n notes) drop(id string) error {
	if err := n.dir.Remove(id); err != nil {
		return fmt.Errorf("forget where conversation %s was: %w", id, err)
	}
	return nil
}
