package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secretKey is the key of every profile here; no output may hold it.
const secretKey = "key-0123456789-secret"

// profile is a profile with fields of the JSON object more.
func profile(t testing.TB, model, more string) llm.Profile {
	t.Helper()
	fields := map[string]any{"model": model, "api_key": secretKey, "retry_min_wait": 0, "retry_max_wait": 0}
	if more != "" {
		if err := json.Unmarshal([]byte("{"+more+"}"), &fields); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	p, err := llm.ParseProfile(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newModel makes a model; it fails the test if there is none.
func newModel(t testing.TB, cfg llm.Config) llm.Model {
	t.Helper()
	if cfg.HTTP == nil {
		cfg.HTTP = llm.NewHTTPClient(nil)
		t.Cleanup(cfg.HTTP.CloseIdleConnections)
	}
	m, err := llm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// at is the model "openai/test" at a base URL.
func at(t testing.TB, url, more string) llm.Model {
	t.Helper()
	if more != "" {
		more = "," + more
	}
	return newModel(t, llm.Config{Profile: profile(t, "openai/test", `"base_url":"`+url+`"`+more)})
}

// hello is a request of one message.
func hello(text string) llm.Request {
	return llm.Request{
		CacheKey: "conversation-1",
		Messages: []event.LLMMessage{
			{Role: "system", Content: []event.Content{event.Text("You are an agent.")}},
			{Role: "user", Content: []event.Content{event.Text(text)}},
		},
	}
}

// heard is what a listener was told.
type heard struct {
	Text, Reasoning string
	Calls           []string // "index id name arguments"
	Restarts        int
}

func (h *heard) listen(d llm.Delta) {
	switch {
	case d.Restart:
		*h = heard{Restarts: h.Restarts + 1}
	case d.ToolCall != nil:
		c := d.ToolCall
		for len(h.Calls) <= c.Index {
			h.Calls = append(h.Calls, "")
		}
		if c.ID != "" || c.Name != "" {
			h.Calls[c.Index] += c.ID + " " + c.Name + " "
		}
		h.Calls[c.Index] += c.Arguments
	default:
		h.Text += d.Text
		h.Reasoning += d.Reasoning
	}
}

// failure is the *llm.Error in err; the test ends without one.
func failure(t *testing.T, err error) *llm.Error {
	t.Helper()
	failed, ok := errors.AsType[*llm.Error](err)
	if !ok {
		t.Fatalf("error %v (%T), want an *llm.Error", err, err)
	}
	if strings.Contains(failed.Error(), secretKey) || failed.Err != nil && strings.Contains(failed.Err.Error(), secretKey) {
		t.Errorf("the error shows the key: %v", err)
	}
	return failed
}

// server is a provider as a function: no network, so that a synctest bubble can
// wait for it.
type server func(*http.Request) (*http.Response, error)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func (s server) client() *http.Client { return &http.Client{Transport: s} }

func answer(status int, contentType, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

func stream(body string) *http.Response { return answer(http.StatusOK, "text/event-stream", body) }

// said is a stream of chat completions that says text.
func said(text string) *http.Response {
	quoted, _ := json.Marshal(text)
	return stream(`data: {"id":"c1","choices":[{"delta":{"content":` + string(quoted) + `}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
}

func textOf(r llm.Response) string { return event.PlainText(r.Message.Content) }

func ask(t *testing.T, m llm.Model) (llm.Response, error) {
	t.Helper()
	return m.Generate(context.Background(), hello("Hi."), nil)
}

func debugLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
