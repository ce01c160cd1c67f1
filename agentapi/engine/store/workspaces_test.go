package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/store"
)

func TestWorkspacesAreThoseOfAllConversations(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const one, two, three = "0192f0c17f3e7c008000000000000001", "0192f0c17f3e7c008000000000000002", "0192f0c17f3e7c008000000000000003"
	write(one+"/base_state.json", `{"workspace":{"working_dir":"/src/app","kind":"LocalWorkspace"}}`)
	write(two+"/base_state.json", `{"workspace":{"working_dir":"/src/other"},"id":5}`)
	write(three+"/lock", "")
	write("notes/base_state.json", "{")
	got, err := store.Workspaces(root)
	if slices.Sort(got); err != nil || !slices.Equal(got, []string{"/src/app", "/src/other"}) {
		t.Errorf("Workspaces = %q, error %v", got, err)
	}
	write(three+"/events/event-00000-x.json", "{}")
	if got, err := store.Workspaces(root); err == nil {
		t.Errorf("without a state: %q", got)
	}
	write(three+"/base_state.json", `{"workspace":`)
	if got, err := store.Workspaces(root); !errors.Is(err, store.ErrCorrupt) || got != nil {
		t.Errorf("with half a state: %q, %v", got, err)
	}
	if got, err := store.Workspaces(filepath.Join(root, "none")); got != nil || err != nil {
		t.Errorf("Workspaces = %q, error %v", got, err)
	}
}
