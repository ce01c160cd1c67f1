package live_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/live"
	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
)

// session opens the session's socket of the conversation.
func (w *world) session(t testing.TB, query string) *websocket.Conn {
	t.Helper()
	at := "ws" + strings.TrimPrefix(w.url, "http") + "/sockets/session/" + w.id + "?" + keyed + query
	return connect(t, at)
}

type sessionFrame struct {
	Type    string      `json:"type"`
	From    *int        `json:"from_seq"`
	Through *int        `json:"through_seq"`
	Seq     *int        `json:"seq"`
	Event   event.Event `json:"event"`
	Item    string      `json:"item_id"`
	Attempt int         `json:"attempt"`
	Anchor  *int        `json:"anchor_seq"`
	Order   int         `json:"order"`
	Kind    string      `json:"kind"`
	Content string      `json:"content"`
	Reason  string      `json:"reason"`
	Code    string      `json:"code"`
}

func number(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// String is a frame in a line.
func (f sessionFrame) String() string {
	switch f.Type {
	case "sync":
		return "sync " + number(f.From) + " " + number(f.Through)
	case "durable":
		return "durable " + number(f.Seq) + " " + name(f.Event)
	case "transient":
		return "transient " + name(f.Event)
	case "item_started":
		return fmt.Sprintf("started %s/%d after %s", f.Item, f.Attempt, number(f.Anchor))
	case "delta":
		return fmt.Sprintf("delta %s/%d/%d %s %q", f.Item, f.Attempt, f.Order, f.Kind, f.Content)
	case "item_aborted":
		return fmt.Sprintf("aborted %s/%d %s", f.Item, f.Attempt, f.Reason)
	}
	return f.Type + " " + f.Code
}

func frame(t testing.TB, conn *websocket.Conn) sessionFrame {
	t.Helper()
	_, data, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	withoutNulls(t, data)
	var f sessionFrame
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatalf("read a frame: %v in %s", err, data)
	}
	return f
}

func wantFrames(t testing.TB, conn *websocket.Conn, want ...string) {
	t.Helper()
	var got []string
	for range want {
		got = append(got, frame(t, conn).String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("frames (-want +got):\n%s", diff)
	}
}

func (w *world) user(text string) {
	w.conv.Put(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: []event.Content{event.Text(text)}, ThinkingBlocks: []json.RawMessage{}}})
}

func TestTheSessionBeginsWithWhatTheClientMisses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	wantFrames(t, w.session(t, "&after_seq=-1"), "sync -1 -", "transient state idle") // an empty log
	const number = 250                                                                // more than two pages
	for i := range number {
		w.user(fmt.Sprint(i))
	}
	for query, first := range map[string]int{"&after_seq=-1": 0, "&after_seq=-7": 0, "&after_seq=0": 1, "&after_seq=99": 100, "&after_seq=248": 249, "&after_seq=249": 250, "&after_seq=4000": 250} {
		conn := w.session(t, query)
		want := []string{"sync " + strings.TrimPrefix(query, "&after_seq=") + " 249"}
		for i := first; i < number; i++ {
			want = append(want, fmt.Sprintf("durable %d user %d", i, i))
		}
		wantFrames(t, conn, append(want, "transient state idle")...)
	}
	fresh := w.session(t, "")
	wantFrames(t, fresh, "sync - 249", "transient state idle")
	w.user("new")
	wantFrames(t, fresh, "durable 250 user new")
	for _, query := range []string{"&after_seq=x", "&after_seq=1.5"} {
		if _, resp, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(w.url, "http")+"/sockets/session/"+w.id+"?"+keyed+query, nil); err == nil || resp.StatusCode != 403 {
			t.Errorf("%s: response = %v, %v, want status 403", query, resp, err)
		}
	}
}

// Events that come while the log is read are neither lost nor doubled.
func TestTheNumbersOfASessionHaveNoHoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	const number = 400
	var all sync.WaitGroup
	all.Go(func() {
		for i := range number {
			w.user(fmt.Sprint(i))
		}
	})
	for range 4 {
		conn := w.session(t, "&after_seq=-1")
		for at := 0; at < number; {
			if f := frame(t, conn); f.Type == "durable" {
				if *f.Seq != at || name(f.Event) != fmt.Sprint("user ", at) {
					t.Fatalf("%s in the place of %d", f, at)
				}
				at++
			}
		}
	}
	all.Wait()
}

func TestTextsOfASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	w.user("go")
	conn := w.session(t, "")
	wantFrames(t, conn, "sync - 0", "transient state idle")
	say := func(item string, attempt, order int, text string) {
		w.conv.Put(event.SourceAgent, &event.Delta{Content: &text, Item: item, Attempt: attempt, Order: order})
	}
	think := "hm"
	w.conv.Put(event.SourceAgent, &event.Delta{ReasoningContent: &think, Item: "a", Attempt: 1})
	say("a", 1, 1, "one")
	say("a", 2, 0, "\n\none")
	say("a", 2, 1, "\n\ntwo")
	wantFrames(t, conn, "started a/1 after 0", `delta a/1/0 reasoning "hm"`, `delta a/1/1 text "one"`,
		"started a/2 after 0", `delta a/2/0 text "one"`, `delta a/2/1 text "\n\ntwo"`)
	say("b", 1, 0, "other")
	wantFrames(t, conn, "aborted a/2 superseded", "started b/1 after 0", `delta b/1/0 text "other"`)
	w.conv.Done(event.Paused)
	wantFrames(t, conn, "aborted b/1 cancelled", "durable 1 execution_status paused", "transient state paused")
	say("c", 1, 0, "and")
	w.conv.Done(event.Failed)
	wantFrames(t, conn, "started c/1 after 1", `delta c/1/0 text "and"`, "aborted c/1 error", "durable 2 execution_status error", "transient state error")
}

// A socket that comes while a text is written gets its pieces with the order that they
// have, so that its client sees what is missing. The first pieces went to a socket that
// has ended, with all that the server knew of them.
func TestASocketInTheMiddleOfATextSaysWhatItMisses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	w.user("go")
	for order, text := range []string{"This ", "is ", "the ", "answer"} {
		conn := w.session(t, "&after_seq=0")
		wantFrames(t, conn, "sync 0 0", "transient state idle")
		w.conv.Put(event.SourceAgent, &event.Delta{Content: &text, Item: "a", Attempt: 1, Order: order})
		if order == 0 {
			wantFrames(t, conn, "started a/1 after 0")
		}
		wantFrames(t, conn, fmt.Sprintf("delta a/1/%d text %q", order, text))
		if err := conn.CloseNow(); err != nil {
			t.Fatal(err)
		}
	}
}

// A text is closed by the event that has its id, and by nothing else.
func TestATextIsClosedByItsEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	conn := w.session(t, "")
	say(t, conn, `{"role":"user","content":[{"type":"text","text":"hi"}]}`)
	var open, closed []string
	var numbers []int
	for {
		f := frame(t, conn)
		switch f.Type {
		case "item_started":
			open = append(open, f.Item)
		case "item_aborted":
			t.Errorf("given up: %s", f)
		case "durable":
			numbers = append(numbers, *f.Seq)
			if slices.Contains(open, f.Event.ID) {
				closed = append(closed, name(f.Event))
			}
		}
		if f.String() == "transient state finished" {
			break
		}
	}
	if len(open) != 1 || !slices.Equal(closed, []string{"agent hi"}) || !slices.Equal(numbers, []int{0, 1, 2, 3}) {
		t.Errorf("begun %v, closed %v, numbers %v", open, closed, numbers)
	}
}

func TestASessionComplainsInItsOwnFrame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	conn := w.session(t, "")
	wantFrames(t, conn, "sync - -", "transient state idle")
	for frame, want := range map[string]string{
		`{`: "error ValidationError", `{"role":"user","content":3}`: "error ValidationError",
		`{"role":"user","content":[{"type":"text","text":"refuse"}]}`: "error RuntimeError",
	} {
		say(t, conn, frame)
		wantFrames(t, conn, want)
	}
}

func TestASessionThatIsTooSlowIsClosed(t *testing.T) {
	t.Parallel()
	const frames = 30
	w := newWorld(t, live.Config{Lag: 8})
	slow, fast := w.session(t, ""), w.session(t, "")
	for _, conn := range []*websocket.Conn{slow, fast} {
		wantFrames(t, conn, "sync - -", "transient state idle")
	}
	for i := range frames {
		w.user(slowText)
		if f := frame(t, fast); f.Type != "durable" || *f.Seq != i {
			t.Fatalf("the fast one: %s %s", f.Type, number(f.Seq))
		}
	}
	if n := closed(t, slow, socket.TryLater); n >= frames {
		t.Errorf("the slow socket got all %d frames", n)
	}
}

func TestASessionOfAnUnknownConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	w.id = "7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11"
	closed(t, w.session(t, "&after_seq=-1"), socket.NotFound)
}

func TestSocketsTellOfEventsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	w.engine.LeftOut = 3
	w.user("a")
	wantFrames(t, w.session(t, "&after_seq=-1"), "sync -1 0", "durable 0 user a", "error EventsLeftOut", "transient state idle")
	wantFrames(t, w.session(t, ""), "sync - 0", "transient state idle") // it has asked for nothing of the log
	conn := w.dial(t, keyed+"&resend_mode=all")
	if diff := cmp.Diff([]string{"state idle", "user a"}, names(t, conn, 2)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if body, ok := next(t, conn).Body.(*event.ServerError); !ok || !strings.Contains(body.Detail, "is left out (events: 3)") {
		t.Errorf("behind the log: %+v", body)
	}
}
