package live_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/live"
	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
)

func spoken(text string) *event.Message {
	return &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: []event.Content{event.Text(text)}}}
}

// A conversation that is closed and opened again, as it is for a plugin that is loaded,
// keeps its sockets. Each of them gets the state once more.
func TestSocketsSurviveAConversationThatIsOpenedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	plain, session, late := w.dial(t, keyed), w.session(t, ""), w.session(t, "&after_seq=-1")
	names(t, plain, 1)
	wantFrames(t, session, "sync - -", "transient state idle")
	wantFrames(t, late, "sync -1 -", "transient state idle")
	get := func(seq int, text string) {
		t.Helper()
		if got := name(next(t, plain)); got != text {
			t.Errorf("event %s, want %s", got, text)
		}
		for _, conn := range []*websocket.Conn{session, late} {
			if seq < 0 {
				wantFrames(t, conn, "transient "+text)
			} else {
				wantFrames(t, conn, fmt.Sprint("durable ", seq, " ", text))
			}
		}
	}
	w.conv.Reopen(spoken("between")) // the log was empty
	get(0, "user between")
	get(-1, "state idle")
	w.user("after")
	get(1, "user after")
	w.conv.Reopen()
	get(-1, "state idle")
	w.user("last")
	get(2, "user last")
	again := w.session(t, "&after_seq=0")
	wantFrames(t, again, "sync 0 2", "durable 1 user after", "durable 2 user last", "transient state idle")
	say(t, again, `{"role":"user","content":[{"type":"text","text":"hi"}]}`)
	wantFrames(t, again, "durable 3 user hi")
	if got := w.conv.Streams(); got != 2 {
		t.Errorf("%d watches, want one for each kind of sockets", got)
	}
}

// No event is lost or doubled, whenever the conversation is opened again.
func TestNoEventIsLostWhileAConversationIsOpenedAgain(t *testing.T) {
	t.Parallel()
	const number, each = 600, 25
	w := newWorld(t, live.Config{})
	sockets := map[string]*websocket.Conn{
		"events": w.dial(t, keyed), "all events": w.dial(t, keyed+"&resend_mode=all"),
		"session": w.session(t, ""), "session from the start": w.session(t, "&after_seq=-1"),
	}
	names(t, sockets["events"], 1) // it has begun
	wantFrames(t, sockets["session"], "sync - -", "transient state idle")
	var all sync.WaitGroup
	all.Go(func() {
		for i := range number {
			if i%each == each-1 {
				w.conv.Reopen(spoken(fmt.Sprint(i)))
			} else {
				w.user(fmt.Sprint(i))
			}
		}
	})
	for name, conn := range sockets {
		all.Go(func() { counts(t, name, conn, number) })
	}
	all.Wait()
	counts(t, "a new session", w.session(t, "&after_seq=-1"), number)
}

// counts reads messages, which count from 0.
func counts(t *testing.T, who string, conn *websocket.Conn, number int) {
	for at := 0; at < number; {
		_, data, err := conn.Read(t.Context())
		if err != nil {
			t.Errorf("%s: %v in front of %d", who, err, at)
			return
		}
		text := string(data)
		if !strings.Contains(text, `"role":"user"`) {
			continue
		}
		if !strings.Contains(text, fmt.Sprintf(`"text":"%d"`, at)) {
			t.Errorf("%s: %s in the place of %d", who, text, at)
			return
		}
		at++
	}
}

// One that is deleted while it is opened again ends its sockets.
func TestAConversationThatIsNotOpenedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	conn := w.dial(t, keyed)
	names(t, conn, 1)
	if err := w.engine.Remove(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
	w.conv.Reopen()
	closed(t, conn, socket.NotFound)
}
