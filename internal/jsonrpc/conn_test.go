package jsonrpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/internal/jsonrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler answers "echo" with its parameters, and "wait" when it is cancelled.
type handler struct {
	waits chan string // the methods of requests that wait
	notes chan string
}

func (h handler) Request(ctx context.Context, method string, params json.RawMessage) (any, jsonrpc.Work, error) {
	switch method {
	case "echo":
		return params, nil, nil
	case "nothing":
		return nil, func() (any, error) { return nil, nil }, nil
	case "wait":
		return nil, func() (any, error) {
			h.waits <- method
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil
	}
	return nil, nil, jsonrpc.Errorf(jsonrpc.CodeUnknownMethod, "no %s", method)
}

func (h handler) Notification(_ context.Context, method string, _ json.RawMessage) { h.notes <- method }

// peer is the other side of a connection.
type peer struct {
	t     *testing.T
	conn  *jsonrpc.Conn
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
	handler
}

func dial(t *testing.T, limit int) *peer {
	t.Helper()
	theirs, in := io.Pipe()
	out, ours := io.Pipe()
	p := &peer{t: t, in: in, out: bufio.NewReader(out), ended: make(chan error, 1), handler: handler{make(chan string, 1000), make(chan string, 10)}}
	p.conn = jsonrpc.New(ours, slog.New(slog.DiscardHandler))
	p.conn.Max = limit
	go func() {
		err := p.conn.Serve(context.Background(), theirs, p.handler)
		_ = ours.Close() // A pipe's never fails.
		p.ended <- err
	}()
	t.Cleanup(func() {
		_ = in.Close() // Nor does this one's.
		go func() { _, _ = io.Copy(io.Discard, out) }()
		if err := <-p.ended; err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func TestEveryRequestHasOneAnswer(t *testing.T) {
	t.Parallel()
	p := dial(t, 0)
	for request, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":"<b>"}}`:  `{"jsonrpc":"2.0","id":1,"result":{"a":"<b>"}}`,
		`{"jsonrpc":"2.0","id":"x","method":"nothing"}`:                  `{"jsonrpc":"2.0","id":"x","result":{}}`,
		`{"jsonrpc":"2.0","id":null,"method":"nothing"}`:                 `{"jsonrpc":"2.0","id":null,"result":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"other"}`:                      `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no other"}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"nothing\"}\r":        `{"jsonrpc":"2.0","id":3,"result":{}}`,
		`{"jsonrpc":"2.0","id":4`:                                        `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not valid JSON"}}`,
		`[{"jsonrpc":"2.0","id":5,"method":"echo"}]`:                     `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is not a JSON-RPC message"}}`,
		`{"id":6,"method":"echo"}`:                                       `{"jsonrpc":"2.0","id":6,"error":{"code":-32600,"message":"the message has no \"jsonrpc\": \"2.0\""}}`,
		`{"jsonrpc":"2.0","id":{"a":1},"method":"echo"}`:                 `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the id of the message is not a string or a number"}}`,
		`{"jsonrpc":"2.0"}`:                                              `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the message has neither a method nor an id"}}`,
		strings.Repeat("[", 100_000):                                     `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not valid JSON"}}`,
		"\xff\xfe\x00":                                                   `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not valid JSON"}}`,
		"\n \n" + `{"jsonrpc":"2.0","id":7,"method":"nothing","x":[{}]}`: `{"jsonrpc":"2.0","id":7,"result":{}}`,
	} {
		p.send(request)
		if got := p.line(); got != want {
			t.Errorf("%.80q:\n got %s\nwant %s", request, got, want)
		}
	}
	p.send(`{"jsonrpc":"2.0","id":"nobody waits for this","result":{}}`)
	p.send(`{"jsonrpc":"2.0","method":"note"}`)
	if got := <-p.notes; got != "note" {
		t.Error(got)
	}
}

func TestALongLineIsRefusedAndTheNextOneRead(t *testing.T) {
	t.Parallel()
	p := dial(t, 2<<20)
	go func() {
		_, _ = io.WriteString(p.in, `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", 5<<20)+"\"}\n") // The next write fails, too.
		_, _ = io.WriteString(p.in, `{"jsonrpc":"2.0","id":2,"method":"nothing"}`+"\n")
	}()
	if got, want := p.line(), `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the message is longer than 2 MiB"}}`; got != want {
		t.Errorf("line = %s", got)
	}
	if got, want := p.line(), `{"jsonrpc":"2.0","id":2,"result":{}}`; got != want {
		t.Errorf("line = %s", got)
	}
}

func TestARequestIsCancelledByItsID(t *testing.T) {
	t.Parallel()
	p := dial(t, 0)
	p.send(`{"jsonrpc":"2.0","id":"a","method":"wait"}`)
	<-p.waits
	p.send(`{"jsonrpc":"2.0","id":"a","method":"echo"}`)
	if got := p.line(); !strings.Contains(got, "a request with this id is running") {
		t.Error(got)
	}
	p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"b"}}`)
	p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":7}`)
	p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"a"}}`)
	if got, want := p.line(), `{"jsonrpc":"2.0","id":"a","error":{"code":-32800,"message":"the request was cancelled"}}`; got != want {
		t.Error(got)
	}
}

func TestTheNumberOfRequestsIsBounded(t *testing.T) {
	t.Parallel()
	p := dial(t, 0)
	const most = 256
	for i := range most {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"wait"}`, i))
	}
	p.send(`{"jsonrpc":"2.0","id":"more","method":"nothing"}`)
	if got := p.line(); !strings.Contains(got, `"id":"more","error":{"code":-32603,"message":"256 requests are running`) {
		t.Error(got)
	}
}

func TestTheOtherSideIsAsked(t *testing.T) {
	t.Parallel()
	p := dial(t, 0)
	results := make(chan error, 1)
	ask := func(ctx context.Context, into any) {
		go func() { results <- p.conn.Call(ctx, "hello", map[string]int{"n": 1}, into) }()
	}
	var got struct{ Name string }
	ask(t.Context(), &got)
	if line, want := p.line(), `{"jsonrpc":"2.0","id":1,"method":"hello","params":{"n":1}}`; line != want {
		t.Error(line)
	}
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"name":"them"}}`)
	if err := <-results; err != nil || got.Name != "them" {
		t.Errorf("the result: %v, %+v", err, got)
	}
	ask(t.Context(), &got)
	p.line()
	p.send(`{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}`)
	var refused *jsonrpc.Error
	if err := <-results; !errors.As(err, &refused) || refused.Message != "no" {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	ask(ctx, &got)
	p.line()
	if err := <-results; !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestTheEndOfTheInputEndsAllWork(t *testing.T) {
	t.Parallel()
	p := dial(t, 0)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`)
	<-p.waits
	_, _ = io.WriteString(p.in, `{"jsonrpc":"2.0","id":2,"method":"nothing"}`) // without an end of line
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	got := p.line() + p.line()
	if !strings.Contains(got, `"id":1,"error":{"code":-32800`) || !strings.Contains(got, `"id":2,"result":{}`) {
		t.Error(got)
	}
}
