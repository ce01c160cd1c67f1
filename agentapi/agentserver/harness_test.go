package agentserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/uuid"
)

// world is a backend over a fake server in a bubble: time passes at once when
// everybody waits.
type world struct {
	*fakeserver.Server
	backend *agentserver.Backend
	model   *model
}

// model is what the agents of a world think with: the script, then "ok". A test with
// several agents at work changes it by then only.
type model struct {
	mu     sync.Mutex
	script []func(ctx context.Context, say func(string)) (fakeserver.Reply, error)
}

// then adds to the script.
func (m *model) then(next thought) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = append(m.script, next)
}

func (m *model) think(ctx context.Context, _ fakeserver.Prompt, say func(string)) (fakeserver.Reply, error) {
	return m.next()(ctx, say)
}

func (m *model) next() thought {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.script) == 0 {
		return text("ok")
	}
	next := m.script[0]
	m.script = m.script[1:]
	return next
}

type thought = func(ctx context.Context, say func(string)) (fakeserver.Reply, error)

// text answers at once, word by word.
func text(s string) thought { return slowly(s, 0) }

// slowly answers word by word.
func slowly(s string, pace time.Duration) thought {
	return func(ctx context.Context, say func(string)) (fakeserver.Reply, error) {
		for word := range strings.SplitAfterSeq(s, " ") {
			if err := sleep(ctx, pace); err != nil {
				return fakeserver.Reply{}, err
			}
			say(word)
		}
		return fakeserver.Reply{Text: s, Usage: fakeserver.Usage{Prompt: 100, Completion: 10}}, sleep(ctx, pace)
	}
}

// tool thinks and calls the terminal.
func tool(thought, command string) thought {
	return func(_ context.Context, say func(string)) (fakeserver.Reply, error) {
		if thought != "" {
			say(thought)
		}
		return fakeserver.Reply{Text: thought, Calls: []fakeserver.ModelCall{
			{ID: "call-" + command, Name: "terminal", Args: `{"command":"` + command + `"}`},
		}, Usage: fakeserver.Usage{Prompt: 100, Completion: 10}}, nil
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inBubble runs a test in a bubble with a server and a backend.
func inBubble(t *testing.T, opts fakeserver.Options, test func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{model: &model{}}
		opts.InMemory = true
		if opts.Model == nil {
			opts.Model = w.model.think
		}
		w.Server = fakeserver.New(t, opts)
		w.SaveProfile("fast", fakeserver.Profile{Model: "openai/test", BaseURL: "http://llm.test/v1", Key: "sk-llm"})
		client := w.Client()
		b, err := agentserver.New(agentserver.Config{URL: w.URL, HTTP: client, Key: func() string { return opts.Key }})
		if err != nil {
			t.Fatal(err)
		}
		w.backend = b
		defer func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(t, w)
	})
}

// inBubbles runs a test with each kind of socket.
func inBubbles(t *testing.T, opts fakeserver.Options, test func(*testing.T, *world)) {
	t.Helper()
	for name, version := range map[string]string{"session": "", "events": "1.43.1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := opts
			opts.Version = version
			inBubble(t, opts, test)
		})
	}
}

// noSockets refuses the next n sockets of each kind, as a proxy does that knows none.
func (w *world) noSockets(id string, n int) {
	for _, kind := range []string{"session", "events"} {
		w.Fail("GET", "/sockets/"+kind+"/"+id, n, 400, "upgrade? what upgrade?")
	}
}

func (w *world) open(t *testing.T) agentapi.Conversation {
	t.Helper()
	c, err := w.backend.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Workspace: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// outcome is what became of a turn.
type outcome struct {
	turn.Result
	text string // live
	err  error
	took time.Duration
}

// begin runs a turn and calls at with each update.
func begin(t *testing.T, c agentapi.Conversation, at func(turn.Update)) <-chan outcome {
	t.Helper()
	over := make(chan outcome, 1)
	start := time.Now()
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	wg.Go(func() {
		var o outcome
		o.Result, o.err = turn.Run(t.Context(), c, turn.Input{
			Message: agentapi.Message{Text: "go"},
			Emit: func(u turn.Update) {
				if u.Kind == turn.Text {
					o.text += u.Text
				}
				if at != nil {
					at(u)
				}
			},
		})
		o.took = time.Since(start)
		over <- o
	})
	return over
}

func run(t *testing.T, c agentapi.Conversation) outcome {
	t.Helper()
	return <-begin(t, c, nil)
}

// wantAnswer checks that a turn has an answer and that nothing of it is doubled.
func (o outcome) wantAnswer(t *testing.T, answer, text string) {
	t.Helper()
	if o.err != nil {
		t.Fatalf("turn: %v", o.err)
	}
	if o.Outcome != turn.Finished || o.Answer != answer || o.text != text {
		t.Errorf("outcome %v, answer %q, live text %q; want answer %q, live text %q", o.Outcome, o.Answer, o.text, answer, text)
	}
}

// once makes a function that does something at the first call only.
func once(do func()) func(turn.Update) {
	done := false
	return func(turn.Update) {
		if !done {
			done = true
			do()
		}
	}
}

func isAgentMessage(e event.Event) bool {
	_, ok := e.Body.(*event.Message)
	return ok && e.Source == event.SourceAgent
}

func isSnapshot(e event.Event) bool {
	_, ok, _ := e.FullState()
	return ok
}

// useLLM gives the backend a model of its own.
func (w *world) useLLM(t *testing.T, llm *agentserver.LLM) {
	t.Helper()
	if llm == nil {
		return
	}
	client := w.Client()
	b, err := agentserver.New(agentserver.Config{URL: w.URL, HTTP: client, LLM: llm})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	w.backend = b
}

// post makes a request of the native API, as another client would.
func (w *world) post(t *testing.T, path, body string) {
	t.Helper()
	w.native(t, http.MethodPost, path, body)
}

func (w *world) remove(t *testing.T, id string) {
	t.Helper()
	w.native(t, http.MethodDelete, "/api/conversations/"+id, "")
}

func (w *world) native(t *testing.T, method, path, body string) string {
	t.Helper()
	client := w.Client()
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode > 299 {
		t.Fatalf("%s: status = %s, error %v", path, res.Status, err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// foreign makes a conversation that this backend knows nothing about.
func (w *world) foreign(t *testing.T, model string) string {
	t.Helper()
	return w.tagged(t, model, `{"owner":"somebody"}`)
}

func (w *world) tagged(t *testing.T, model, tags string) string {
	t.Helper()
	id := uuid.New()
	w.post(t, "/api/conversations", `{"conversation_id":"`+id+`","workspace":{"working_dir":"/w"},"tags":`+tags+`,
		"agent":{"llm":{"model":"`+model+`","base_url":"http://llm.test/v1","usage_id":"agent"},"agent_context":{"system_message_suffix":"x"}}}`)
	return id
}
