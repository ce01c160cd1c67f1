package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/watch"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reply is what the model does when it is called.
type reply func(ctx context.Context, onDelta func(llm.Delta)) (llm.Response, error)

// model answers from a script. What it is asked beyond that fails.
type model struct {
	mu    sync.Mutex
	todo  []reply
	asked []llm.Request
	info  llm.Info
}

func (m *model) Info() llm.Info { return m.info }

func (m *model) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	m.mu.Lock()
	m.asked = append(m.asked, req)
	if len(m.todo) == 0 {
		m.mu.Unlock()
		return llm.Response{}, errors.New("the script is at its end")
	}
	next := m.todo[0]
	m.todo = m.todo[1:]
	m.mu.Unlock()
	return next(ctx, onDelta)
}

// requests are what the model was asked so far.
func (m *model) requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// Model returns the model for every choice.
func (m *model) Model(context.Context, conversation.Choice) (llm.Model, error) { return m, nil }

// Switched keeps the agent as it is.
func (m *model) Switched(_ context.Context, agent json.RawMessage, profile string) (conversation.Choice, json.RawMessage, error) {
	return conversation.Choice{Profile: profile, Usage: profile}, agent, nil
}

func answer(id string, text string, calls ...event.ToolCall) reply {
	return func(context.Context, func(llm.Delta)) (llm.Response, error) {
		r := llm.Response{ID: id, Message: event.LLMMessage{Role: "assistant", ToolCalls: slices.Clone(calls)}}
		if text != "" {
			r.Message.Content = []event.Content{event.Text(text)}
		}
		return r, nil
	}
}

func fails(code string) reply {
	return func(context.Context, func(llm.Delta)) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Code: code, Detail: "as the script says"}
	}
}

func callOf(id, name, args string) event.ToolCall {
	return event.ToolCall{ID: id, Name: name, Arguments: args, Origin: "completion"}
}

// look calls the tool that each world has besides finish.
func look(id string) event.ToolCall { return callOf(id, "look", `{"at":"it"}`) }

func done(id string) event.ToolCall { return callOf(id, "finish", `{"message":"done"}`) }

type silent struct{}

func (silent) System([]tool.Definition, string) (string, string) { return "You are a test.", "" }
func (silent) Small([]tool.Definition, string) (string, string)  { return "You are a small test.", "" }

func (silent) Message(string, []string) ([]event.Content, []string) {
	return nil, nil
}
func (silent) Path(string, []string) ([]event.Content, []string) { return nil, nil }

// world is a conversation with a scripted model.
type world struct {
	t      *testing.T
	id     string
	root   string
	files  store.Files // nil: the disk
	model  *model
	look   func(ctx context.Context) (string, error) // what the tool does
	cfg    conversation.Config
	conv   *conversation.Conversation
	stream *watch.Stream
}

// open makes a conversation; set may change its configuration and its state.
func open(t *testing.T, m *model, set func(*conversation.Config, *store.State)) *world {
	t.Helper()
	return openOn(t, m, nil, set)
}

// openOn makes a conversation on another disk; nil is the real one.
func openOn(t *testing.T, m *model, files store.Files, set func(*conversation.Config, *store.State)) *world {
	t.Helper()
	w := &world{t: t, files: files, root: t.TempDir(), model: m, look: func(context.Context) (string, error) { return "seen", nil }}
	state := store.NewState(uuid.New(), json.RawMessage(`{"kind":"Agent"}`), t.TempDir())
	w.cfg = conversation.Config{
		Models: m, Model: conversation.Choice{Profile: "p", Usage: "agent"}, Prompt: silent{}, Tools: w.tools,
		Grace: 100 * time.Millisecond, Now: time.Now, NewID: uuid.New, Log: slog.New(slog.DiscardHandler),
	}
	if set != nil {
		set(&w.cfg, &state)
	}
	w.id = state.ID
	dir, err := store.Create(w.root, state, store.Meta{}, w.options())
	if err != nil {
		t.Fatal(err)
	}
	w.start(dir)
	t.Cleanup(func() {
		if err := w.conv.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

func (w *world) options() store.Options {
	o := holder()
	o.Files = w.files
	return o
}

func holder() store.Options {
	return store.Options{Holder: store.Holder{Instance: "ours", Host: "h", PID: 1, Alive: func(int) bool { return true }}}
}

// start opens the conversation of a directory and watches it.
func (w *world) start(dir *store.Dir) {
	w.t.Helper()
	w.cfg.Dir = dir
	var err error
	if w.conv, err = conversation.Open(w.cfg); err != nil {
		w.t.Fatal(err)
	}
	if w.stream, err = w.conv.Watch(w.t.Context(), ""); err != nil {
		w.t.Fatal(err)
	}
	w.rest() // how it stands
}

// reopen closes the conversation and opens it from what is on the disk.
func (w *world) reopen() {
	w.t.Helper()
	if err := w.conv.Close(); err != nil {
		w.t.Fatal(err)
	}
	dir, err := store.Open(w.root, w.id, w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	w.start(dir)
}

func (w *world) tools(context.Context, conversation.Host) ([]tool.Tool, error) {
	return []tool.Tool{&enginetest.Func{
		Needs: []string{},
		Def: tool.Definition{
			Name: "look", Description: "Looks.", Kind: "LookTool", ActionKind: "LookAction", ObservationKind: "LookObservation",
			Parameters: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`),
		},
		Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			text, err := w.look(ctx)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.NewResult("LookObservation", []event.Content{event.Text(text)}, false, nil)
		},
	}, enginetest.Finish()}, nil
}

// send sends a message.
func (w *world) send(text string) {
	w.t.Helper()
	if err := w.conv.Send(w.t.Context(), agentapi.Message{Text: text}); err != nil {
		w.t.Fatalf("send %q: %v", text, err)
	}
}

// play sends a message and gives what came until the end of its run.
func (w *world) play(text string) []event.Event {
	w.t.Helper()
	w.send(text)
	return w.rest()
}

// rest reads until the next snapshot: the end of a run.
func (w *world) rest() []event.Event {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	var events []event.Event
	for {
		e, err := w.stream.Next(ctx)
		if err != nil {
			w.t.Fatalf("watch: %v, after %q", err, lines(events))
		}
		if _, snapshot, _ := e.FullState(); snapshot {
			return events
		}
		events = append(events, e)
	}
}

// status is where the conversation stands.
func (w *world) status() event.Status {
	w.t.Helper()
	s, err := w.conv.Status(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// lines are events, one line each, as far as these tests look at them.
func lines(events []event.Event) []string {
	var out []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case *event.Message:
			out = append(out, fmt.Sprintf("%s says %s", e.Source, event.PlainText(b.LLMMessage.Content)))
		case *event.Action:
			out = append(out, fmt.Sprintf("%s is called as %s", b.ToolName, b.ToolCallID))
		case *event.Observation:
			out = append(out, b.ToolCallID+" has a result")
		case *event.AgentError:
			out = append(out, b.ToolCallID+" has an error")
		case *event.UserReject:
			out = append(out, b.ToolCallID+" is rejected: "+b.RejectionReason)
		case *event.Condensation:
			out = append(out, "summary "+*b.Summary)
		case *event.ConversationError:
			out = append(out, "error "+b.Code)
		case *event.StateUpdate:
			if s, ok := e.StatusUpdate(); ok {
				out = append(out, "status "+string(s))
			}
		default:
			out = append(out, e.Kind())
		}
	}
	return out
}

// want compares what came with these lines.
func want(t *testing.T, events []event.Event, list ...string) {
	t.Helper()
	got := lines(events)
	for i := range max(len(got), len(list)) {
		switch {
		case i >= len(got):
			t.Errorf("line %d is missing: %q", i, list[i])
		case i >= len(list):
			t.Errorf("line %d is too many: %q", i, got[i])
		case got[i] != list[i]:
			t.Errorf("line %d is %q, want %q", i, got[i], list[i])
		}
	}
}
