package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/testkit/boxtest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
)

const patience = 2 * time.Minute

// world is an engine with one conversation and a scripted model.
type world struct {
	t         *testing.T
	llm       *llmtest.Server
	cfg       engine.Config
	backend   *engine.Backend
	profiles  *enginetest.Profiles
	workspace string
	id        string
	conv      agentapi.Conversation
}

// realTools are the tools that users get.
func realTools(c *engine.Config) {
	c.NewTools = toolset.New(toolset.Config{Environ: os.Environ(), User: "me", Host: "here"})
}

// withRealModels lets the world be answered through the model layer that users
// get, by the profile main, with other as its fallback.
func withRealModels(change func(*llm.Profile)) func(*engine.Config) {
	return func(c *engine.Config) {
		test := c.NewModel
		c.NewModel = func(p engine.Profile, usage string) (llm.Model, error) {
			m, err := test(p, usage)
			if err != nil {
				return nil, err
			}
			config := func(name string) llm.Config {
				p := llm.DefaultProfile("openai/" + name)
				url := m.(enginetest.Model).URL
				p.BaseURL = &url
				p.RetryMinWait, p.RetryMaxWait, p.RetryMultiplier = 0, 0, 0
				if name == "test" {
					change(&p)
				}
				return llm.Config{
					Profile: p, UsageID: usage,
					Key: func(context.Context, string) (string, error) { return enginetest.Key, nil },
				}
			}
			cfg := config("test")
			cfg.Fallback = func(name string) (llm.Config, error) { return config(name), nil }
			return llm.New(cfg)
		}
	}
}

// newWorld makes a world; change may change its engine.
func newWorld(t *testing.T, change ...func(*engine.Config)) *world {
	t.Helper()
	w := &world{t: t, llm: llmtest.New(t), profiles: enginetest.NewProfiles("main", "test", "other", "other")}
	w.workspace, w.id = t.TempDir(), uuid.New()
	w.cfg = enginetest.Config(t, w.llm.URL, w.profiles)
	w.cfg.Files = enginetest.Disk{}
	for _, f := range change {
		f(&w.cfg)
	}
	if boxtest.Wanted() && w.cfg.Boxes == nil {
		boxes := boxtest.New(t, filepath.Dir(w.workspace)) // tests leave their notes beside it
		w.cfg.Boxes = func(ctx context.Context, e engine.BoxEnv) (sandbox.Box, error) {
			return boxes.Box(ctx, manager.Env(e))
		}
	}
	w.start()
	t.Cleanup(func() {
		w.close()
		w.keep()
	})
	return w
}

// keepVariable names a directory that gets the conversation of each test, in
// NAME OF THE TEST/ID, for the SDK to judge.
const keepVariable = "OHGW_ENGINE_TEST_KEEP"

func (w *world) keep() {
	w.t.Helper()
	root := os.Getenv(keepVariable)
	if root == "" {
		return
	}
	to := filepath.Join(root, filepath.FromSlash(w.t.Name()), filepath.Base(w.dir()))
	if err := os.CopyFS(to, os.DirFS(w.dir())); err != nil {
		w.t.Error(err)
	}
}

// start starts an engine, again after close.
func (w *world) start() {
	w.t.Helper()
	if w.backend != nil {
		_ = w.backend.Close() // was closed, or its disk is dead
	}
	w.backend = engine.New(w.cfg)
	w.conv = nil
}

func (w *world) close() {
	w.t.Helper()
	if err := w.backend.Close(); err != nil {
		w.t.Errorf("close engine: %v", err)
	}
}

// open opens the world's conversation.
func (w *world) open() agentapi.Conversation {
	w.t.Helper()
	if w.conv != nil {
		return w.conv
	}
	c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, Profile: "main", Workspace: w.workspace})
	if err != nil {
		w.t.Fatalf("Open: %v", err)
	}
	w.conv = c
	return c
}

func (w *world) ctx() context.Context {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

// say runs a turn.
func (w *world) say(text string) turn.Result {
	w.t.Helper()
	return w.play(turn.Input{Message: agentapi.Message{Text: text}})
}

func (w *world) play(in turn.Input) turn.Result {
	w.t.Helper()
	if in.Emit == nil {
		in.Emit = func(turn.Update) {}
	}
	res, err := turn.Run(w.ctx(), w.open(), in)
	if err != nil {
		w.t.Fatalf("turn: %v", err)
	}
	return res
}

// background runs a turn and gives its result when it is over.
func (w *world) background(text string) <-chan turn.Result {
	w.t.Helper()
	c, ctx := w.open(), w.ctx()
	over := make(chan turn.Result, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		res, err := turn.Run(ctx, c, turn.Input{Message: agentapi.Message{Text: text}, Emit: func(turn.Update) {}})
		if err != nil {
			w.t.Errorf("turn: %v", err)
		}
		over <- res
	}()
	w.t.Cleanup(func() { <-done })
	return over
}

// log is the conversation's log as it is on the disk.
func (w *world) log() []event.Event {
	w.t.Helper()
	var events []event.Event
	s, err := w.open().Watch(w.ctx(), agentapi.FromStart)
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	for snapshots := 0; snapshots < 2; {
		e, err := s.Next(w.ctx())
		if err != nil {
			w.t.Fatal(err)
		}
		if _, ok, _ := e.FullState(); ok {
			snapshots++
			continue
		}
		events = append(events, e)
	}
	return events
}

// expect compares the log, in the notation of the scenarios.
func (w *world) expect(want string) {
	w.t.Helper()
	if diff := cmp.Diff(strings.Fields(want), notation(w.log())); diff != "" {
		w.t.Errorf("events (-want +got):\n%s", diff)
	}
}

// status checks the status of the conversation.
func (w *world) status(want event.Status) {
	w.t.Helper()
	s, err := w.open().State(w.ctx())
	if err != nil || s.Status != want {
		w.t.Errorf("status is %q, %v, want %q", s.Status, err, want)
	}
}

// dir is the conversation's directory.
func (w *world) dir() string { return store.Path(w.cfg.Dir, w.id) }

// files are the files below the conversation's directory.
func (w *world) files(pattern string) []string {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.dir(), pattern))
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// notation is a log in the letters of the scenarios, without state updates.
func notation(events []event.Event) []string {
	out := []string{}
	for _, e := range events {
		switch b := e.Body.(type) {
		case *event.StateUpdate:
		case *event.SystemPrompt:
			out = append(out, "SP")
		case *event.Message:
			letter := map[string]string{"user": "U", "agent": "M", "environment": "N"}[e.Source]
			if len(b.ExtendedContent) > 0 {
				letter += "(ext)"
			}
			out = append(out, letter)
		case *event.Action:
			letter := "A"
			if len(b.Action) == 0 {
				letter = "A0"
			}
			out = append(out, letter+"("+b.ToolName+")")
		case *event.Observation:
			letter := "O"
			if len(b.ExtendedContent) > 0 {
				letter += "(ext)"
			}
			out = append(out, letter)
		case *event.AgentError:
			out = append(out, "E")
		case *event.UserReject:
			out = append(out, "R")
		case *event.HookExecution:
			out = append(out, "H")
		case *event.SecurityAnalysis:
			out = append(out, "S")
		case *event.CondensationRequest:
			out = append(out, "CR")
		case *event.Condensation:
			out = append(out, "C")
		case *event.Pause:
			out = append(out, "P")
		case *event.Interrupt:
			out = append(out, "I")
		case *event.ConversationError:
			out = append(out, "X("+b.Code+")")
		default:
			out = append(out, fmt.Sprintf("?(%s)", e.Kind()))
		}
	}
	return out
}

// lastOf returns the last event with a body of type B.
func lastOf[B event.Body](t *testing.T, events []event.Event) (b B) {
	t.Helper()
	for _, e := range events {
		if body, ok := e.Body.(B); ok {
			b = body
		}
	}
	if any(b) == any(*new(B)) {
		t.Fatalf("no %T in the log", b)
	}
	return b
}

func terminal(command string) llmtest.Reply {
	return llmtest.Tool("terminal", fmt.Sprintf(`{"command":%q}`, command))
}

// settings are settings that are always the same.
func settings(s engine.Settings) func(context.Context) (engine.Settings, error) {
	return func(context.Context) (engine.Settings, error) { return s, nil }
}

// withModel puts something around every model.
func withModel(c *engine.Config, wrap func(llm.Model) llm.Model) {
	inner := c.NewModel
	c.NewModel = func(p engine.Profile, usage string) (llm.Model, error) {
		m, err := inner(p, usage)
		if err != nil {
			return nil, err
		}
		return wrap(m), nil
	}
}

// Generate makes the call cost 60 cents.
func (p priced) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	r, err := p.Model.Generate(ctx, req, onDelta)
	r.Cost = 0.6
	return r, err
}

// gatedTerminal is a terminal that begins when the gate opens.
func gatedTerminal(gate <-chan struct{}) func(*engine.Config) {
	return func(c *engine.Config) {
		c.NewTools = func(_ context.Context, e engine.ToolEnv) ([]tool.Tool, error) {
			tools := enginetest.Tools(e.Workspace)
			terminal := enginetest.Terminal(e.Workspace)
			run := terminal.Do
			terminal.Do = func(ctx context.Context, call tool.Call) (tool.Result, error) {
				select {
				case <-gate:
				case <-ctx.Done():
				}
				return run(ctx, call)
			}
			tools[0] = terminal
			return tools, nil
		}
	}
}

// awaitLog waits until the log has come so far, in the notation of the scenarios.
func (w *world) awaitLog(want string) {
	w.t.Helper()
	s, err := w.open().Watch(w.ctx(), agentapi.FromStart)
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	var events []event.Event
	for strings.Join(notation(events), " ") != want {
		e, err := s.Next(w.ctx())
		if err != nil {
			w.t.Fatalf("the next event: %v, after %q", err, notation(events))
		}
		if e.Persisted() {
			events = append(events, e)
		}
	}
}

// awaitFile waits until the workspace has the file.
func (w *world) awaitFile(name string) {
	w.t.Helper()
	waittest.Until(w.t, waittest.Patience, "the file "+name+" is there", func() (any, bool) {
		_, err := os.Stat(filepath.Join(w.workspace, name))
		return err, err == nil
	})
}

// awaitAction waits until the log ends with an action.
func (w *world) awaitAction() {
	w.t.Helper()
	s, err := w.open().Watch(w.ctx(), agentapi.FromStart)
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	for {
		e, err := s.Next(w.ctx())
		if err != nil {
			w.t.Fatal(err)
		}
		if _, ok := e.Body.(*event.Action); ok {
			return
		}
	}
}

// queued is a context that closes the channel twice at the second call of Done: Send makes
// that call when its message is in the queue.
type queued struct {
	context.Context
	asked atomic.Int32
	twice chan struct{}
}

func (q *queued) Done() <-chan struct{} {
	if q.asked.Add(1) == 2 {
		close(q.twice)
	}
	return q.Context.Done()
}

// sendMeanwhile sends a message during a step and returns when it waits for
// the end of the step.
func (w *world) sendMeanwhile(text string) <-chan error {
	w.t.Helper()
	c := w.open()
	ctx := &queued{Context: w.ctx(), twice: make(chan struct{})}
	sent := make(chan error, 1)
	go func() { sent <- c.Send(ctx, agentapi.Message{Text: text}) }()
	select {
	case <-ctx.twice:
	case <-time.After(patience):
		w.t.Fatal("the message is not queued")
	}
	return sent
}
