package sandboxes

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// A home directory counts as left over only if it was of a workspace of ohgw's own, and
// neither that nor the conversation is there.
func TestHomesThatAreLeftOver(t *testing.T) {
	t.Parallel()
	state, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := homes{state: state, workspaces: filepath.Join(state, "workspaces"), conversations: filepath.Join(state, "conversations")}
	const gone, working, talking, both = "0192f0c1-7f3e-7c00-8000-000000000001", "0192f0c1-7f3e-7c00-8000-000000000002",
		"0192f0c1-7f3e-7c00-8000-000000000003", "0192f0c1-7f3e-7c00-8000-000000000004"
	for _, dir := range []string{
		h.workspaces, filepath.Join(h.workspaces, working), filepath.Join(h.workspaces, both), store.Path(h.conversations, talking), store.Path(h.conversations, both),
	} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for workspace, want := range map[string]bool{
		filepath.Join(h.workspaces, gone):                                                true,
		filepath.Join(store.Path(h.conversations, gone), "worktrees", "a", "project"):    true,
		filepath.Join(store.Path(h.conversations, gone), "subagents", "a", "project"):    false,
		filepath.Join(store.Path(h.conversations, gone), "worktrees", "a"):               false,
		filepath.Join(store.Path(h.conversations, talking), "worktrees", "a", "project"): false,
		filepath.Join(h.workspaces, working):                                             false,
		filepath.Join(h.workspaces, talking):                                             false,
		filepath.Join(h.workspaces, both):                                                false,
		filepath.Join(h.workspaces, gone, "sub"):                                         false,
		filepath.Join(h.workspaces, "project"):                                           false,
		filepath.Join(state, "elsewhere", gone):                                          false,
		h.workspaces + "/../workspaces/" + gone + "/.":                                   false,
		"": false,
	} {
		if got := h.gone(workspace); got != want {
			t.Errorf("%s: gone = %v", workspace, got)
		}
	}

	// The same directory behind a link has the same home directory.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(h.workspaces, link); err != nil {
		t.Skip(err)
	}
	home := boxes.HomeOf(state, filepath.Join(h.workspaces, gone))
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (&Boxes{homes: &h}).Tidy(filepath.Join(link, gone)); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(home)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the home directory: %v", err)
	}
	if err := (&Boxes{}).Tidy(filepath.Join(link, gone)); err != nil {
		t.Errorf("agents in another process: %v", err)
	}
}
