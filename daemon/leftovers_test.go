package daemon_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// A process that is killed while it writes leaves a temporary file, which the next one
// removes.
func TestLeftoversOfAKilledProcessAreRemoved(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	put := func(name string, age time.Duration) string {
		path := filepath.Join(state, name)
		when := time.Now().Add(-age)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gone := []string{put(".ohgw-1.tmp", 2*time.Hour), put("pool/servers/.ohgw-1.tmp", 2*time.Hour), put("servers/.ohgw-1.tmp", 2*time.Hour)}
	for _, dir := range []string{"idempotency", "owners", "chats/0f", "responses/0f", "client-items/0f"} {
		gone = append(gone, put(dir+"/.ohgw-1.tmp", 0))
	}
	stays := []string{
		put(".ohgw-2.tmp", time.Minute),                                                       // a command may be writing the keys
		put("pool/servers/.ohgw-2.tmp", time.Minute), put("servers/.ohgw-2.tmp", time.Minute), // the same
		put("backups/.ohgw-1.tmp", 2*time.Hour), put("workspaces/0f/.ohgw-1.tmp", 2*time.Hour), put("idempotency/notes.txt", 2*time.Hour),
	}
	serve(t, daemontest.New("default"), func(c *daemon.Config) { c.StateDir = state })
	for _, path := range gone {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if _, err := os.Lstat(path); os.IsNotExist(err) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is still there", path)
			}
		}
	}
	for _, path := range stays {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}
