package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/internal/acp"
	"github.com/ohgw/ohgw/internal/gateway"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a gateway that does what a test says.
type script struct {
	turns [][]gateway.Piece // a turn without a Done at its end waits for its context
	err   error             // at the end of a turn without a Done
	began chan struct{}     // gets one for each turn that waits

	earlier map[string][]gateway.Item // by conversation

	mu    sync.Mutex
	asked []gateway.Question
}

func (s *script) Models(context.Context) ([]gateway.Model, error) {
	return []gateway.Model{{ID: "openhands_work", Name: "work"}, {ID: "openhands_home"}}, nil
}

func (s *script) Ask(ctx context.Context, q gateway.Question) iter.Seq2[gateway.Piece, error] {
	s.mu.Lock()
	turn := s.turns[min(len(s.asked), len(s.turns)-1)]
	s.asked = append(s.asked, q)
	s.mu.Unlock()
	return func(yield func(gateway.Piece, error) bool) {
		for _, p := range turn {
			if !yield(p, nil) {
				return
			}
			if _, done := p.(gateway.Done); done {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
			return
		}
		s.began <- struct{}{}
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

func (*script) Condense(context.Context, string) (gateway.Condensed, error) {
	return gateway.Condensed{}, nil
}

func (s *script) Earlier(_ context.Context, id string, n int) ([]gateway.Item, bool, error) {
	items, ok := s.earlier[id]
	if !ok {
		return nil, false, &gateway.Error{Kind: gateway.Refused, Code: "conversation_not_found"}
	}
	return items[max(0, len(items)-n):], false, nil
}

func (s *script) Delete(context.Context, string) error { return nil }

func (s *script) Extensions(context.Context, string) (gateway.Extensions, error) {
	return gateway.Extensions{}, nil
}

// questions are those that were asked so far.
func (s *script) questions() []gateway.Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]gateway.Question{}, s.asked...)
}

// editor is the other side of an agent.
type editor struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	calls int
}

// start begins to speak with an agent in front of a gateway.
func start(t *testing.T, s *script, change ...func(*acp.Config)) *editor {
	t.Helper()
	s.began = make(chan struct{}, 10)
	theirs, in := io.Pipe()
	out, ours := io.Pipe()
	ids := 0
	cfg := acp.Config{
		Open:         func(context.Context) (gateway.Endpoint, error) { return s, nil },
		Confirmation: func(context.Context) (gateway.Confirmation, bool) { return "", true },
		Workspace:    func(_ context.Context, dir string) (string, error) { return "in " + filepath.Base(dir), nil },
		NewID:        func() string { ids++; return fmt.Sprintf("id%d", ids) }, Version: "1.0", Log: slog.New(slog.DiscardHandler),
		Explain: func(err error) string { return "explained: " + err.Error() },
	}
	for _, f := range change {
		f(&cfg)
	}
	ended := make(chan error, 1)
	go func() {
		err := acp.Serve(context.Background(), cfg, theirs, ours)
		_ = ours.Close() // A pipe's never fails.
		ended <- err
	}()
	t.Cleanup(func() {
		_ = in.Close() // Nor does this one's.
		go func() { _, _ = io.Copy(io.Discard, out) }()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	e := &editor{t: t, in: in, lines: bufio.NewScanner(out)}
	e.lines.Buffer(nil, 1<<20)
	return e
}

// message is what an agent sends.
type message struct {
	ID     any
	Method string
	Params struct {
		SessionID string
		Update    map[string]any
	}
	Result map[string]any
	Error  *struct {
		Code    int
		Message string
	}
	raw string
}

func (e *editor) next() message {
	e.t.Helper()
	if !e.lines.Scan() {
		e.t.Fatalf("the agent said no more: %v", e.lines.Err())
	}
	m := message{raw: e.lines.Text()}
	if err := json.Unmarshal(e.lines.Bytes(), &m); err != nil {
		e.t.Fatalf("%s: %v", e.lines.Text(), err)
	}
	return m
}

func (e *editor) write(v any) {
	e.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.in.Write(append(data, '\n')); err != nil {
		e.t.Fatal(err)
	}
}

// send sends a request and gives its id.
func (e *editor) send(method string, params any) float64 {
	e.t.Helper()
	e.calls++
	e.write(map[string]any{"jsonrpc": "2.0", "id": e.calls, "method": method, "params": params})
	return float64(e.calls)
}

// call sends a request and gives its answer, and what came before it.
func (e *editor) call(method string, params any) (message, []message) {
	e.t.Helper()
	return e.until(e.send(method, params))
}

func (e *editor) until(id float64) (message, []message) {
	e.t.Helper()
	var before []message
	for {
		m := e.next()
		if m.Method == "" && m.ID == id {
			return m, before
		}
		before = append(before, m)
	}
}

type object = map[string]any

// session begins a session.
func (e *editor) session() string {
	e.t.Helper()
	if m, _ := e.call("initialize", object{"protocolVersion": 1, "clientCapabilities": object{}}); m.Error != nil {
		e.t.Fatal(m.raw)
	}
	m, _ := e.call("session/new", object{"cwd": e.t.TempDir(), "mcpServers": []any{}})
	id, ok := m.Result["sessionId"].(string)
	if !ok {
		e.t.Fatal(m.raw)
	}
	return id
}

func text(s string) []object { return []object{{"type": "text", "text": s}} }

// said is the text that messages told, and the other updates in a word each.
func said(messages []message) (string, []string) {
	var text strings.Builder
	var other []string
	for _, m := range messages {
		u := m.Params.Update
		if u["sessionUpdate"] == "agent_message_chunk" {
			content, _ := u["content"].(map[string]any)
			fmt.Fprint(&text, content["text"])
			continue
		}
		other = append(other, fmt.Sprint(u["sessionUpdate"], " ", u["title"], " ", u["status"]))
	}
	return text.String(), other
}

func TestTheVersionIsAgreedOn(t *testing.T) {
	t.Parallel()
	for sent, want := range map[any]string{
		1: `"protocolVersion":1,`, 2: `"protocolVersion":1,`, 65535: `"protocolVersion":1,`, 0: `"protocolVersion":1,`,
		"1": `"code":-32602,"message":"the parameters cannot be read: protocolVersion is a JSON string"`,
		nil: `"code":-32602,"message":"protocolVersion is missing"`,
		1.5: `"code":-32602`,
	} {
		e := start(t, &script{})
		m, _ := e.call("initialize", object{"protocolVersion": sent})
		if !strings.Contains(m.raw, want) {
			t.Errorf("the version %v: %s", sent, m.raw)
		}
	}
}

func TestNothingComesBeforeInitialize(t *testing.T) {
	t.Parallel()
	e := start(t, &script{})
	if m, _ := e.call("session/new", object{"cwd": "/", "mcpServers": []any{}}); m.Error == nil || m.Error.Message != "the first request must be initialize" {
		t.Error(m.raw)
	}
	e.session()
	for method, want := range map[string]string{
		"session/nothing": `there is no method "session/nothing"`,
		"authenticate":    "offers no authentication method",
		"session/prompt":  `there is no session ""`,
		"session/new":     "cwd is not an absolute path",
	} {
		if m, _ := e.call(method, object{"methodId": "x"}); m.Error == nil || !strings.Contains(m.Error.Message, want) {
			t.Errorf("%s: answer = %s", method, m.raw)
		}
	}
	e.write(object{"jsonrpc": "2.0", "method": "session/cancel", "params": object{"sessionId": "none"}})
	e.write(object{"jsonrpc": "2.0", "method": "_other/thing"})
}

func TestAPromptIsAQuestionOfItsConversation(t *testing.T) {
	t.Parallel()
	s := &script{turns: [][]gateway.Piece{{
		gateway.Started{},
		gateway.Waiting{},
		gateway.Text("Let "), gateway.Text("me look."), gateway.Progress("$ ls"),
		gateway.Text("\n\nIt "), gateway.Text("is there."),
		gateway.Done{Finish: "stop"},
	}}}
	e := start(t, s)
	id := e.session()
	png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	m, before := e.call("session/prompt", object{"sessionId": id, "prompt": []object{
		{"type": "text", "text": "Look at "},
		{"type": "resource_link", "name": "main.go", "uri": "file:///src/a%20b/main.go#L3"},
		{"type": "text", "text": " and "},
		{"type": "resource_link", "name": "a page", "uri": "https://example.org/x"},
		{"type": "image", "mimeType": "image/jpg", "data": png},
		{"type": "resource", "resource": object{"uri": "file:///n.md", "text": "notes"}},
		{"type": "resource", "resource": object{"uri": "file:///p.png", "mimeType": "image/png", "blob": png}},
	}})
	if got := m.Result["stopReason"]; got != "end_turn" {
		t.Fatal(m.raw)
	}
	said, other := said(before)
	if said != "Let me look.\n\nIt is there." {
		t.Errorf("said = %q", said)
	}
	if diff := cmp.Diff([]string{"tool_call ls completed"}, other); diff != "" {
		t.Error(diff)
	}
	image := "data:image/png;base64," + png
	want := gateway.Question{
		Model: "openhands_work", Conversation: id, Key: "id2", Details: true, Workspace: "in 001", Images: []string{image, image},
		Text: "Look at /src/a b/main.go#L3 and [a page](https://example.org/x)\n<resource uri=\"file:///n.md\">\nnotes\n</resource>\n",
	}
	if diff := cmp.Diff([]gateway.Question{want}, s.questions()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeAskedIsRefused(t *testing.T) {
	t.Parallel()
	e := start(t, &script{})
	id := e.session()
	for want, prompt := range map[string]any{
		"the prompt is empty":                             []object{},
		`block 1 of the prompt has the type "audio"`:      []object{{"type": "audio", "data": "x"}},
		"block 1 of the prompt is an image without data":  []object{{"type": "image", "mimeType": "image/png", "uri": "file:///x.png"}},
		"an image that cannot be used: it is not valid b": []object{{"type": "image", "mimeType": "text/html", "data": "x"}},
		"block 2 of the prompt has an image that cannot be used: it is SVG": []object{
			{"type": "text", "text": "x"},
			{"type": "image", "mimeType": "image/png", "data": "PHN2ZyB4bWxucz0nJy8+"},
		},
		"it is cut off": []object{{"type": "resource", "resource": object{"uri": "file:///p", "mimeType": "image/png", "blob": "iVBORw0KGgo="}}},
		"the parameters cannot be read: prompt is a JSO": "hello",
	} {
		m, _ := e.call("session/prompt", object{"sessionId": id, "prompt": prompt})
		if m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, want) {
			t.Errorf("%s: answer = %s", want, m.raw)
		}
	}
}

func TestACancelledPromptSaysSo(t *testing.T) {
	t.Parallel()
	s := &script{turns: [][]gateway.Piece{{gateway.Started{}, gateway.Text("I am")}, {gateway.Text("again"), gateway.Done{}}}}
	e := start(t, s)
	id := e.session()
	first := e.send("session/prompt", object{"sessionId": id, "prompt": text("go")})
	<-s.began
	if m, _ := e.call("session/prompt", object{"sessionId": id, "prompt": text("more")}); m.Error == nil || !strings.Contains(m.Error.Message, "is running") {
		t.Error(m.raw)
	}
	e.write(object{"jsonrpc": "2.0", "method": "session/cancel", "params": object{"sessionId": id}})
	m, before := e.until(first)
	if m.Result["stopReason"] != "cancelled" {
		t.Error(m.raw)
	}
	if said, _ := said(before); said != "I am" {
		t.Errorf("said = %q", said)
	}
	if m, _ := e.call("session/prompt", object{"sessionId": id, "prompt": text("more")}); m.Result["stopReason"] != "end_turn" {
		t.Error(m.raw)
	}
}

func TestAnAnswerThatIsRepeatedIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pieces []gateway.Piece
		want   string
	}{
		"the same": {[]gateway.Piece{
			gateway.Started{},
			gateway.Text("One two"), gateway.Progress("$ a"),
			gateway.Lost{},
			gateway.Started{Replayed: true},
			gateway.Text("One"),
			gateway.Text(" two"), gateway.Progress("$ a"), gateway.Progress("$ b"), gateway.Text("\n\nthree"),
			gateway.Done{},
		}, "One two\n\nthree"},
		"another": {[]gateway.Piece{
			gateway.Started{}, gateway.Text("One two"), gateway.Progress("$ a"), gateway.Progress("$ b"), gateway.Lost{}, gateway.Started{Replayed: true}, gateway.Text("Four"), gateway.Done{},
		}, "One two\n\nFour"},
	} {
		s := &script{turns: [][]gateway.Piece{tt.pieces}}
		e := start(t, s)
		_, before := e.call("session/prompt", object{"sessionId": e.session(), "prompt": text("go")})
		said, other := said(before)
		if said != tt.want || len(other) != 2 {
			t.Errorf("%s: said = %q, others %q", name, said, other)
		}
	}
}

func TestAFailureIsExplained(t *testing.T) {
	t.Parallel()
	s := &script{turns: [][]gateway.Piece{{gateway.Started{}, gateway.Text("some")}}, err: errors.New("no provider")}
	e := start(t, s)
	m, before := e.call("session/prompt", object{"sessionId": e.session(), "prompt": text("go")})
	if m.Error == nil || m.Error.Code != -32603 || m.Error.Message != "explained: no provider" {
		t.Error(m.raw)
	}
	if said, _ := said(before); said != "some" {
		t.Errorf("said = %q", said)
	}
}

func TestAGatewayThatIsNotThereIsLookedForAgain(t *testing.T) {
	t.Parallel()
	tries := 0
	s := &script{turns: [][]gateway.Piece{{gateway.Done{Finish: "length"}}}}
	e := start(t, s, func(cfg *acp.Config) {
		cfg.Model = "openhands_home"
		cfg.Open = func(context.Context) (gateway.Endpoint, error) {
			if tries++; tries == 1 {
				return nil, errors.New("the state directory cannot be used")
			}
			return s, nil
		}
	})
	e.call("initialize", object{"protocolVersion": 1})
	if m, _ := e.call("session/new", object{"cwd": t.TempDir(), "mcpServers": []any{}}); m.Error == nil || m.Error.Message != "explained: the state directory cannot be used" {
		t.Error(m.raw)
	}
	m, _ := e.call("session/prompt", object{"sessionId": e.session(), "prompt": text("go")})
	if m.Result["stopReason"] != "max_tokens" || s.questions()[0].Model != "openhands_home" {
		t.Error(m.raw)
	}
}

func TestTheEditorsEndStopsTheRun(t *testing.T) {
	t.Parallel()
	s := &script{turns: [][]gateway.Piece{{gateway.Started{}}}}
	e := start(t, s)
	e.send("session/prompt", object{"sessionId": e.session(), "prompt": text("go")})
	<-s.began // and the cleanup sees Serve come to its end
}
