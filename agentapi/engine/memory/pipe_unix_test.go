//go:build unix

package memory_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/agentapi/engine/memory"
)

// A pipe in the place of notes is not waited for.
func TestAPipeHasNoNotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := unix.Mkfifo(w.user(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.read(memory.Budget); got != "" || len(w.warned) != 1 {
		t.Errorf("notes = %q, warnings %q", got, w.warned)
	}
}
