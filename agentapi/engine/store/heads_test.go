package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// A log without known heads is read once for all filters, also for searches after a
// restart.
func TestALogIsReadOnceForFilters(t *testing.T) {
	t.Parallel()
	const n = 1200
	root, id := t.TempDir(), "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"
	events := filepath.Join(store.Path(root, id), "events")
	if err := os.MkdirAll(events, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(store.Path(root, id), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("base_state.json", "{}")
	file := func(i int) string { return fmt.Sprintf("events/event-%05d-00000000-0000-4000-8000-%012d.json", i, i) }
	for i := range n {
		write(file(i), fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","timestamp":"2026-11-22T10:00:00","source":"user","kind":"PauseEvent"}`, i))
	}
	pauses := &store.Filter{Head: func(h event.Head) bool { return h.Kind == "PauseEvent" }}
	count := func(logs *store.Logs, f *store.Filter) int {
		t.Helper()
		log, err := logs.Of(id)
		if err != nil {
			t.Fatal(err)
		}
		found, err := log.Count(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if got := count(store.NewLogs(root, time.Now), pauses); got != n {
		t.Fatalf("%d of %d", got, n)
	}
	// What the file says counts; the events are not read again.
	for i := range n {
		write(file(i), "no event")
	}
	if got := count(store.NewLogs(root, time.Now), pauses); got != n {
		t.Errorf("%d after a restart, want %d", got, n)
	}
	// Where the names differ, it does not count.
	heads := filepath.Join(store.Path(root, id), "ohgw_heads")
	data, err := os.ReadFile(heads)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"another form":  "x" + string(data),
		"another event": strings.Replace(string(data), "event-00000", "event-00001", 1),
		"nothing":       "",
	} {
		write("ohgw_heads", text)
		if got := count(store.NewLogs(root, time.Now), pauses); got != 0 {
			t.Errorf("%s: count = %d", name, got)
		}
	}
	write("ohgw_heads", string(data[:len(data)-3])) // torn in the last line
	if got := count(store.NewLogs(root, time.Now), pauses); got != n-1 {
		t.Errorf("torn: %d", got)
	}
}
