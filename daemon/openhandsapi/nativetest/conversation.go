package nativetest

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/streamtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Conversation is a conversation of an Engine. Its exported fields are the calls that
// it got, and may be read while no caller uses it.
type Conversation struct {
	agentapi.Conversation // what is not here is not called

	Started control.Start
	Secrets map[string]json.RawMessage
	LLM     json.RawMessage
	Profile string
	Goal    string
	Rounds  int
	Decided agentapi.Decision
	// Hold keeps a run going on until Done.
	Hold bool
	// Gate keeps messages waiting until it is closed, as hooks do. Nil: they are
	// taken at once.
	Gate chan struct{}

	engine           *Engine
	id, title        string
	status           event.Status
	made, changed    time.Time
	tags             map[string]string
	policy, analyzer json.RawMessage
	log              []event.Event
	leaf             string
	ids              int
	streams          []*streamtest.Stream
}

var _ control.Conversation = (*Conversation)(nil)

// Status is where the conversation stands.
func (c *Conversation) Status() event.Status {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	return c.status
}

// Put appends an event to the log, or only publishes it.
func (c *Conversation) Put(source string, body event.Body) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	c.put(source, body)
}

func (c *Conversation) put(source string, body event.Body) {
	e := event.New(c.nextID(), c.engine.stamp(), source, "", body)
	if e.Persisted() {
		e.ParentID, c.leaf = c.leaf, e.ID
		c.log = append(c.log, e)
	}
	for _, s := range c.streams {
		s.Push(e)
	}
}

func (c *Conversation) set(status event.Status) {
	if c.status == status {
		return
	}
	c.status = status
	c.changed = c.engine.now()
	c.put(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyStatus, Value: encode(status)})
}

func (c *Conversation) closing() {
	c.put(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyFullState, Value: encode(map[string]any{"execution_status": c.status})})
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}

// Record is the conversation as it is now.
func (c *Conversation) Record(context.Context) (control.Record, error) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	agent := c.Started.Agent
	if agent == nil {
		agent = json.RawMessage(`{"kind":"Agent","llm":{"model":"m","api_key":"**********"},"agent_context":{"skills":[{"name":"s"}]}}`)
	}
	state := map[string]any{
		"id": c.id, "agent": agent, "workspace": map[string]string{"working_dir": c.Started.Workspace, "kind": "LocalWorkspace"},
		"execution_status": c.status, "leaf_event_id": nullable(c.leaf), "activated_path_rules": []string{}, "head_is_empty": false, "security_analyzer": nil,
	}
	for name, v := range map[string]json.RawMessage{"confirmation_policy": c.policy, "security_analyzer": c.analyzer} {
		if v != nil {
			state[name] = v
		}
	}
	if c.tags != nil {
		state["tags"] = c.tags
	}
	meta := c.Started.Request
	return control.Record{ID: c.id, State: encode(state), Meta: meta, Title: c.title, Created: c.made, Updated: c.changed, Status: c.status, LeftOut: c.engine.LeftOut}, nil
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Watch begins with the state. With events of the log it has the state behind them, too.
func (c *Conversation) Watch(_ context.Context, after string) (agentapi.Stream, error) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	s := streamtest.New(c.leave)
	state := event.New("state", "", event.SourceEnvironment, "", &event.StateUpdate{Key: event.KeyFullState, Value: json.RawMessage(`{}`)})
	s.Push(state)
	if after != "" {
		for _, e := range c.log[1+slices.IndexFunc(c.log, func(e event.Event) bool { return e.ID == after }):] {
			s.Push(e)
		}
		s.Push(state)
	}
	c.streams = append(c.streams, s)
	return s, nil
}

// leave takes out a watch that was closed.
func (c *Conversation) leave(s *streamtest.Stream) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	c.streams = slices.DeleteFunc(c.streams, func(one *streamtest.Stream) bool { return one == s })
}

// Reopen ends all watches as if the conversation was closed and opened again, and puts
// events into the log meanwhile.
func (c *Conversation) Reopen(bodies ...event.Body) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	ended := c.streams
	c.streams = nil
	for _, body := range bodies {
		c.put(event.SourceUser, body)
	}
	for _, s := range ended {
		s.Fail(&agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The conversation was changed.", Err: control.ErrReopened})
	}
}

// Streams is how many watches there are.
func (c *Conversation) Streams() int {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	return len(c.streams)
}

// Append takes a message; with run, the agent says the same.
func (c *Conversation) Append(_ context.Context, m control.Message, run bool) error {
	if c.Gate != nil {
		<-c.Gate
	}
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if event.PlainText(m.Content) == "refuse" {
		return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The message was refused."}
	}
	c.put(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: m.Content, ThinkingBlocks: []json.RawMessage{}}})
	if c.status == event.Finished {
		c.set(event.Idle)
	}
	if run && c.status != event.Running {
		c.run(m.Content)
	}
	return nil
}

func (c *Conversation) run(say []event.Content) {
	c.set(event.Running)
	if c.Hold {
		return
	}
	c.put(event.SourceAgent, &event.Delta{Content: new(event.PlainText(say)), Item: "e" + strconv.Itoa(c.ids+2), Attempt: 1})
	c.put(event.SourceAgent, &event.Message{LLMMessage: event.LLMMessage{Role: "assistant", Content: say, ThinkingBlocks: []json.RawMessage{}}})
	c.set(event.Finished)
	c.closing()
}

// Done ends a run that was held.
func (c *Conversation) Done(status event.Status) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	c.set(status)
	c.closing()
}

// Run answers with "ok".
func (c *Conversation) Run(context.Context) error {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	switch c.status {
	case event.Running:
		return agentapi.ErrBusy
	case event.Finished:
		return nil
	}
	c.run([]event.Content{event.Text("ok")})
	return nil
}

// Pause ends a run.
func (c *Conversation) Pause(context.Context) error {
	c.Done(event.Paused)
	return nil
}

// Interrupt ends a run.
func (c *Conversation) Interrupt(ctx context.Context) error { return c.Pause(ctx) }

// Decide notes a decision, unless its reason says that it is late or refused.
func (c *Conversation) Decide(_ context.Context, d agentapi.Decision) error {
	switch d.Reason {
	case "late":
		return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "Nothing waits.", Err: agentapi.ErrNothingWaits}
	case "refuse":
		return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The decision was refused."}
	}
	c.Decided = d
	return nil
}

// SetPolicy sets the policy.
func (c *Conversation) SetPolicy(_ context.Context, policy json.RawMessage) error {
	c.policy = policy
	return nil
}

// SetAnalyzer sets the analyzer.
func (c *Conversation) SetAnalyzer(_ context.Context, analyzer json.RawMessage) error {
	c.analyzer = analyzer
	return nil
}

// AddSecrets notes secrets.
func (c *Conversation) AddSecrets(_ context.Context, sources map[string]json.RawMessage) error {
	c.Secrets = sources
	return nil
}

// Switch notes a profile.
func (c *Conversation) Switch(_ context.Context, profile string) error {
	if strings.HasSuffix(profile, "unknown") {
		return agentapi.ErrProfileNotFound
	}
	c.Profile = profile
	return nil
}

// SwitchLLM notes a model.
func (c *Conversation) SwitchLLM(_ context.Context, llm json.RawMessage) error {
	c.LLM = llm
	return nil
}

// Ask repeats the question.
func (c *Conversation) Ask(_ context.Context, question string) (string, error) {
	return question, nil
}

// Condense has nothing to summarize.
func (c *Conversation) Condense(context.Context) (agentapi.Condensed, error) {
	return agentapi.Condensed{}, nil
}

// Navigate sets the leaf.
func (c *Conversation) Navigate(_ context.Context, eventID string) error {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if eventID != "" && !slices.ContainsFunc(c.log, func(e event.Event) bool { return e.ID == eventID }) {
		return control.ErrNoEvent
	}
	c.leaf = eventID
	return nil
}

// Copy makes a conversation with the log.
func (c *Conversation) Copy(ctx context.Context, f control.Fork) (control.Conversation, error) {
	if f.ID == "" {
		f.ID = uuid.New()
	}
	c.engine.mu.Lock()
	log := slices.Clone(c.log)
	c.engine.mu.Unlock()
	if i := slices.IndexFunc(log, func(e event.Event) bool { return e.ID == f.From }); f.From != "" {
		if i < 0 {
			return nil, control.ErrNoEvent
		}
		log = log[:i+1]
	}
	start := c.Started
	start.ID, start.Tags = f.ID, f.Tags
	made, created, err := c.engine.Start(ctx, start)
	if err != nil {
		return nil, err
	}
	if !created {
		return nil, control.ErrTaken
	}
	fork := made.(*Conversation)
	fork.log, fork.title, fork.ids = log, f.Title, c.ids
	return fork, nil
}

// Child begins a conversation as this one began.
func (c *Conversation) Child(ctx context.Context, ch control.Child) (control.Conversation, error) {
	start := c.Started
	start.ID, start.Parent, start.Suffix, start.Title = ch.ID, c.id, ch.Suffix, false
	if ch.Workspace != "" {
		start.Workspace = ch.Workspace
	}
	made, _, err := c.engine.Start(ctx, start)
	if err == nil {
		made.(*Conversation).title = ch.Title
	}
	return made, err
}

// StartGoal notes a goal.
func (c *Conversation) StartGoal(_ context.Context, objective string, iterations int) error {
	if c.Status() == event.Running {
		return agentapi.ErrBusy
	}
	c.Goal, c.Rounds = objective, iterations
	return nil
}

// StopGoal has none.
func (c *Conversation) StopGoal(context.Context) error { return control.ErrNoGoal }

// ResumeGoal has none.
func (c *Conversation) ResumeGoal(context.Context) error { return control.ErrNoGoal }

// Close does nothing.
func (c *Conversation) Close() error { return nil }
