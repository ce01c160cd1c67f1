package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

func eventID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

// writeLog writes the files of a conversation's log. No process has the log open.
func writeLog(t testing.TB, root, id string, n int, text func(i int) string) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("event-%05d-%s.json", i, eventID(i))
		if err := os.WriteFile(filepath.Join(store.Path(root, id), "events", name), []byte(text(i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// aLog has messages of the user and errors of the environment by turns, one a second,
// with members that only OpenHands knows.
func aLog(i int) string {
	head := fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-22T10:00:%02d","future":{ "x":1},`, eventID(i), i%60)
	if i%2 == 1 {
		return head + `"source":"environment","kind":"PauseEvent"}`
	}
	return head + fmt.Sprintf(`"source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":[{"type":"text","text":"Number %d, Ärger"}],"reasoning_content":"thought %d"},`+
		`"extended_content":[{"type":"text","text":"beside %d"}],"activated_skills":[]}`, i, i, i)
}

func idsOf(t *testing.T, events []json.RawMessage) []string {
	t.Helper()
	out := []string{}
	for _, raw := range events {
		var e struct{ ID string }
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e.ID)
	}
	return out
}

func TestSearchGivesPagesAsTheyAreStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := shelve(t, w.cfg.Dir, 1)[0]
	writeLog(t, w.cfg.Dir, id, 7, aLog)
	c := w.backend.Control()
	for _, newest := range []bool{false, true} {
		want := []string{}
		for i := range 7 {
			want = append(want, eventID(i))
		}
		if newest {
			slices.Reverse(want)
		}
		got := []string{}
		for q := (control.EventQuery{Limit: 3, Newest: newest}); len(got) < 10; {
			page, err := c.Search(t.Context(), id, q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, idsOf(t, page.Events)...)
			if q.Page = page.Next; q.Page == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("newest %v: %v", newest, got)
		}
	}
	raw, err := c.Event(t.Context(), id, eventID(2))
	if err != nil || string(raw) != aLog(2) {
		t.Errorf("event %s, %v", raw, err)
	}
	if page, err := c.Search(t.Context(), id, control.EventQuery{Limit: 1, Page: "nothing"}); err != nil || string(page.Events[0]) != aLog(0) {
		t.Errorf("an unknown page: %+v, %v", page, err)
	}
	if _, err := c.Event(t.Context(), id, "../meta"); !errors.Is(err, control.ErrNoEvent) {
		t.Errorf("unknown event: %v", err)
	}
	if _, err := c.Search(t.Context(), uuid.New(), control.EventQuery{Limit: 1}); !errors.Is(err, agentapi.ErrConversationNotFound) {
		t.Errorf("unknown conversation: %v", err)
	}
	writeLog(t, w.cfg.Dir, id, 9, aLog) // by another process
	if n, err := c.CountEvents(t.Context(), id, control.EventFilter{}); n != 9 || err != nil {
		t.Errorf("%d events, %v", n, err)
	}
	broken := filepath.Join(store.Path(w.cfg.Dir, id), "events", fmt.Sprintf("event-00003-%s.json", eventID(3)))
	if err := os.WriteFile(broken, []byte(`{"id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if page, err := c.Search(t.Context(), id, control.EventQuery{Limit: 4}); err != nil || len(page.Events) != 3 || page.Next != eventID(4) {
		t.Errorf("with a damaged event: %+v, %v", page, err)
	}
}

func TestSearchFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := shelve(t, w.cfg.Dir, 1)[0]
	writeLog(t, w.cfg.Dir, id, 8, aLog)
	c := w.backend.Control()
	for name, test := range map[string]struct {
		f    control.EventFilter
		want []int
	}{
		"short kind": {control.EventFilter{Kind: "PauseEvent"}, []int{1, 3, 5, 7}},
		"long kind":  {control.EventFilter{Kind: "openhands.sdk.event.llm_convertible.message.MessageEvent"}, []int{0, 2, 4, 6}},
		"source":     {control.EventFilter{Source: "environment"}, []int{1, 3, 5, 7}},
		"text":       {control.EventFilter{Body: "NUMBER 4, äRG"}, []int{4}},
		"beside":     {control.EventFilter{Body: "beside 6"}, []int{6}},
		"thoughts":   {control.EventFilter{Body: "Thought 2"}, []int{2}},
		"no text":    {control.EventFilter{Body: "future"}, nil},
		"times":      {control.EventFilter{From: "2026-11-22T10:00:02", Before: "2026-11-22T10:00:05"}, []int{2, 3, 4}},
		"both":       {control.EventFilter{Kind: "MessageEvent", From: "2026-11-22T10:00:02.000001"}, []int{4, 6}},
	} {
		want := []string{}
		for _, i := range test.want {
			want = append(want, eventID(i))
		}
		page, err := c.Search(t.Context(), id, control.EventQuery{EventFilter: test.f, Limit: 100})
		if got := idsOf(t, page.Events); err != nil || !slices.Equal(got, want) || page.Next != "" {
			t.Errorf("%s: events = %v, next page %q, %v, want %v on one page", name, got, page.Next, err, want)
		}
		if n, err := c.CountEvents(t.Context(), id, test.f); n != len(want) || err != nil {
			t.Errorf("%s: %d events, %v", name, n, err)
		}
		if len(want) < 2 {
			continue
		}
		page, err = c.Search(t.Context(), id, control.EventQuery{EventFilter: test.f, Limit: 1})
		if err != nil || len(page.Events) != 1 || page.Next != want[1] {
			t.Errorf("%s: page of one %+v, %v", name, page, err)
		}
	}
}

func TestSearchOfAnOpenConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.llm.Reply(llmtest.Text("one"))
	w.say("hello")
	c := w.backend.Control()
	page, err := c.Search(t.Context(), w.id, control.EventQuery{EventFilter: control.EventFilter{Kind: "MessageEvent"}, Limit: 10})
	if err != nil || len(page.Events) != 2 || !strings.Contains(string(page.Events[1]), "one") {
		t.Errorf("page %s, %v", page.Events, err)
	}
	n, err := c.CountEvents(t.Context(), w.id, control.EventFilter{})
	if err != nil || n != len(w.files("events/event-*.json")) {
		t.Errorf("%d events, %v", n, err)
	}
}

// The pieces of a text are counted while no stream has them, so that the next one shows
// what its client misses.
func TestPiecesAreCountedWithoutAWatcher(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	feed := make(chan string)
	w.llm.Reply(llmtest.Reply{Feed: feed})
	w.open()
	c, err := w.backend.Control().Open(w.ctx(), w.id)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	watch := func() agentapi.Stream {
		s, err := c.Watch(w.ctx(), "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	piece := func(s agentapi.Stream, text string) *event.Delta {
		for {
			e, err := s.Next(w.ctx())
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := e.Body.(*event.Delta); ok && d.Content != nil && *d.Content == text {
				return d
			}
		}
	}
	first := watch()
	if err := c.Append(w.ctx(), control.Message{Content: []event.Content{event.Text("go")}}, true); err != nil {
		t.Fatal(err)
	}
	feed <- "This "
	begun := piece(first, "This ")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	feed <- "is "
	second := watch()
	feed <- "it"
	if end := piece(second, "it"); begun.Order != 0 || end.Order != 2 || end.Item != begun.Item || end.Attempt != begun.Attempt {
		t.Errorf("pieces %+v and %+v", begun, end)
	}
	close(feed)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// The pieces of a text name the event that the text will be in, which has its number in
// the log.
func TestPiecesNameTheirEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := terminal("true")
	call.Text = "Looking."
	w.llm.Reply(call, llmtest.Text("Done."))
	w.open()
	c, err := w.backend.Control().Open(w.ctx(), w.id)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.Watch(w.ctx(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := c.Append(w.ctx(), control.Message{Content: []event.Content{event.Text("go")}}, true); err != nil {
		t.Fatal(err)
	}
	attempts := map[string]int{} // of the items that are open
	var closed []string
	for number := -1; ; {
		e, err := s.Next(w.ctx())
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Body.(*event.Delta); ok {
			attempts[d.Item] = d.Attempt
		}
		if !e.Persisted() {
			if _, snapshot, _ := e.FullState(); snapshot && number >= 0 {
				break
			}
			continue
		}
		n, err := w.backend.Control().Number(w.ctx(), w.id, e.ID)
		if err != nil || number >= 0 && n != number+1 {
			t.Errorf("event %s has the number %d behind %d, %v", e.Kind(), n, number, err)
		}
		number = n
		if attempt, open := attempts[e.ID]; open {
			closed = append(closed, fmt.Sprint(e.Kind(), " ", attempt))
			delete(attempts, e.ID)
		}
	}
	if diff := cmp.Diff([]string{"ActionEvent 1", "MessageEvent 1"}, closed); diff != "" || len(attempts) > 0 {
		t.Errorf("events of texts (-want +got):\n%s\nopen: %v", diff, attempts)
	}
	if _, err := w.backend.Control().Number(w.ctx(), w.id, "nope"); !errors.Is(err, control.ErrNoEvent) {
		t.Errorf("an unknown event: %v", err)
	}
}

// BenchmarkSearch is a page of 100 of a log of 100,000 events: its newest, and those
// that a filter lets through in the whole of it.
func BenchmarkSearch(b *testing.B) {
	cfg := enginetest.Config(b, "", enginetest.NewProfiles("main", "test"))
	id := shelve(b, cfg.Dir, 1)[0]
	writeLog(b, cfg.Dir, id, 100_000, aLog)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(store.Path(cfg.Dir, id), "events"), old, old); err != nil {
		b.Fatal(err)
	}
	backend := engine.New(cfg)
	defer backend.Close()
	for name, q := range map[string]control.EventQuery{
		"page":     {Newest: true, Limit: 100},
		"filtered": {EventFilter: control.EventFilter{Body: "number 99998,"}, Limit: 100},
		"kind":     {EventFilter: control.EventFilter{Kind: "PauseEvent", From: "2026-11-22T10:00:59"}, Limit: 100},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if page, err := backend.Control().Search(b.Context(), id, q); err != nil || len(page.Events) == 0 {
					b.Fatalf("%d events, %v", len(page.Events), err)
				}
			}
		})
	}
}
