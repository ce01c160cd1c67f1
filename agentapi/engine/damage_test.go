package engine_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// damages returns what a machine that died, or another program, may have left of a file.
func damages(seed uint64, data []byte) map[string][]byte {
	r := rand.New(rand.NewPCG(seed, 12))
	out := map[string][]byte{
		"empty": {}, "zeros": make([]byte, len(data)), "garbage": []byte("\x80\xff{]"), "another type": []byte("[]"),
	}
	last := max(1, len(data)-1) // where only the end of the JSON is lost
	for _, n := range []int{1, r.IntN(last), last} {
		n = min(n, len(data))
		out[fmt.Sprintf("cut at %d of %d", n, len(data))] = data[:n]
		out[fmt.Sprintf("zeros from %d of %d", n, len(data))] = append(bytes.Clone(data[:n]), make([]byte, len(data)-n)...)
	}
	return out
}

// TestDamagedFileOfAConversation damages each file of a conversation. It opens
// with all events before the damage, or says which file is damaged.
func TestDamagedFileOfAConversation(t *testing.T) {
	t.Parallel()
	source := newWorld(t, withRealTasks)
	source.llm.Reply(llmtest.Tool("task_tracker", `{"command":"plan","task_list":[{"title":"a"}]}`), llmtest.Finish("planned"))
	source.say("hi")
	before := source.log()
	source.close()
	var files []string
	err := filepath.WalkDir(source.dir(), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(source.dir(), path)
			files = append(files, name)
		}
		return err
	})
	if err != nil || !slices.Contains(files, "TASKS.json") {
		t.Fatalf("files %q, %v", files, err)
	}
	for i, name := range files {
		data, err := os.ReadFile(filepath.Join(source.dir(), name))
		if err != nil {
			t.Fatal(err)
		}
		for what, damaged := range damages(uint64(i), data) {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, withRealTasks)
				w.llm.On(llmtest.Says("go on"), llmtest.Text("I went on"))
				w.id = source.id
				if err := os.CopyFS(w.dir(), os.DirFS(source.dir())); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(w.dir(), name)
				if err := os.WriteFile(path, damaged, 0o600); err != nil {
					t.Fatal(err)
				}
				w.copes(name, before)
			})
		}
	}
}

// withRealTasks makes the task tracker one of the tools.
func withRealTasks(c *engine.Config) { realTools(c) }

// copes checks that a conversation with a damaged file has every event before
// it and goes on, or that the error names the file and no directory.
func (w *world) copes(name string, before []event.Event) {
	w.t.Helper()
	kept := before
	at := -1
	if base := filepath.Base(name); strings.HasPrefix(base, "event-") {
		at = slices.IndexFunc(before, func(e event.Event) bool { return strings.Contains(base, e.ID) })
		kept = before[:at]
	}
	c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, Profile: "main", Workspace: w.workspace})
	if err != nil {
		msg := agentapi.PublicMessage(err, "")
		if at < 0 && name != "base_state.json" || !strings.Contains(msg, filepath.ToSlash(name)) || strings.Contains(msg, w.cfg.Dir) {
			w.t.Fatalf("the sentence is %q", msg)
		}
		if at >= 0 && !slices.ContainsFunc(before[at+1:], func(e event.Event) bool { _, update := e.Body.(*event.StateUpdate); return !update }) {
			w.t.Errorf("a damaged tail is not set aside: %v", err)
		}
		if name == "base_state.json" && !bytes.Equal(mustRead(w.t, filepath.Join(w.dir(), name)), []byte("[]")) {
			w.t.Errorf("an incomplete base state is not made again: %v", err)
		}
		return
	}
	w.conv = c
	if info := c.Info(); info.Profile != "main" || info.Workspace == "" || !info.SystemKnown {
		w.t.Errorf("Info() = %+v", info)
	}
	log := w.log()
	for i, e := range kept {
		if i >= len(log) || log[i].ID != e.ID {
			w.t.Fatalf("event %d, a %s, is lost", i, e.Kind())
		}
	}
	if res := w.say("go on"); res.Answer != "I went on" {
		w.t.Errorf("the next turn: %+v", res)
	}
	w.close()
	w.start()
	if res := w.say("go on once more"); res.Answer != "I went on" {
		w.t.Errorf("the turn after that: %+v", res)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
