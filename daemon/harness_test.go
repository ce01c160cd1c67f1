package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/sse"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(childVariable); config != "" {
		panic(child(config)) // it ends when it is killed
	}
	goleak.VerifyTestMain(m)
}

const (
	key        = "ohgw-test-key-0123456789"
	limitedKey = "ohgw-limited-key-0123456789"
	expiredKey = "ohgw-expired-key-0123456789"
	otherKey   = "ohgw-other-key-0123456789"
	brokenKey  = "ohgw-broken-key-0123456789"
	activeKey  = "ohgw-active-key-0123456789"
)

// tokens are the keys of the tests.
type tokens struct{}

func (tokens) Check(presented string) (gate.Client, error) {
	switch presented {
	case key:
		return gate.Client{ID: "id-test", Name: "test"}, nil
	case otherKey:
		return gate.Client{ID: "id-other", Name: "other", ChatBy: []string{"user", "prompt_cache_key"}}, nil
	case limitedKey:
		return gate.Client{ID: "id-limited", Name: "limited", Models: []string{"openhands_cheap"}}, nil
	case activeKey:
		return gate.Client{ID: "id-active", Name: "active", Models: []string{"openhands"}}, nil
	case expiredKey:
		return gate.Client{}, gate.ErrExpiredKey
	case brokenKey:
		return gate.Client{}, errors.New("read tokens: permission denied")
	default:
		return gate.Client{}, gate.ErrUnknownKey
	}
}

// gateway is a daemon that serves a scripted backend.
type gateway struct {
	t       testing.TB
	backend *daemontest.Backend
	daemon  *daemon.Daemon
	client  *http.Client
	logs    *log
	stop    func() error // drains and waits for Serve
}

// serve starts a gateway on a listener in memory, which works in a synctest
// bubble too. It ends with the test.
func serve(t testing.TB, b *daemontest.Backend, change ...func(*daemon.Config)) *gateway {
	t.Helper()
	ln := newPipes()
	g := serveOn(t, ln, b, change...)
	g.client = &http.Client{Transport: &http.Transport{DialContext: ln.dial}}
	t.Cleanup(g.client.CloseIdleConnections)
	return g
}

func serveOn(t testing.TB, ln net.Listener, b *daemontest.Backend, change ...func(*daemon.Config)) *gateway {
	t.Helper()
	g := &gateway{t: t, backend: b, logs: &log{}}
	cfg := daemon.Config{
		Config: gate.Config{
			Backend: b, Tokens: tokens{},
			Logger: slog.New(slog.NewJSONHandler(g.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		},
		Why: "the test says so", Version: "9.9.9",
	}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if g.daemon, err = daemon.New(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- g.daemon.Serve(ctx, ln) }()
	g.stop = sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() {
		if err := g.stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := errors.Join(g.daemon.Close(), b.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return g
}

// response is an answer that was read to its end.
type response struct {
	status int
	header http.Header
	body   string
	close  bool  // the connection ends with it
	err    error // of reading the body
}

// request makes a request with the key; an empty header value takes a header away.
func (g *gateway) request(method, path, body string, header ...string) *http.Request {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		switch {
		case header[i] == "Host":
			r.Host = header[i+1]
		case header[i+1] == "":
			r.Header.Del(header[i])
		default:
			r.Header.Set(header[i], header[i+1])
		}
	}
	return r
}

func (g *gateway) do(method, path, body string, header ...string) response {
	g.t.Helper()
	return g.finish(g.send(g.request(method, path, body, header...)))
}

func (g *gateway) chat(body string, header ...string) response {
	g.t.Helper()
	return g.do(http.MethodPost, "/v1/chat/completions", body, header...)
}

func (g *gateway) send(r *http.Request) *http.Response {
	g.t.Helper()
	res, err := g.client.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	return res
}

func (g *gateway) finish(res *http.Response) response {
	g.t.Helper()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return response{status: res.StatusCode, header: res.Header, body: string(body), close: res.Close, err: err}
}

// ask is the body of a request with one message.
func ask(prompt string, more ...string) string {
	quoted, err := json.Marshal(prompt)
	if err != nil {
		panic(err)
	}
	return messages(`{"role":"user","content":`+string(quoted)+`}`, more...)
}

// messages is the body of a request with these messages.
func messages(list string, more ...string) string {
	return `{"model":"openhands_default","messages":[` + list + `]` + strings.Join(append([]string{""}, more...), ",") + `}`
}

const streamed = `"stream":true`

// script makes a backend with the profile default that always does this.
func script(steps ...daemontest.Step) *daemontest.Backend {
	b := daemontest.New("default", "cheap")
	b.Script = func(string) []daemontest.Step { return steps }
	return b
}

// envelope checks that an answer is OpenAI's envelope and returns its error.
func envelope(t testing.TB, res response, status int, code, param string) map[string]any {
	t.Helper()
	if res.status != status {
		t.Fatalf("status %d, want %d: %s", res.status, status, res.body)
	}
	if ct := res.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("content type %q", ct)
	}
	return frameError(t, []byte(res.body), code, param)
}

// frameError checks that data is the envelope and returns its error.
func frameError(t testing.TB, data []byte, code, param string) map[string]any {
	t.Helper()
	e, ok := valid(t, "error-response", data)["error"].(map[string]any)
	if !ok || len(e) != 4 || !strings.HasPrefix(string(data), `{"error":{`) {
		t.Fatalf("not an envelope: %s", data)
	}
	if e["code"] != any(code) {
		t.Errorf("code %v, want %q: %s", e["code"], code, data)
	}
	if want := any(param); param == "" && e["param"] != nil || param != "" && e["param"] != want {
		t.Errorf("param %v, want %q", e["param"], param)
	}
	if message, _ := e["message"].(string); message == "" {
		t.Errorf("no message: %s", data)
	}
	return e
}

var schemas sync.Map // of compiled schemas by name

// valid checks data against one of OpenAI's schemas and returns the object.
func valid(t testing.TB, name string, data []byte) map[string]any {
	t.Helper()
	s, ok := schemas.Load(name)
	if !ok {
		compiled, err := jsonschema.NewCompiler().Compile(filepath.Join("openai", "testdata", "schemas", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		s, _ = schemas.LoadOrStore(name, compiled)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("read the JSON: %v: %q", err, data)
	}
	if err := s.(*jsonschema.Schema).Validate(v); err != nil {
		t.Errorf("check the JSON by its schema: %v: %s", err, data)
	}
	return v.(map[string]any)
}

// completion is an answer in one piece.
type completion struct {
	ID      string `json:"id"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Message struct {
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage     usage          `json:"usage"`
	Extension map[string]any `json:"ohgw"`
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Reasoning struct {
		Tokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func completed(t testing.TB, res response) completion {
	t.Helper()
	if res.status != http.StatusOK || res.err != nil {
		t.Fatalf("status %d, %v: %s", res.status, res.err, res.body)
	}
	valid(t, "chat-completion", []byte(res.body))
	var c completion
	if err := json.Unmarshal([]byte(res.body), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c completion) text() string { return c.Choices[0].Message.Content }

// chunk is a frame of a stream.
type chunk struct {
	ID      string `json:"id"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Delta struct {
			Role      *string `json:"role"`
			Content   *string `json:"content"`
			Reasoning *string `json:"reasoning_content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage     *usage         `json:"usage"`
	Extension map[string]any `json:"ohgw"`
	raw       string
}

func (c chunk) content() string {
	if len(c.Choices) == 0 || c.Choices[0].Delta.Content == nil {
		return ""
	}
	return *c.Choices[0].Delta.Content
}

func (c chunk) reasoning() string {
	if len(c.Choices) == 0 || c.Choices[0].Delta.Reasoning == nil {
		return ""
	}
	return *c.Choices[0].Delta.Reasoning
}

// frames are the chunks of a stream and what ended it: "[DONE]", or an error
// frame, or nothing.
type frames struct {
	chunks []chunk
	end    string
}

func (f frames) text() string {
	var b strings.Builder
	for _, c := range f.chunks {
		b.WriteString(c.content())
	}
	return b.String()
}

func (f frames) reasoning() string {
	var b strings.Builder
	for _, c := range f.chunks {
		b.WriteString(c.reasoning())
	}
	return b.String()
}

// parse reads a stream and checks what holds for every one.
func parse(t testing.TB, res response) frames {
	t.Helper()
	if res.status != http.StatusOK {
		t.Fatalf("status %d: %s", res.status, res.body)
	}
	for line := range strings.Lines(res.body) {
		if line != "\n" && !strings.HasPrefix(line, "data: ") {
			t.Errorf("line %q", line)
		}
	}
	var f frames
	r := sse.NewReader(strings.NewReader(res.body), 1<<20)
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		if f.end != "" {
			t.Errorf("a frame after the end: %s", e.Data)
		}
		if data := string(e.Data); data == "[DONE]" || strings.HasPrefix(data, `{"error":`) {
			f.end = data
			continue
		}
		f.chunks = append(f.chunks, parseChunk(t, e.Data))
	}
	return f
}

func parseChunk(t testing.TB, data []byte) chunk {
	t.Helper()
	v := valid(t, "chat-completion-chunk", data)
	if _, has := v["error"]; has {
		t.Errorf("a chunk with an error key: %s", data)
	}
	c := chunk{raw: string(data)}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// eventually waits until ok says so.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// log is what a daemon logged.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// pipes is a listener in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }
