//go:build e2e

package agentserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// The real server keeps the workspace of a conversation that is removed, and
// deploy/helm/ohgw/files/tidy.py reads from its records which ones are used.
func TestTidyReadsTheRecordsOfTheRealServer(t *testing.T) {
	t.Parallel()
	s, llm := agentservertest.Start(t), llmtest.New(t)
	s.SaveProfile(t, "work", agentservertest.LLM(llm.URL))
	b, err := agentserver.New(agentserver.Config{URL: s.URL, Key: func() string { return s.Key }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	root := filepath.Join(t.TempDir(), "workspaces")
	open := func(id, in string) {
		t.Helper()
		c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: id, New: true, Profile: "work", Workspace: filepath.Join(root, in)})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	kept, gone, shared, copied := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	open(kept, kept)
	open(gone, gone)
	open(shared, shared)
	open(copied, shared)
	for _, id := range []string{gone, shared} {
		if err := b.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{kept, gone, shared} {
		if _, err := os.Stat(filepath.Join(root, id)); err != nil {
			t.Errorf("the server itself has removed a workspace: %v", err)
		}
	}
	const program = "../../deploy/helm/ohgw/files/tidy.py"
	if _, err := os.Stat(program); err != nil { // so that go test caches no result of another one
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", program)
	cmd.Env = append(os.Environ(), "WORKSPACES="+root, "CONVERSATIONS="+filepath.Join(s.Dir, "conversations"), "AGE=-1", "EVERY=0")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "workspaces removed: 1\n" {
		t.Errorf("%v: %s", err, out)
	}
	for id, want := range map[string]bool{kept: true, gone: false, shared: true} {
		if _, err := os.Stat(filepath.Join(root, id)); (err == nil) != want {
			t.Errorf("the workspace %s is there: %v, want %v", id, err == nil, want)
		}
	}
}
