package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// TestPartsAreFoundInTheirFiles reads what others have written, also what is none.
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
