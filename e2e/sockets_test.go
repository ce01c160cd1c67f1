//go:build e2e

package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// What BenchmarkSockets streams into one conversation.
const (
	socketTokens = 2000
	socketPace   = 2 * time.Millisecond // 500 tokens a second
	// manySockets is what ohgw is measured with; an agent-server takes at most 50 for a
	// conversation, its own included.
	manySockets = 1000
	fewSockets  = 40
)

// native is a server with OpenHands' own API.
type native struct {
	url, key string
	llm      *llmtest.Server
	pid      int
}

// BenchmarkSockets is one conversation with many sockets, into which an LLM writes: how
// long each token takes from there to each socket, and the memory for it. One round is
// enough: -benchtime 1x.
func BenchmarkSockets(b *testing.B) {
	ohgw := func(b *testing.B) native {
		llm := llmtest.New(b)
		g := serveEmbedded(b, measured(b), llm.URL, "--native")
		return native{g.URL, gatewayKey, llm, g.process.Cmd.Process.Pid}
	}
	b.Run(fmt.Sprintf("sockets=%d/of=agent-server", fewSockets), func(b *testing.B) {
		llm, agents := llmtest.New(b), agentservertest.Start(b)
		native{agents.URL, agents.Key, llm, agents.PID()}.stream(b, fewSockets)
	})
	for _, sockets := range []int{fewSockets, manySockets} {
		b.Run(fmt.Sprintf("sockets=%d/of=ohgw", sockets), func(b *testing.B) { ohgw(b).stream(b, sockets) })
	}
}

// stream measures a stream to so many sockets.
func (n native) stream(b *testing.B, sockets int) {
	path := n.begin(b)
	before := resident(n.pid)
	listeners := make([]*eventSocket, sockets)
	for i := range listeners {
		listeners[i] = n.listen(b, path)
	}
	feed := make(chan string)
	n.llm.Reply(llmtest.Reply{Feed: feed})
	n.post(b, path+"/events", map[string]any{"role": "user", "content": []any{map[string]string{"type": "text", "text": "go"}}, "run": true})
	n.llm.Await(b, 1)
	began := time.Now()
	var all sync.WaitGroup
	for _, l := range listeners {
		all.Go(func() { l.hear(began) })
	}
	most, done := &atomic.Int64{}, make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { n.watch(most, done) })
	speak(began, feed)
	all.Wait()
	close(done)
	watch.Wait()
	var lags []time.Duration
	for _, l := range listeners {
		if l.err != nil {
			b.Fatalf("a socket ended behind %d tokens: %v", len(l.lags), l.err)
		}
		lags = append(lags, l.lags...)
	}
	report(b, "lag", lags)
	b.ReportMetric(float64(len(lags))/float64(sockets), "frames/socket")
	b.ReportMetric(mb(before), "before-MB")
	b.ReportMetric(mb(int(most.Load())-before), "grown-MB")
}

// speak writes tokens at their times, each with its number and the time at which it is
// written, since the beginning.
func speak(began time.Time, feed chan<- string) {
	for i := range socketTokens {
		time.Sleep(time.Until(began.Add(time.Duration(i) * socketPace)))
		feed <- fmt.Sprintf("%d:%d ", i, time.Since(began).Nanoseconds())
	}
	close(feed)
}

// watch notes the most memory that the server has.
func (n native) watch(most *atomic.Int64, done <-chan struct{}) {
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		most.Store(max(most.Load(), int64(resident(n.pid))))
		select {
		case <-tick.C:
		case <-done:
			tick.Stop()
			return
		}
	}
}

// begin starts a conversation whose LLM streams, and gives its path.
func (n native) begin(b *testing.B) string {
	model := map[string]any{
		"model": "openai/test", "api_key": "sk-llm-test", "base_url": n.llm.URL, "usage_id": "agent", "stream": true, "num_retries": 0,
	}
	answer := n.post(b, "/api/conversations", map[string]any{
		"agent": map[string]any{"kind": "Agent", "llm": model, "tools": []any{}}, "autotitle": false,
		"workspace": map[string]string{"working_dir": b.TempDir()},
	})
	return "/api/conversations/" + answer["id"].(string)
}

func (n native) post(b *testing.B, path string, body any) (answer map[string]any) {
	b.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.Fatal(err)
	}
	res := send(b, http.MethodPost, n.url+path, string(text), "X-Session-API-Key", n.key, "Content-Type", "application/json")
	defer res.Body.Close()
	got := bodyOf(b, res)
	if err := json.Unmarshal([]byte(got), &answer); err != nil || res.StatusCode/100 != 2 {
		b.Fatalf("%s: status = %s, body %s", path, res.Status, got)
	}
	return answer
}

// eventSocket is a socket that reads what a library would make too slow to measure.
type eventSocket struct {
	in   *bufio.Reader
	lags []time.Duration // of each frame that has tokens, by the newest of them
	err  error
}

// listen opens a socket of a conversation and reads the state, which comes first.
func (n native) listen(b *testing.B, path string) *eventSocket {
	host := strings.TrimPrefix(n.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nX-Session-API-Key: %s\r\n\r\n", strings.Replace(path, "/api/conversations/", "/sockets/events/", 1), host, n.key)
	if err != nil {
		b.Fatal(err)
	}
	l := &eventSocket{in: bufio.NewReaderSize(conn, 16<<10), lags: make([]time.Duration, 0, socketTokens)}
	res, err := http.ReadResponse(l.in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		b.Fatalf("a socket was answered with %v, %v", res, err)
	}
	if state, err := l.frame(nil); err != nil || !bytes.Contains(state, []byte("full_state")) {
		b.Fatalf("a socket begins with %.80q, %v", state, err)
	}
	return l
}

// hear reads until the last token.
func (l *eventSocket) hear(began time.Time) {
	var data []byte
	for {
		if data, l.err = l.frame(data); l.err != nil {
			return
		}
		_, text, found := bytes.Cut(data, []byte(`"content":"`))
		if !found || !bytes.Contains(data, []byte("StreamingDeltaEvent")) {
			continue
		}
		text, _, _ = bytes.Cut(text, []byte(` "`))
		token, at, ok := lastToken(text)
		if !ok {
			continue
		}
		l.lags = append(l.lags, time.Since(began)-at)
		if token == socketTokens-1 {
			return
		}
	}
}

// lastToken reads the newest of the tokens of a frame.
func lastToken(text []byte) (token int, at time.Duration, ok bool) {
	number, since, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ' ')+1:]), ":")
	token, err := strconv.Atoi(number)
	nanoseconds, err2 := strconv.Atoi(since)
	return token, time.Duration(nanoseconds), err == nil && err2 == nil
}

// frame reads the next frame, which is a whole message from a server, into a buffer.
func (l *eventSocket) frame(into []byte) ([]byte, error) {
	head, err := l.in.Peek(2)
	if err != nil {
		return nil, fmt.Errorf("read a frame: %w", err)
	}
	size, opcode := int(head[1]), head[0]&15
	width := map[int]int{126: 2, 127: 8}[size]
	if _, err := l.in.Discard(2); err != nil {
		return nil, fmt.Errorf("read a frame: %w", err)
	}
	if width > 0 {
		length := make([]byte, 8)
		if _, err := io.ReadFull(l.in, length[8-width:]); err != nil {
			return nil, fmt.Errorf("read a frame: %w", err)
		}
		size = int(binary.BigEndian.Uint64(length))
	}
	into = slices.Grow(into[:0], size)[:size]
	if _, err := io.ReadFull(l.in, into); err != nil {
		return nil, fmt.Errorf("read a frame: %w", err)
	}
	if opcode == 8 {
		return nil, errors.New("the server has closed the socket")
	}
	return into, nil
}
