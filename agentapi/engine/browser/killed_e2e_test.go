//go:build e2e && linux

package browser_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/browser"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// holdVariable names the directory of a process that opens a page and waits to be killed.
const holdVariable = "OHGW_TEST_HOLD_BROWSER"

// TestAProcessHoldsABrowser is that process. Without the variable it does nothing.
func TestAProcessHoldsABrowser(t *testing.T) {
	root := os.Getenv(holdVariable)
	if root == "" {
		return
	}
	path, err := browser.Find("", os.Environ(), "")
	if err != nil {
		t.Fatal(err)
	}
	server := site(t)
	p := browser.NewPool(browser.Config{Find: func() (string, error) { return path, nil }, Dir: filepath.Join(root, "state")})
	s, _ := open(t, p, server.Listener.Addr().String())
	must(t)(s.Navigate(t.Context(), server.URL, false))
	fmt.Println("READY")
	select {} // until it is killed
}

// TestNoChromiumOutlivesOhgw kills the process that has started Chromium, and then starts
// another one, which removes what the first has left on disk.
func TestNoChromiumOutlivesOhgw(t *testing.T) {
	p, root := pool(t) // the next process
	tmp := filepath.Join(root, "tmp")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAProcessHoldsABrowser$")
	cmd.Env = append(os.Environ(), holdVariable+"="+root, "TMPDIR="+tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "READY" {
		t.Log(lines.Text())
	}
	if pids := running(t, root); len(pids) < 3 {
		t.Errorf("processes of Chromium before the kill: %v", pids)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	waittest.Until(t, time.Minute, "the end of Chromium", func() (any, bool) {
		left := running(t, root)
		return left, len(left) == 0
	})
	server := site(t)
	s, _ := open(t, p, server.Listener.Addr().String())
	must(t)(s.Navigate(t.Context(), server.URL, false))
	entries, err := filepath.Glob(filepath.Join(root, "state", "chromium-*.lock"))
	if err != nil || len(entries) != 1 {
		t.Errorf("locks of Chromium: %v, %v", entries, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	// The helper's own directories are not removed, as it was killed; all of Chromium's are.
	left, err := filepath.Glob(filepath.Join(tmp, "Test*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
}
