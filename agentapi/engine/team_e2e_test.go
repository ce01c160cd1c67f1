//go:build e2e && unix

package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestPythonContinuesTheConversationOfATeam has one that has ended and one that waits for a
// member, which Python refuses. What Python has added, ours lists.
func TestPythonContinuesTheConversationOfATeam(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("/tmp", "ohgw-interop-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	worlds := map[string]*world{}
	for _, ends := range []bool{true, false} {
		w, _ := teamWorld(t, true)
		for _, member := range []string{"alpha", "beta", "lead"} {
			w.llm.On(llmtest.Model(member), llmtest.Text(member+" knows"))
		}
		w.llm.On(llmtest.Model("gamma"), terminal("touch asked"), llmtest.Text("gamma did it"))
		waitsFor(t, w.say("go"), "gamma: $ touch asked")
		if ends {
			w.play(accept)
		}
		w.close()
		hex := filepath.Base(w.dir())
		worlds[hex] = w
		copyDir(t, filepath.Join(root, hex), w.dir())
		members, err := filepath.Glob(filepath.Join(w.dir(), "subagents", "*"))
		if err != nil || len(members) != 3 {
			t.Fatalf("members = %q, %v, want 3", members, err)
		}
		for _, dir := range members {
			copyDir(t, filepath.Join(root, filepath.Base(dir)), dir)
		}
	}
	results := continuedByPython(t, root, llmtest.New(t))
	if len(results) != 8 {
		t.Errorf("Python has opened %d conversations, want two teams and their members", len(results))
	}
	for hex, r := range results {
		if r.Error != "" || r.Ended != string(event.Finished) || len(r.After) <= len(r.Before) {
			t.Errorf("%s: ended %q with %d events of %d\n%s", hex, r.Ended, len(r.Before), len(r.After), r.Error)
		}
		if w := worlds[hex]; w != nil {
			if diff := cmp.Diff(r.After, worldOf(t, root, hex).listed()); diff != "" {
				t.Errorf("events (-python +ours):\n%s", diff)
			}
		}
	}
}
