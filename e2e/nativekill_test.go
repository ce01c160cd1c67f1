//go:build e2e && linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// watcher is a client that keeps what it is told of a conversation, and comes back when
// its socket breaks.
type watcher struct {
	conversation string
	mode         string // resend_mode after a break

	mu   sync.Mutex
	seen map[string]string // the kinds of events, by id
	last string            // the timestamp of the newest
	more chan struct{}     // closed with the next event
}

// watch reads a socket of a conversation until it ends.
func (w *watcher) watch(ctx context.Context, g *gateway, query url.Values) error {
	at := "ws" + strings.TrimPrefix(g.URL, "http") + "/sockets/events/" + w.conversation + "?" + query.Encode()
	conn, _, err := websocket.Dial(ctx, at, &websocket.DialOptions{HTTPHeader: http.Header{"X-Session-API-Key": {gatewayKey}}})
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(-1)
	once := map[string]bool{} // on this socket
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		var e struct{ ID, Kind, Key, Timestamp string }
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("a frame: %w", err)
		}
		if e.Kind == "StreamingDeltaEvent" || e.Key == "full_state" {
			continue // these are in no log
		}
		if once[e.ID] {
			return fmt.Errorf("%s %s comes twice", e.Kind, e.ID)
		}
		once[e.ID] = true
		w.mu.Lock()
		w.seen[e.ID], w.last = e.Kind, max(w.last, e.Timestamp)
		close(w.more)
		w.more = make(chan struct{})
		w.mu.Unlock()
	}
}

// has waits until everything that want names was seen.
func (w *watcher) has(ctx context.Context, want func(seen map[string]string) bool) bool {
	for {
		w.mu.Lock()
		ok, more := want(w.seen), w.more
		w.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
}

// again is the query with which it comes back.
func (w *watcher) again() url.Values {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := url.Values{"resend_mode": {w.mode}}
	if w.mode == "since" {
		q.Set("after_timestamp", w.last)
	}
	return q
}

// attend opens the sockets of all watchers. The function that it returns waits for their
// ends.
func attend(ctx context.Context, t *testing.T, g *gateway, all []*watcher, query func(*watcher) url.Values) (wait func()) {
	t.Helper()
	var watching sync.WaitGroup
	for _, w := range all {
		q := query(w)
		watching.Go(func() {
			if err := w.watch(ctx, g, q); err != nil {
				t.Errorf("conversation %s: %v", w.conversation, err)
			}
		})
	}
	return watching.Wait
}

// native makes a request of OpenHands' own API.
func (g *gateway) native(t *testing.T, method, path, body string, into any) {
	t.Helper()
	res := send(t, method, g.URL+path, body, "X-Session-API-Key", gatewayKey, "Content-Type", "application/json")
	defer func() { _ = res.Body.Close() }() // It was only read.
	if res.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: status = %s", method, path, res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// eventsOf are the kinds of the events in the log of a conversation, by id.
func (g *gateway) eventsOf(t *testing.T, id string) map[string]string {
	t.Helper()
	log := map[string]string{}
	for page := ""; ; {
		var got struct {
			Items []struct{ ID, Kind string }
			Next  string `json:"next_page_id"`
		}
		g.native(t, http.MethodGet, "/api/conversations/"+id+"/events/search?limit=100&page_id="+page, "", &got)
		for _, e := range got.Items {
			log[e.ID] = e.Kind
		}
		if page = got.Next; page == "" {
			return log
		}
	}
}

// TestClientsOfAKilledProgramMissNothing kills ohgw while 50 conversations run, which 200
// sockets watch. Every client comes back to the next ohgw, and has all events then.
func TestClientsOfAKilledProgramMissNothing(t *testing.T) {
	t.Parallel()
	const conversations, sockets = 50, 4
	llm, home, dir := llmtest.New(t), t.TempDir(), t.TempDir()
	args := []string{"--native", "--sandbox", "off", "--max-runs", "64"}
	g := serveEmbeddedAt(t, home, plainProgram(t), llm.URL, args...)
	steps := strings.Repeat(`[[tool think {"thought":"hm"}]] then `, 40) + "[[finish Done.]]"
	var all []*watcher
	for range conversations {
		var made struct{ ID string }
		g.native(t, http.MethodPost, "/api/conversations",
			fmt.Sprintf(`{"agent":{"llm":{"model":"openai/test","base_url":%q,"api_key":"sk-llm-test"},"tools":[]},"workspace":{"working_dir":%q},"autotitle":false}`, llm.URL, dir), &made)
		for i := range sockets {
			all = append(all, &watcher{conversation: made.ID, mode: []string{"all", "since"}[i%2], seen: map[string]string{}, more: make(chan struct{})})
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	wait := attend(ctx, t, g, all, func(*watcher) url.Values { return url.Values{"resend_mode": {"all"}} })
	for i := 0; i < len(all); i += sockets {
		text, _ := prompt(steps)
		var ok struct{ Success bool }
		g.native(t, http.MethodPost, "/api/conversations/"+all[i].conversation+"/events",
			fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"run":true}`, text), &ok)
	}
	for _, w := range all {
		if !w.has(ctx, func(seen map[string]string) bool { return count(seen, "ActionEvent") >= 2 }) {
			t.Fatalf("conversation %s does not run: %v", w.conversation, w.seen)
		}
	}
	g.stopped = true
	_ = g.process.End(syscall.SIGKILL, patience)
	wait()
	if t.Failed() {
		return
	}
	g = serveEmbeddedAt(t, home, plainProgram(t), llm.URL, args...)
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	wait = attend(ctx, t, g, all, (*watcher).again)
	defer wait()
	defer cancel()
	unfinished := 0
	for i, w := range all {
		if i%sockets == 0 && count(g.eventsOf(t, w.conversation), "ActionEvent") < 41 {
			unfinished++
		}
	}
	for i, w := range all {
		before := g.eventsOf(t, w.conversation)
		if !w.has(ctx, func(seen map[string]string) bool { return within(before, seen) }) {
			t.Errorf("socket %d (%s) has %d of %d events", i, w.mode, len(w.seen), len(before))
			continue
		}
		w.mu.Lock()
		seen := maps.Clone(w.seen)
		w.mu.Unlock()
		if !within(seen, g.eventsOf(t, w.conversation)) {
			t.Errorf("socket %d (%s) was told of events that are not in the log", i, w.mode)
		}
	}
	if unfinished == 0 {
		t.Error("every conversation had ended before ohgw was killed")
	}
	t.Logf("%d of %d conversations were cut off", unfinished, conversations)
}

func count(seen map[string]string, kind string) (n int) {
	for _, k := range seen {
		if k == kind {
			n++
		}
	}
	return n
}

// within reports whether all events of the first are among those of the second.
func within(some, all map[string]string) bool {
	for id := range some {
		if _, ok := all[id]; !ok {
			return false
		}
	}
	return true
}
