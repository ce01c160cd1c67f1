package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon/apitest"
)

// A process that is killed while it writes leaves temporary files; the next one
// removes them, but no file of a workspace and none that another command is writing.
func TestTemporaryFilesOfAKilledProcessAreRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		put := func(written time.Time, names ...string) {
			t.Helper()
			for _, name := range names {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{"), 0o600), os.Chtimes(path, written, written)); err != nil {
					t.Fatal(err)
				}
			}
		}
		is := func(want bool, names ...string) {
			t.Helper()
			for _, name := range names {
				if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); (err == nil) != want {
					t.Errorf("%s is there: %t, want %t", name, err == nil, want)
				}
			}
		}
		killed := []string{
			".ohgw-1.tmp", "chats/ab/.ohgw-2.tmp", "conversations/c1/.ohgw-base_state.json.tmp", "idempotency/.ohgw-3.tmp",
			"responses/cd/.ohgw-4.tmp", "sandbox/.ohgw-5.tmp", "conversations/c1/.ohgw-6.tmp",
		}
		others := []string{
			"workspaces/.ohgw-1.tmp", "workspaces/w/.ohgw-1.tmp", "workspaces/w/a/.ohgw-1.tmp", "native/worktrees/w/.ohgw-1.tmp",
			"conversations/c1/tmp/.ohgw-1.tmp", "sandbox/b1/home/.ohgw-1.tmp", "chats/ab/1.json", "theirs.tmp",
		}
		put(time.Now().Add(-time.Second), killed...)
		put(time.Now().Add(-48*time.Hour), others...)
		apitest.Echoing(t, apitest.StateIn(dir))
		put(time.Now().Add(time.Second), ".ohgw-new.tmp")
		time.Sleep(50 * time.Second)
		is(true, killed...)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		is(false, killed...)
		is(true, append(others, ".ohgw-new.tmp")...)
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		is(false, ".ohgw-new.tmp")
		is(true, "workspaces/w/.ohgw-1.tmp", "native/worktrees/w/.ohgw-1.tmp")
	})
}
