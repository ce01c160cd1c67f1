package daemon_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestOneShotsThatCannotBeNoted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	journal := filepath.Join(dir, "one-shots.jsonl")
	if err := os.Symlink("/dev/full", journal); err != nil {
		t.Fatal(err)
	}
	g := apitest.Serve(t, daemontest.New("default"), func(c *daemon.Config) { c.StateDir = dir })
	res := g.Chat(apitest.Ask("hi"))
	apitest.WantDisk(t, res, http.StatusInsufficientStorage, "storage_full", dir)
	if res.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("headers %v", res.Header)
	}
	if n := g.Backend.Runs(); n != 0 {
		t.Errorf("%d runs", n)
	}
	if err := os.Remove(journal); err != nil {
		t.Fatal(err)
	}
	apitest.Completed(t, g.Chat(apitest.Ask("hi")))
}

// respond asks for a response.
const respond = `{"model": "openhands_default", "input": "hi"}`

// A disk of its own that is full, and has room again.
func TestADiskThatIsFullAndRecovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("needs root that may mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	g := apitest.Serve(t, daemontest.New("default"), func(c *daemon.Config) { c.StateDir = dir })
	conversation := g.Chat(apitest.Ask("first")).Header.Get("X-Openhands-Serverconversation-Id")
	more := func() apitest.Response {
		return g.Chat(apitest.Ask("more"), "X-OpenHands-ServerConversation-ID", conversation)
	}
	ready := func(want int) {
		t.Helper()
		apitest.Eventually(t, "/readyz", func() bool { return g.Do(http.MethodGet, "/readyz", "").Status == want })
	}

	big, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = big.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	// What fills the journal's last page is not told from a disk with room.
	var res apitest.Response
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if res = g.Chat(apitest.Ask("hi")); res.Status != http.StatusOK {
			break
		}
	}
	apitest.WantDisk(t, res, http.StatusInsufficientStorage, "storage_full", dir)
	apitest.WantDisk(t, g.Chat(apitest.Ask("hi"), "Idempotency-Key", "k"), http.StatusInsufficientStorage, "storage_full", dir)
	apitest.WantDisk(t, g.Do(http.MethodPost, "/v1/responses", respond), http.StatusInsufficientStorage, "storage_full", dir)
	ready(http.StatusServiceUnavailable)

	if err := errors.Join(big.Truncate(0), big.Close()); err != nil {
		t.Fatal(err)
	}
	apitest.Completed(t, more())
	apitest.Completed(t, g.Chat(apitest.Ask("hi")))
	apitest.Completed(t, g.Chat(apitest.Ask("hi"), "Idempotency-Key", "k"))
	if res := g.Do(http.MethodPost, "/v1/responses", respond); res.Status != http.StatusOK {
		t.Errorf("a response when there is room again: %d %s", res.Status, res.Body)
	}
	ready(http.StatusOK)
}
