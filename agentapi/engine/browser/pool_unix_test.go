//go:build unix

package browser_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/browser"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// silent is a pool whose Chromium never answers. begun is written when it starts.
func silent(t *testing.T) (p *browser.Pool, begun string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil { // for a program with another user's rights
		t.Fatal(err)
	}
	begun = filepath.Join(dir, "begun")
	path := filepath.Join(dir, "chromium")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho $$ >>'"+begun+"'\nexec sleep 300\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(begun, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(begun, 0o666); err != nil {
		t.Fatal(err)
	}
	p = browser.NewPool(browser.Config{Find: func() (string, error) { return path, nil }, Dir: filepath.Join(dir, "state")})
	t.Cleanup(func() { _ = p.Close() })
	return p, begun
}

// starts are the processes that a silent Chromium has had.
func starts(begun string) []string {
	data, _ := os.ReadFile(begun)
	return strings.Fields(string(data))
}

// A conversation that is stopped does not wait for a Chromium that is still starting,
// neither the one that started it nor one that came later.
func TestAnActionThatIsStoppedDoesNotWaitForChromium(t *testing.T) {
	t.Parallel()
	p, begun := silent(t)
	first, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Open(browser.SessionConfig{}).Navigate(first, "http://a.example", false)
		ended <- err
	}()
	waittest.Until(t, time.Minute, "the start of Chromium", func() (any, bool) {
		pids := starts(begun)
		return pids, len(pids) > 0
	})
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			at := time.Now()
			s := p.Open(browser.SessionConfig{})
			_, err := s.Navigate(ctx, "http://a.example", false)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(at) > time.Minute {
				t.Errorf("stopped after %s: %v", time.Since(at), err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("first action: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the conversation that started Chromium waits for it")
	}
	if n := len(starts(begun)); n != 1 {
		t.Errorf("Chromium was started %d times", n)
	}
	at := time.Now()
	if err := p.Close(); err != nil || time.Since(at) > time.Minute {
		t.Errorf("closed after %s: %v", time.Since(at), err)
	}
	pid, err := strconv.Atoi(starts(begun)[0])
	if err != nil || syscall.Kill(pid, 0) == nil {
		t.Errorf("process %d is left: %v", pid, err)
	}
	if _, err := p.Open(browser.SessionConfig{}).Navigate(t.Context(), "http://a.example", false); err == nil {
		t.Error("a closed pool has started Chromium")
	}
}
