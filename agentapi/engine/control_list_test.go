package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// shelve writes the files of conversations that no process has open, and returns their
// ids. The nth one was made n minutes after the first; they were changed in reverse order.
func shelve(t testing.TB, root string, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range n {
		ids[i] = uuid.New()
		state := store.NewState(ids[i], json.RawMessage(`{"kind":"Agent","llm":{"model":"m","api_key":"gAAAAAx"}}`), "/w")
		if i%2 == 1 {
			state.Status = event.Finished
		}
		dir := store.Path(root, ids[i])
		if err := os.MkdirAll(filepath.Join(dir, "events"), 0o700); err != nil {
			t.Fatal(err)
		}
		began := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		meta, err := json.Marshal(map[string]any{
			"created_at": began.Add(time.Duration(i) * time.Minute), "updated_at": began.AddDate(0, 1, 0).Add(-time.Duration(i) * time.Minute), "title": fmt.Sprint(i),
		})
		data, failed := json.Marshal(state)
		if err := errors.Join(err, failed, os.WriteFile(filepath.Join(dir, "meta.json"), meta, 0o600), os.WriteFile(filepath.Join(dir, "base_state.json"), data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// all are the ids of a list, by pages of two.
func all(t *testing.T, c control.Engine, q control.ListQuery) []string {
	t.Helper()
	var ids []string
	for q.Limit = 2; ; {
		page, err := c.List(t.Context(), q)
		if err != nil || len(page.Records) > 2 || len(ids) > 100 {
			t.Fatalf("page %+v, %v", page, err)
		}
		for _, r := range page.Records {
			ids = append(ids, r.ID)
		}
		if q.From = page.Next; q.From == "" {
			return ids
		}
	}
}

func TestListsInEveryOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.backend.Control()
	if ids := all(t, c, control.ListQuery{}); len(ids) != 0 {
		t.Errorf("a list of nothing: %v", ids)
	}
	ids := shelve(t, w.cfg.Dir, 5)
	newest := slices.Clone(ids)
	slices.Reverse(newest)
	for order, want := range map[string][]string{
		"": newest, control.ByCreatedDesc: newest, control.ByCreated: ids, control.ByUpdated: newest, control.ByUpdatedDesc: ids,
	} {
		if got := all(t, c, control.ListQuery{Order: order}); !slices.Equal(got, want) {
			t.Errorf("order %q: %v, want %v", order, got, want)
		}
	}
	if got := all(t, c, control.ListQuery{Status: event.Finished, Order: control.ByCreated}); !slices.Equal(got, []string{ids[1], ids[3]}) {
		t.Errorf("finished: %v", got)
	}
	if got := all(t, c, control.ListQuery{From: "nothing"}); !slices.Equal(got, newest) {
		t.Errorf("an unknown page: %v", got)
	}
	for status, want := range map[event.Status]int{"": 5, event.Finished: 2, event.Idle: 3, event.Running: 0} {
		if n, err := c.Count(t.Context(), status); n != want || err != nil {
			t.Errorf("status %q: count = %d, %v, want %d", status, n, err, want)
		}
	}
	page, err := c.List(t.Context(), control.ListQuery{Limit: 1})
	if err != nil || page.Records[0].Title != "4" || strings.Contains(string(page.Records[0].State), "gAAAAA") {
		t.Errorf("page %+v, %v", page, err)
	}
}

func TestListFollowsTheFiles(t *testing.T) {
	t.Parallel()
	var told strings.Builder
	w := newWorld(t, func(c *engine.Config) { c.Log = slog.New(slog.NewTextHandler(&told, nil)) })
	c := w.backend.Control()
	ids := shelve(t, w.cfg.Dir, 3)
	old := time.Now().Add(-time.Hour)
	for _, id := range ids { // what was written long ago is believed to be as it was read
		for _, name := range []string{"base_state.json", "meta.json", ""} {
			if err := os.Chtimes(filepath.Join(store.Path(w.cfg.Dir, id), name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := all(t, c, control.ListQuery{Order: control.ByCreated}); !slices.Equal(got, ids) {
		t.Fatalf("list %v", got)
	}
	path := filepath.Join(store.Path(w.cfg.Dir, ids[0]), "base_state.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), `"execution_status":"idle"`, `"execution_status":"error"`, 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil { // in its place, as OpenHands does
		t.Fatal(err)
	}
	if n, err := c.Count(t.Context(), event.Failed); n != 1 || err != nil {
		t.Errorf("%d failed, %v", n, err)
	}
	if err := os.RemoveAll(store.Path(w.cfg.Dir, ids[1])); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store.Path(w.cfg.Dir, ids[2]), "base_state.json"), []byte(`{"id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	more := shelve(t, w.cfg.Dir, 1)
	if err := os.Remove(filepath.Join(store.Path(w.cfg.Dir, more[0]), "meta.json")); err != nil { // as an SDK leaves it
		t.Fatal(err)
	}
	for range 3 {
		if got := all(t, c, control.ListQuery{Order: control.ByCreated}); !slices.Equal(got, []string{ids[0], more[0]}) {
			t.Errorf("list %v", got)
		}
	}
	if n := strings.Count(told.String(), "damaged"); n != 1 {
		t.Errorf("%d warnings: %s", n, told.String())
	}
	page, err := c.List(t.Context(), control.ListQuery{Limit: 1})
	if err != nil || page.Records[0].Created.IsZero() || page.Records[0].Updated.IsZero() {
		t.Errorf("page %+v, %v", page, err)
	}
}

func TestListKnowsWhatRuns(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	w := newWorld(t, gatedTerminal(gate))
	w.llm.Reply(terminal("true"), llmtest.Finish("done"))
	over := w.background("go")
	w.awaitAction()
	if got := all(t, w.backend.Control(), control.ListQuery{Status: event.Running}); !slices.Equal(got, []string{w.id}) {
		t.Errorf("running: %v", got)
	}
	close(gate)
	<-over
	if n, err := w.backend.Control().Count(t.Context(), event.Running); n != 0 || err != nil {
		t.Errorf("%d run, %v", n, err)
	}
}

// A run whose process died is not told to run: not after its lease, and at once where
// the process is known to be gone. One of a process that lives, or that has no lease,
// runs.
func TestListKnowsWhoseProcessDied(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(w *world)
		want   event.Status
	}{
		"the process is gone": {func(w *world) { w.cfg.Holder.Alive = func(int) bool { return false } }, event.Failed},
		"its lease is over": {func(w *world) {
			w.cfg.Now = func() time.Time { return time.Now().Add(time.Minute) }
		}, event.Failed},
		"the process lives": {func(*world) {}, event.Running},
		"the program has no lease": {func(w *world) {
			w.cfg.Holder.Alive = func(int) bool { return false }
			if err := os.Remove(filepath.Join(w.dir(), "owner_lease.json")); err != nil {
				w.t.Fatal(err)
			}
		}, event.Running},
		"a program without a lease came later": {func(w *world) {
			w.cfg.Holder.Alive = func(int) bool { return false }
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(filepath.Join(w.dir(), "base_state.json"), later, later); err != nil {
				w.t.Fatal(err)
			}
		}, event.Running},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := &mortal{left: 1 << 30}
			w := newWorld(t, func(c *engine.Config) { c.Files = disk })
			w.llm.Reply(terminal("true"), llmtest.Reply{Text: "I", End: llmtest.Hang})
			if err := w.open().Send(w.ctx(), agentapi.Message{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			w.llm.Await(t, 2)
			disk.die()
			_ = w.backend.Close() // cannot write the end of the run
			w.cfg.Files = enginetest.Disk{}
			w.cfg.Holder.Instance, w.cfg.Holder.PID = strings.Repeat("c", 32), 7
			w.cfg.Holder.Alive = func(int) bool { return true }
			tt.change(w)
			w.start()
			c := w.backend.Control()
			if r, err := c.Record(w.ctx(), w.id); err != nil || r.Status != tt.want || !strings.Contains(string(r.State), `"execution_status":"`+string(tt.want)+`"`) {
				t.Errorf("record %s %s, %v; want %s", r.Status, r.State, err, tt.want)
			}
			if got := all(t, c, control.ListQuery{Status: tt.want}); !slices.Equal(got, []string{w.id}) {
				t.Errorf("listed as %s: %v", tt.want, got)
			}
			if n, err := c.Count(w.ctx(), event.Running); err != nil || (n == 1) != (tt.want == event.Running) {
				t.Errorf("%d run, %v", n, err)
			}
		})
	}
}

// BenchmarkList is a page of 100 of 10,000 conversations that were listed before.
func BenchmarkList(b *testing.B) {
	cfg := enginetest.Config(b, "", enginetest.NewProfiles("main", "test"))
	ids := shelve(b, cfg.Dir, 10_000)
	old := time.Now().Add(-time.Hour)
	for _, id := range ids {
		for _, name := range []string{"base_state.json", "meta.json"} {
			if err := os.Chtimes(filepath.Join(store.Path(cfg.Dir, id), name), old, old); err != nil {
				b.Fatal(err)
			}
		}
	}
	backend := engine.New(cfg)
	defer backend.Close()
	list := func() {
		page, err := backend.Control().List(context.Background(), control.ListQuery{Limit: 100})
		if err != nil || len(page.Records) != 100 {
			b.Fatalf("%d records, %v", len(page.Records), err)
		}
	}
	list()
	b.ReportAllocs()
	for b.Loop() {
		list()
	}
}

// TestAWatchOfARemovedConversationSaysSo removes one while it is watched, and closes
// another.
func TestAWatchOfARemovedConversationSaysSo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(w *world) error
		want error
	}{
		"removed": {func(w *world) error { return w.backend.Control().Remove(t.Context(), w.id) }, agentapi.ErrConversationNotFound},
		"closed":  {func(w *world) error { return w.backend.Close() }, agentapi.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.llm.Reply(llmtest.Text("one"))
			w.say("hello")
			conv, err := w.backend.Control().Open(t.Context(), w.id)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := conv.Watch(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if err := test.end(w); err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = stream.Next(t.Context())
			}
			if !errors.Is(err, test.want) {
				t.Errorf("the watch ended with %v, want %v", err, test.want)
			}
		})
	}
}
