package daemon_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// wantDisk expects the failure of a disk, with the next step and without the
// name of a directory.
func wantDisk(t *testing.T, res response, status int, code, dir string) {
	t.Helper()
	message, _ := envelope(t, res, status, code, "")["message"].(string)
	lacks(t, "the message", message, dir)
	contains(t, "the message", message, "ohgw doctor")
}

func TestReadyKnowsTheStateDirectory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		g := serve(t, daemontest.New("default"), func(c *daemon.Config) { c.StateDir = dir })
		ready := func() response { return g.do(http.MethodGet, "/readyz", "") }
		if res := ready(); res.status != http.StatusOK {
			t.Fatalf("status %d: %s", res.status, res.body)
		}
		if err := os.Rename(dir, dir+"-away"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		wantDisk(t, ready(), http.StatusServiceUnavailable, "storage_unavailable", dir)
		if health := g.do(http.MethodGet, "/healthz", "").body; !strings.Contains(health, `"storage":{"error":"The state`) {
			t.Errorf("health %s", health)
		}
		if err := os.Rename(dir+"-away", dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if res := ready(); res.status != http.StatusOK {
			t.Errorf("status %d: %s", res.status, res.body)
		}
	})
}

// A chat that cannot be read now is neither begun again nor written over.
func TestAChatThatCannotBeReadIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := daemontest.New("default")
	state := func(c *daemon.Config) { c.StateDir = dir }
	named := []string{"X-Chat-Id", "c"}
	first := serve(t, b, state)
	conv := first.chat(ask("one"), named...).header.Get("X-OpenHands-ServerConversation-ID")
	if err := errors.Join(first.stop(), first.daemon.Close()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "chats", "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	size(t, "the directory", files, 1)
	if err := errors.Join(os.Rename(files[0], files[0]+".aside"), os.Mkdir(files[0], 0o700)); err != nil {
		t.Fatal(err)
	}
	g := serve(t, b, state)
	wantDisk(t, g.chat(ask("two"), named...), http.StatusInsufficientStorage, "storage_unavailable", dir)
	if err := errors.Join(os.Remove(files[0]), os.Rename(files[0]+".aside", files[0])); err != nil {
		t.Fatal(err)
	}
	if got := g.chat(ask("two"), named...).header.Get("X-OpenHands-ServerConversation-ID"); got != conv || conv == "" {
		t.Errorf("conversation %q, want %q", got, conv)
	}
}
