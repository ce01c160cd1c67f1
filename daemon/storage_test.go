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
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

func TestReadyKnowsTheStateDirectory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		g := apitest.Serve(t, daemontest.New("default"), func(c *daemon.Config) { c.StateDir = dir })
		ready := func() apitest.Response { return g.Do(http.MethodGet, "/readyz", "") }
		if res := ready(); res.Status != http.StatusOK {
			t.Fatalf("status %d: %s", res.Status, res.Body)
		}
		if err := os.Rename(dir, dir+"-away"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		apitest.WantDisk(t, ready(), http.StatusServiceUnavailable, "storage_unavailable", dir)
		if health := g.Do(http.MethodGet, "/healthz", "").Body; !strings.Contains(health, `"storage":{"error":"The state`) {
			t.Errorf("health %s", health)
		}
		if err := os.Rename(dir+"-away", dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if res := ready(); res.Status != http.StatusOK {
			t.Errorf("status %d: %s", res.Status, res.Body)
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
	first := apitest.Serve(t, b, state)
	conv := first.Chat(apitest.Ask("one"), named...).Header.Get("X-OpenHands-ServerConversation-ID")
	if err := errors.Join(first.Stop(), first.Daemon.Close()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "chats", "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	apitest.Size(t, "the directory", files, 1)
	if err := errors.Join(os.Rename(files[0], files[0]+".aside"), os.Mkdir(files[0], 0o700)); err != nil {
		t.Fatal(err)
	}
	g := apitest.Serve(t, b, state)
	apitest.WantDisk(t, g.Chat(apitest.Ask("two"), named...), http.StatusInsufficientStorage, "storage_unavailable", dir)
	if err := errors.Join(os.Remove(files[0]), os.Rename(files[0]+".aside", files[0])); err != nil {
		t.Fatal(err)
	}
	if got := g.Chat(apitest.Ask("two"), named...).Header.Get("X-OpenHands-ServerConversation-ID"); got != conv || conv == "" {
		t.Errorf("conversation %q, want %q", got, conv)
	}
}
