package live_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/live"
	"github.com/ohgw/ohgw/daemon/openhandsapi/socket"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "right-key"

// world is a server with one conversation.
type world struct {
	engine *feeds
	conv   *feed
	id     string
	url    string
	server *live.Server
}

func newWorld(t testing.TB, cfg live.Config) *world {
	t.Helper()
	c := newFeed()
	cfg.Engine = c.engine
	url, server := serve(t, cfg)
	return &world{engine: c.engine, conv: c, id: c.id, url: url, server: server}
}

// serve serves the sockets of an engine.
func serve(t testing.TB, cfg live.Config) (string, *live.Server) {
	t.Helper()
	cfg.NewID, cfg.Now = uuid.New, func() time.Time { return began }
	server := live.New(cfg)
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.Socket(w, r, socket.KeyOf(r) == key, func(k string) bool { return k == key })
	}))
	h.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if err := c.(*net.TCPConn).SetWriteBuffer(64 << 10); err != nil {
			t.Error(err)
		}
		return ctx
	}
	h.Start()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		h.Close()
	})
	return h.URL, server
}

// dial opens a socket of the conversation.
func (w *world) dial(t testing.TB, query string) *websocket.Conn {
	t.Helper()
	at := "ws" + strings.TrimPrefix(w.url, "http") + "/sockets/events/" + w.id + "?" + query
	return connect(t, at)
}

// connect opens a socket. Neither end buffers much, so that few frames make a client slow.
func connect(t testing.TB, at string) *websocket.Conn {
	t.Helper()
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return c, err
	}
	transport := &http.Transport{DialContext: dial}
	conn, resp, err := websocket.Dial(t.Context(), at, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatalf("open a WebSocket: %v (%v)", err, resp)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// slowText is the text of a frame. Thirty of them are more than a connection buffers.
var slowText = strings.Repeat("x", 64<<10)

const keyed = "session_api_key=" + key

// withoutNulls fails a test for a frame with a null, but for the one that statistics have.
func withoutNulls(t testing.TB, frame []byte) {
	t.Helper()
	if strings.Contains(strings.ReplaceAll(string(frame), `"max_budget_per_task":null`, ""), ":null") {
		t.Errorf("nulls in %s", frame)
	}
}

func next(t testing.TB, conn *websocket.Conn) event.Event {
	t.Helper()
	_, frame, err := conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	withoutNulls(t, frame)
	var e event.Event
	if err := json.Unmarshal(frame, &e); err != nil {
		t.Fatalf("read an event: %v in %s", err, frame)
	}
	return e
}

// name is an event in a word.
func name(e event.Event) string {
	switch b := e.Body.(type) {
	case *event.StateUpdate:
		if s, ok, _ := e.FullState(); ok {
			return "state " + string(s.Status)
		}
		return b.Key + " " + strings.Trim(string(b.Value), `"`)
	case *event.Message:
		return e.Source + " " + event.PlainText(b.LLMMessage.Content)
	case *event.Delta:
		return "delta " + *b.Content
	case *event.ServerError:
		return b.Code
	}
	return e.Kind()
}

func names(t testing.TB, conn *websocket.Conn, n int) []string {
	t.Helper()
	var list []string
	for range n {
		list = append(list, name(next(t, conn)))
	}
	return list
}

func say(t testing.TB, conn *websocket.Conn, frame string) {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		t.Fatal(err)
	}
}

// closed reads until the socket is closed, which must be with a code.
func closed(t testing.TB, conn *websocket.Conn, want websocket.StatusCode) (frames int) {
	t.Helper()
	for {
		_, _, err := conn.Read(t.Context())
		if err == nil {
			frames++
			continue
		}
		if code := websocket.CloseStatus(err); code != want {
			t.Errorf("closed with %d (%v), want %d", code, err, want)
		}
		return frames
	}
}

const auth = `{"type":"auth","session_api_key":"` + key + `"}`

var turn = []string{"user hi", "execution_status running", "delta hi", "agent hi", "execution_status finished", "state finished"}

func TestATurnOnTheSocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	first, other := w.dial(t, ""), w.dial(t, keyed)
	say(t, first, auth)
	for _, conn := range []*websocket.Conn{first, other} {
		if got := name(next(t, conn)); got != "state idle" {
			t.Fatalf("begins with %q", got)
		}
	}
	say(t, other, auth) // one too many
	say(t, other, `{"role":"user","content":"hi"}`)
	for _, conn := range []*websocket.Conn{first, other} {
		if diff := cmp.Diff(turn, names(t, conn, len(turn))); diff != "" {
			t.Error(diff)
		}
	}
	if n := w.conv.Streams(); n != 1 {
		t.Errorf("%d watches for two sockets", n)
	}
}

func TestTheStateOfASocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	conn := w.dial(t, keyed)
	e := next(t, conn)
	var state map[string]json.RawMessage
	if err := json.Unmarshal(e.Body.(*event.StateUpdate).Value, &state); err != nil {
		t.Fatal(err)
	}
	if string(state["id"]) != `"`+w.id+`"` || state["agent"] == nil || state["security_analyzer"] != nil {
		t.Errorf("the state: %s", e.Body.(*event.StateUpdate).Value)
	}
}

func TestWhatIsSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	hi := control.Message{Content: []event.Content{event.Text("hi")}}
	if err := w.conv.Append(t.Context(), hi, true); err != nil {
		t.Fatal(err)
	}
	log := []string{"user hi", "execution_status running", "agent hi", "execution_status finished"}
	page, err := w.engine.Search(t.Context(), w.id, control.EventQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var third event.Event
	if err := json.Unmarshal(page.Events[2], &third); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]string{
		"resend_mode=all": log, "resend_all=true": log, "": nil, "resend_mode=since": nil,
		"resend_mode=since&after_timestamp=" + third.Timestamp: log[2:],
	} {
		conn := w.dial(t, keyed+"&"+query)
		want = append([]string{"state finished"}, want...)
		if diff := cmp.Diff(want, names(t, conn, len(want))); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
		w.conv.Put(event.SourceAgent, &event.Delta{Content: &query}) // what comes next is new
		if got := name(next(t, conn)); got != "delta "+query {
			t.Errorf("%s: frame = %s", query, got)
		}
	}
}

// TestStatisticsHaveAllMembersOnASocket sends such as earlier versions have stored, live
// and from the log.
func TestStatisticsHaveAllMembersOnASocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	old := &event.StateUpdate{Key: event.KeyStats, Value: json.RawMessage(`{"usage_to_metrics":{"agent":{"model_name":"m","accumulated_cost":0}}}`)}
	w.conv.Put(event.SourceEnvironment, old)
	conn := w.dial(t, keyed+"&resend_mode=all")
	for _, from := range []string{"the log", "a run"} {
		for {
			_, frame, err := conn.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(frame), `"key":"stats"`) {
				continue
			}
			for _, member := range []string{`"max_budget_per_task":null`, `"accumulated_cost":0.0`, `"model":"m"`, `"response_id":""`} {
				if !strings.Contains(string(frame), member) {
					t.Errorf("from %s: no %s in %s", from, member, frame)
				}
			}
			break
		}
		w.conv.Put(event.SourceEnvironment, old)
	}
}

func TestABadFrame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	conn := w.dial(t, keyed)
	next(t, conn)
	for frame, want := range map[string]string{
		"hello": "ValidationError", `{"content":"x"}`: "ValidationError", `[]`: "ValidationError", `{"role":"tool","content":"x"}`: "ValidationError",
		`{"role":"user","content":[{"type":"text"}]}`: "ValidationError", `{"role":"user","content":"refuse"}`: "RuntimeError",
	} {
		say(t, conn, frame)
		if got := name(next(t, conn)); got != want {
			t.Errorf("%s: answer = %s, want %s", frame, got, want)
		}
	}
	say(t, conn, `{"role":"user","content":[{"type":"text","text":"hi"}]}`)
	if diff := cmp.Diff(turn, names(t, conn, len(turn))); diff != "" {
		t.Error(diff)
	}
}

func TestASocketThatIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	for _, path := range []string{"x", "", w.id + "/x", w.id + "?resend_mode=some", w.id + "?after_timestamp=x", w.id + "?resend_all=maybe"} {
		_, resp, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(w.url, "http")+"/sockets/events/"+path, nil)
		if err == nil || resp == nil || resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: response = %v, %v, want status 403", path, resp, err)
		}
	}
	conn := w.dial(t, "")
	say(t, conn, `{"type":"auth","session_api_key":"wrong"}`)
	closed(t, conn, socket.Unauthorized)
	unknown := &world{url: w.url, id: uuid.New()}
	closed(t, unknown.dial(t, keyed), socket.NotFound)
}

func TestTheEndOfASocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	conn := w.dial(t, keyed)
	next(t, conn)
	if err := w.engine.Remove(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
	closed(t, conn, socket.NotFound)
	w = newWorld(t, live.Config{})
	conn = w.dial(t, keyed)
	next(t, conn)
	var ending sync.WaitGroup
	ending.Go(func() { _ = w.server.Close() }) // which waits for the client's word
	closed(t, conn, socket.Restart)
	ending.Wait()
}

func TestWhatOtherProgramsDoNotUnderstandIsLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	conn := w.dial(t, keyed)
	next(t, conn)
	for _, k := range []string{event.KeyRetry, event.KeyBlock} {
		w.conv.Put(event.SourceEnvironment, &event.StateUpdate{Key: k, Value: json.RawMessage(`{}`)})
	}
	w.conv.Put(event.SourceUser, &event.Pause{})
	if got := name(next(t, conn)); got != "PauseEvent" {
		t.Errorf("got %s", got)
	}
}

func TestASlowSocketIsDroppedAndHoldsNobody(t *testing.T) {
	t.Parallel()
	const lag, frames = 8, 30
	w := newWorld(t, live.Config{Lag: lag})
	slow, fast := w.dial(t, keyed), w.dial(t, keyed)
	next(t, slow)
	next(t, fast)
	for range frames {
		w.conv.Put(event.SourceAgent, &event.Delta{Content: &slowText})
		if _, _, err := fast.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := closed(t, slow, socket.TryLater); n >= frames {
		t.Errorf("the slow socket got all %d frames", n)
	}
}

func TestTheLastSocketEndsTheWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	for range 3 {
		conn := w.dial(t, keyed)
		next(t, conn)
		if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Error(err)
		}
	}
	if err := w.server.Close(); err != nil {
		t.Fatal(err)
	}
	if n := w.conv.Streams(); n != 0 {
		t.Errorf("%d watches are left", n)
	}
}

// raw opens a socket of the conversation that reads and answers nothing.
func (w *world) raw(t *testing.T) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /sockets/events/"+w.id+"?"+keyed+" HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"+
		"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the answer to the upgrade: %v, %v", resp, err)
	}
	return conn
}

func TestAClientThatDoesNotAnswerIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{Ping: 10 * time.Millisecond})
	conn := w.raw(t)
	defer conn.Close()
	_, _ = io.Copy(io.Discard, conn) // returns when the server has closed it
}

// TestEventsDuringAResend looks for events that come twice or not at all while the log
// is sent and grows.
func TestEventsDuringAResend(t *testing.T) {
	t.Parallel()
	const before, during = 250, 300
	w := newWorld(t, live.Config{})
	for range before {
		w.conv.Put(event.SourceUser, &event.Pause{})
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		for range during {
			w.conv.Put(event.SourceUser, &event.Pause{})
		}
	})
	conn := w.dial(t, keyed+"&resend_mode=all")
	seen := map[string]bool{}
	for len(seen) < before+during {
		e := next(t, conn)
		if e.Kind() == "ConversationStateUpdateEvent" {
			continue
		}
		if seen[e.ID] {
			t.Fatalf("%s comes twice", e.ID)
		}
		seen[e.ID] = true
	}
	writing.Wait()
}

// BenchmarkAThousandSockets is 1,000 sockets on one conversation.
func BenchmarkAThousandSockets(b *testing.B) {
	const sockets = 1000
	w := newWorld(b, live.Config{})
	var readers sync.WaitGroup
	ctx, stop := context.WithCancel(b.Context())
	defer func() { stop(); readers.Wait() }()
	got := make(chan int, sockets)
	for range sockets {
		conn := w.dial(b, keyed)
		next(b, conn)
		readers.Go(func() {
			for n := 0; ; {
				_, _, err := conn.Read(ctx)
				if err != nil {
					return
				}
				if n++; n == b.N {
					got <- n
				}
			}
		})
	}
	text := "some words of an answer"
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		w.conv.Put(event.SourceAgent, &event.Delta{Content: &text})
	}
	for range sockets {
		<-got
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// A client that reads nothing and answers no close frame does not hold the end up.
func TestTheEndDoesNotWaitForAClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	conn := w.raw(t)
	defer conn.Close()
	for range 200 { // more than the connection holds
		text := strings.Repeat("x", 100<<10)
		w.conv.Put(event.SourceAgent, &event.Delta{Content: &text})
	}
	over := make(chan error, 1)
	go func() { over <- w.server.Close() }()
	select {
	case err := <-over:
		if err != nil {
			t.Error(err)
		}
	case <-t.Context().Done():
		t.Error("the server waits for a client")
	}
}

// A message that waits for the one before it keeps nothing of the socket from working,
// and both are taken though the client goes.
func TestASocketReadsOnWhileAMessageWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, live.Config{})
	w.conv.Gate = make(chan struct{})
	watching, conn := w.dial(t, keyed), w.dial(t, keyed)
	next(t, watching)
	next(t, conn)
	for _, text := range []string{"one", "two", "three"} {
		say(t, conn, `{"role":"user","content":"`+text+`"}`)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	reading := conn.CloseRead(ctx) // pongs are read
	if err := conn.Ping(ctx); err != nil {
		t.Fatalf("the socket answers no ping: %v", err)
	}
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Fatal(err)
	}
	<-reading.Done()
	close(w.conv.Gate)
	var said []string
	for len(said) < 3 {
		if text, isUser := strings.CutPrefix(name(next(t, watching)), "user "); isUser {
			said = append(said, text)
		}
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, said); diff != "" {
		t.Error(diff)
	}
}
