package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// A conversation that cannot be read is named with the reason, until it can be read.
func TestWhatNoListHasIsNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(t *testing.T, dir string)
		reason string // empty: it is named nowhere
	}{
		"half a state":             {func(t *testing.T, dir string) { overwrite(t, dir, `{"id":`) }, "base_state.json is damaged"},
		"no bytes":                 {func(t *testing.T, dir string) { overwrite(t, dir, "") }, "base_state.json is damaged"},
		"the state of another one": {func(t *testing.T, dir string) { overwrite(t, dir, `{"id":"`+uuid.New()+`"}`) }, "base_state.json is damaged"},
		"a directory as its state": {func(t *testing.T, dir string) {
			drop(t, dir)
			if err := os.Mkdir(filepath.Join(dir, "base_state.json"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "cannot be read"},
		"of another user": {func(t *testing.T, dir string) {
			if os.Geteuid() == 0 {
				t.Skip("everything is readable for root")
			}
			if err := os.Chmod(dir, 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		}, "may not read or write its files"},
		"events without a state": {func(t *testing.T, dir string) {
			drop(t, dir)
			if err := os.WriteFile(filepath.Join(dir, "events", "event-00000-x.json"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "base_state.json is missing"},
		"being made": {drop, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.backend.Control()
			ids := shelve(t, w.cfg.Dir, 2)
			tt.change(t, store.Path(w.cfg.Dir, ids[0]))
			for range 2 { // read, and as it was read
				page, err := c.List(t.Context(), control.ListQuery{Limit: 9})
				if err != nil || len(page.Records) != 1 || page.Records[0].ID != ids[1] {
					t.Fatalf("page = %+v, %v, want only the record of %s", page, err, ids[1])
				}
				if tt.reason == "" {
					if len(page.LeftOut) > 0 {
						t.Errorf("left out: %+v", page.LeftOut)
					}
					continue
				}
				if len(page.LeftOut) != 1 || page.LeftOut[0].ID != ids[0] || !strings.Contains(page.LeftOut[0].Reason, tt.reason) {
					t.Errorf("left out: %+v, want %s: %s", page.LeftOut, ids[0], tt.reason)
				}
			}
			page, err := c.List(t.Context(), control.ListQuery{Limit: 9, Status: event.Idle})
			if err != nil || len(page.LeftOut) > 0 {
				t.Errorf("of one status: %+v, %v", page, err)
			}
		})
	}
}

func overwrite(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "base_state.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func drop(t *testing.T, dir string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, "base_state.json")); err != nil {
		t.Fatal(err)
	}
}
