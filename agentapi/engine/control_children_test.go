package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestPartsAreFoundInTheirFiles reads parents that other programs have written, also values
// that are not an ID.
func TestPartsAreFoundInTheirFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.backend.Control()
	ids := shelve(t, w.cfg.Dir, 6)
	parent := ids[5]
	for i, said := range []any{strings.ReplaceAll(parent, "-", ""), parent, 7, nil, "../" + parent} {
		file := filepath.Join(store.Path(w.cfg.Dir, ids[i]), "meta.json")
		data, err := os.ReadFile(file)
		var meta map[string]any
		if err != nil || json.Unmarshal(data, &meta) != nil {
			t.Fatalf("%s: %v", data, err)
		}
		meta["parent_conversation_id"] = said
		if data, err = json.Marshal(meta); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := c.Children(t.Context(), parent, ids[0], "unknown")
	if err != nil || len(found) != 1 || !slices.Equal(found[parent], ids[:2]) {
		t.Errorf("parts %v, %v, want %v", found, err, ids[:2])
	}
	own := w.startIt(control.Start{Agent: json.RawMessage(inlineAgent)})
	id := own.Info().ID
	part, _, err := c.Start(w.ctx(), control.Start{Agent: json.RawMessage(inlineAgent), Workspace: own.Info().Workspace, Parent: id})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = part.Close() }() // The conversation stays.
	if found, err = c.Children(t.Context(), id); err != nil || !slices.Equal(found[id], []string{part.Info().ID}) {
		t.Errorf("a part that is open: %v, %v", found, err)
	}
}

// TestAPartHasWhatTheWholeHas gives a part the model with its key, the settings and the
// secrets, and a log and statistics of its own.
func TestAPartHasWhatTheWholeHas(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*engine.Config){"sealed": sealed, "in memory": func(*engine.Config) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var models asked
			w := newWorld(t, change, models.watch)
			w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
			whole := w.startIt(control.Start{
				Agent: json.RawMessage(inlineAgent), Tags: map[string]string{"color": "red"}, MaxIterations: 7, NoStuck: true,
				Policy: json.RawMessage(`{"kind":"AlwaysConfirm"}`), Secrets: map[string]json.RawMessage{"TEA": json.RawMessage(`{"kind":"StaticSecret","value":"green-leaf"}`)},
				Request: json.RawMessage(`{"user_id":"u","initial_message":{"content":[]},"worktree":false}`),
			})
			w.say("hello")
			parent := w.id
			models.list = nil
			part, err := whole.Child(w.ctx(), control.Child{Title: "The part", Suffix: "WORKTREE-WORDS"})
			if err != nil {
				t.Fatal(err)
			}
			w.id, w.conv = part.Info().ID, part
			if res := w.say("again"); res.Answer != "two" {
				t.Errorf("result %+v", res)
			}
			models.has(t, " openai/inline mine "+ownKey)
			w.expect("SP U M")
			if stored := w.stored("base_state.json"); strings.Contains(stored, "green-leaf") || !strings.Contains(stored, `"TEA"`) || strings.Contains(stored, ownKey) {
				t.Errorf("the state is %s", stored)
			}
			r := w.record(w.id)
			for _, part := range []string{
				`"title":"The part"`, `"parent_conversation_id":"` + parent + `"`, `"tags":{"color":"red"}`, `"user_id":"u"`, `"worktree":false`, `"max_iterations":7`, `"stuck_detection":false`,
			} {
				if !strings.Contains(string(r.Meta), part) {
					t.Errorf("no %s in %s", part, r.Meta)
				}
			}
			for _, part := range []string{`"AlwaysConfirm"`, `WORKTREE-WORDS`} {
				if !strings.Contains(string(r.State), part) {
					t.Errorf("no %s in %s", part, r.State)
				}
			}
			if strings.Contains(string(r.Meta), "initial_message") {
				t.Errorf("the first message of the whole is said of the part: %s", r.Meta)
			}
			if whole := w.record(parent); strings.Contains(string(whole.State), "WORKTREE-WORDS") {
				t.Error("the whole was changed")
			}
		})
	}
}
