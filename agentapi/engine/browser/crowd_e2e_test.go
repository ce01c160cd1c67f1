//go:build e2e && linux

package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/browser"
)

const (
	crowd       = 20
	crowdMemory = 1 << 30 // bytes, of all its processes
)

// memory is what the processes below a Chromium have: resident, and without what they
// share counted twice.
func memory(t *testing.T, root string) (processes int, rss, pss int64) {
	t.Helper()
	parents := map[string]string{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 {
			parents[filepath.Base(filepath.Dir(path))] = fields[1]
		}
	}
	below := func(pid string) bool {
		for range 10 {
			if pid == root {
				return true
			}
			pid = parents[pid]
		}
		return false
	}
	for pid := range parents {
		if !below(pid) {
			continue
		}
		data, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
		if err != nil {
			continue
		}
		processes++
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) < 2 {
				continue
			}
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			switch fields[0] {
			case "Rss:":
				rss += n << 10
			case "Pss:":
				pss += n << 10
			}
		}
	}
	return processes, rss, pss
}

// sees stores the number of a conversation in its site, downloads a file and opens another tab. It
// fails if the conversation then finds what another one has.
func sees(ctx context.Context, s *browser.Session, address string, i int) error {
	state := fmt.Sprintf(`{"origins":[{"origin":%q,"localStorage":[{"name":"mine-%[2]d","value":"%[2]d"}],"sessionStorage":[{"name":"mine-%[2]d","value":"%[2]d"}]}]}`, address, i)
	if _, err := s.SetStorage(ctx, []byte(state)); err != nil {
		return err
	}
	if _, err := s.Navigate(ctx, address+"/file", false); err != nil {
		return err
	}
	if _, err := s.Navigate(ctx, address, true); err != nil {
		return err
	}
	text, err := s.Storage(ctx)
	if err != nil {
		return err
	}
	tabs, err := s.Tabs(ctx)
	if err != nil {
		return err
	}
	if n := strings.Count(text, `"name": "mine-`); n == 0 || n != strings.Count(text, fmt.Sprintf(`"name": "mine-%d"`, i)) || strings.Count(text, `"number-`) != 1 {
		return fmt.Errorf("what others have stored is in %s", text)
	}
	if n := strings.Count(tabs, `"tab_id"`); n != 2 {
		return fmt.Errorf("%d tabs, want 2: %s", n, tabs)
	}
	return nil
}

// TestTwentyConversationsShareOneChromium has them all log in at once, each with its
// own name, store, download, kills Chromium, and has them all go on. None sees what another one
// has.
func TestTwentyConversationsShareOneChromium(t *testing.T) {
	server := site(t)
	p, dir := pool(t)
	sessions, saved := make([]*browser.Session, crowd), make([]string, crowd)
	for i := range sessions {
		sessions[i], saved[i] = open(t, p, server.Listener.Addr().String())
	}
	each := func(do func(i int, s *browser.Session) error) {
		t.Helper()
		var wait sync.WaitGroup
		for i, s := range sessions {
			wait.Go(func() {
				if err := do(i, s); err != nil {
					t.Errorf("conversation %d: %v", i, err)
				}
			})
		}
		wait.Wait()
		if t.Failed() {
			t.FailNow()
		}
	}
	ctx := t.Context()
	login := func(i int, s *browser.Session) error {
		if _, err := s.Navigate(ctx, server.URL, false); err != nil {
			return err
		}
		state := fmt.Sprintf(`{"cookies":[{"name":"who","value":"number-%d","url":%q}]}`, i, server.URL)
		if _, err := s.SetStorage(ctx, []byte(state)); err != nil {
			return err
		}
		if _, err := s.Navigate(ctx, server.URL, false); err != nil {
			return err
		}
		text, err := s.Content(ctx, false, 0)
		if want := fmt.Sprintf("Hello number-%d\n", i); err == nil && !strings.Contains(text, want) {
			return fmt.Errorf("not %q in %s", want, text)
		}
		return err
	}
	each(login)
	each(func(_ int, s *browser.Session) error { _, _, err := s.State(ctx, true); return err })
	roots := mains(t, dir)
	if len(roots) != 1 {
		t.Fatalf("there are %d Chromium: %v", len(roots), roots)
	}
	processes, rss, pss := memory(t, roots[0])
	t.Logf("%d conversations: %d processes, RSS %d MB, PSS %d MB", crowd, processes, rss>>20, pss>>20)
	if pss > crowdMemory || processes < 3 {
		t.Errorf("%d conversations need %d MB in %d processes, more than %d MB", crowd, pss>>20, processes, crowdMemory>>20)
	}
	each(func(i int, s *browser.Session) error { return sees(ctx, s, server.URL, i) })
	for i, dir := range saved {
		files, err := os.ReadDir(dir)
		data, readErr := os.ReadFile(filepath.Join(dir, "report.csv"))
		if want := fmt.Sprintf("number-%d\n", i); err != nil || readErr != nil || len(files) != 1 || string(data) != want {
			t.Errorf("downloads of conversation %d = %v with %q (%v, %v), want one file with %q", i, files, data, err, readErr, want)
		}
	}
	kill(t, dir)
	each(func(_ int, s *browser.Session) error {
		if _, err := s.Tabs(ctx); err == nil || !strings.Contains(err.Error(), "ended unexpectedly") {
			return fmt.Errorf("after kill -9: %w", err)
		}
		return nil
	})
	each(login)
	if again := mains(t, dir); len(again) != 1 || again[0] == roots[0] {
		t.Errorf("after kill -9 there are %v", again)
	}
}
