//go:build e2e

package engine_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestPythonOpensWhatACrashLeft has the real SDK load and continue directories as they are
// when a disk died at any write, and a process after any event. They were not repaired
// before.
func TestPythonOpensWhatACrashLeft(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("/tmp", "ohgw-crash-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string][]string{}
	keep := func(w *world, acknowledged []string) {
		hex := strings.ReplaceAll(w.id, "-", "")
		if _, err := os.Stat(filepath.Join(w.dir(), "base_state.json")); err != nil {
			if len(acknowledged) > 0 {
				t.Errorf("%d events were seen of a conversation that is not there", len(acknowledged))
			}
			return
		}
		seen[hex] = acknowledged
		copyDir(t, filepath.Join(root, hex), w.dir())
	}
	for seed := range deaths {
		keep(diskDied(t, seed))
	}
	for after := 1; after <= 24; after += 4 {
		w := newWorld(t)
		twelve(w.llm)
		keep(w, killed(t, self, after, childConfig{Dir: w.cfg.Dir, Workspace: w.workspace, ID: w.id, URL: w.llm.URL}))
	}
	results := continuedByPython(t, root, llmtest.New(t))
	for hex, acknowledged := range seen {
		r, found := results[hex]
		if !found || r.Error != "" || r.Ended != "finished" {
			t.Errorf("%s: ended %q\n%s", hex, r.Ended, r.Error)
			continue
		}
		listed := map[string]bool{}
		for _, e := range r.Before {
			listed[e[1]] = true
		}
		for _, id := range acknowledged {
			if !listed[id] {
				t.Errorf("%s: event %s was seen, and Python does not list it", hex, id)
			}
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d crashes left a conversation", len(seen))
	}
}

// diskDied runs the twelve events on a disk that dies, and gives what was seen
// of them.
func diskDied(t *testing.T, seed int) (*world, []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	disk := &mortal{left: firstDeath + seed%deaths, after: r.IntN(2) == 0}
	w := newWorld(t, func(c *engine.Config) { c.Files = disk })
	twelve(w.llm)
	s, err := w.open().Watch(w.ctx(), "")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	if err := w.open().Send(w.ctx(), agentapi.Message{Text: "twelve"}); err == nil {
		acknowledged(w.ctx(), s, func(e event.Event) { seen = append(seen, e.ID) })
	}
	disk.die()
	_ = w.backend.Close() // cannot give the lease back
	w.backend = engine.New(w.cfg)
	return w, seen
}
