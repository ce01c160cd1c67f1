package live_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/streamtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// began is the time of the first event of a feed. Each event takes a second.
var began = time.Date(2026, 8, 22, 14, 0, 0, 0, time.UTC)

// feeds is an engine with one conversation, whose events the test chooses one by one: such
// as earlier versions have stored, as fast as no model speaks, and at the moment at which
// the conversation is opened again. The embedded agent cannot be brought to these. What
// is not here is not called.
type feeds struct {
	control.Engine

	mu   sync.Mutex
	only *feed
	gone bool
	// LeftOut is how many events are behind a missing one.
	LeftOut int
}

// feed is the conversation.
type feed struct {
	control.Conversation

	// Gate keeps messages waiting until it is closed, as hooks do. Nil: they are
	// taken at once.
	Gate chan struct{}

	engine  *feeds
	id      string
	status  event.Status
	log     []event.Event
	ids     int
	streams []*streamtest.Stream
}

func newFeed() *feed {
	c := &feed{id: uuid.New(), status: event.Idle}
	c.engine = &feeds{only: c}
	return c
}

// get is the conversation, or an error. The caller holds mu.
func (e *feeds) get(id string) (*feed, error) {
	if e.gone || id != e.only.id {
		return nil, &agentapi.Error{Kind: agentapi.ErrConversationNotFound, Msg: "There is no conversation " + id + "."}
	}
	return e.only, nil
}

func (e *feeds) Open(_ context.Context, id string) (control.Conversation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.get(id)
}

func (e *feeds) Record(_ context.Context, id string) (control.Record, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.get(id)
	if err != nil {
		return control.Record{}, err
	}
	return c.record(), nil
}

// Remove deletes the conversation and ends its streams.
func (e *feeds) Remove(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.get(id)
	if err != nil {
		return err
	}
	e.gone = true
	_, err = e.get(id)
	for _, s := range c.streams {
		s.Fail(err)
	}
	return nil
}

// Search is a page of the log, the oldest event first.
func (e *feeds) Search(_ context.Context, id string, q control.EventQuery) (control.EventPage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.get(id)
	if err != nil {
		return control.EventPage{}, err
	}
	list := slices.DeleteFunc(slices.Clone(c.log), func(one event.Event) bool { return one.Timestamp < q.From })
	from := max(0, slices.IndexFunc(list, func(one event.Event) bool { return one.ID == q.Page }))
	page := control.EventPage{LeftOut: e.LeftOut}
	for i, one := range list[from:] {
		if i == q.Limit {
			page.Next = one.ID
			break
		}
		page.Events = append(page.Events, encoded(one))
	}
	return page, nil
}

func (e *feeds) Numbered(_ context.Context, id string, from, limit int) (control.NumberedPage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.get(id)
	if err != nil {
		return control.NumberedPage{}, err
	}
	page := control.NumberedPage{Length: len(c.log), LeftOut: e.LeftOut}
	for i := max(from, 0); i < min(from+limit, len(c.log)); i++ {
		page.Events = append(page.Events, control.Numbered{Number: i, Event: encoded(c.log[i])})
	}
	return page, nil
}

func (e *feeds) Number(_ context.Context, id, eventID string) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.get(id)
	if err != nil {
		return 0, err
	}
	if i := slices.IndexFunc(c.log, func(one event.Event) bool { return one.ID == eventID }); i >= 0 {
		return i, nil
	}
	return 0, control.ErrNoEvent
}

func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // It is made here.
	}
	return data
}

// Put appends an event to the log, or only publishes it.
func (c *feed) Put(source string, body event.Body) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	c.put(source, body)
}

func (c *feed) put(source string, body event.Body) {
	c.ids++
	at := began.Add(time.Duration(c.ids) * time.Second)
	e := event.New("e"+strconv.Itoa(c.ids), at.Format("2006-01-02T15:04:05.000000"), source, "", body)
	if e.Persisted() {
		c.log = append(c.log, e)
	}
	for _, s := range c.streams {
		s.Push(e)
	}
}

// Done publishes the end of a run.
func (c *feed) Done(status event.Status) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	c.done(status)
}

func (c *feed) done(status event.Status) {
	c.set(status)
	c.put(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyFullState, Value: encoded(map[string]any{"execution_status": c.status})})
}

func (c *feed) set(status event.Status) {
	c.status = status
	c.put(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyStatus, Value: encoded(status)})
}

// Append takes a message; with run, the agent says the same.
func (c *feed) Append(_ context.Context, m control.Message, run bool) error {
	if c.Gate != nil {
		<-c.Gate
	}
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if event.PlainText(m.Content) == "refuse" {
		return &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "The message was refused."}
	}
	c.put(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: m.Content, ThinkingBlocks: []json.RawMessage{}}})
	if !run {
		return nil
	}
	c.set(event.Running)
	c.put(event.SourceAgent, &event.Delta{Content: new(event.PlainText(m.Content)), Item: "e" + strconv.Itoa(c.ids+2), Attempt: 1})
	c.put(event.SourceAgent, &event.Message{LLMMessage: event.LLMMessage{Role: "assistant", Content: m.Content, ThinkingBlocks: []json.RawMessage{}}})
	c.done(event.Finished)
	return nil
}

func (c *feed) Record(context.Context) (control.Record, error) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	return c.record(), nil
}

func (c *feed) record() control.Record {
	state := map[string]any{
		"id": c.id, "agent": json.RawMessage(`{"kind":"Agent","llm":{"model":"m"}}`), "workspace": map[string]string{"working_dir": "/w", "kind": "LocalWorkspace"},
		"execution_status": c.status, "security_analyzer": nil,
	}
	return control.Record{ID: c.id, State: encoded(state), Created: began, Updated: began, Status: c.status, LeftOut: c.engine.LeftOut}
}

// Watch begins with the state. With events of the log it has the state behind them, too.
func (c *feed) Watch(_ context.Context, after string) (agentapi.Stream, error) {
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
func (c *feed) leave(s *streamtest.Stream) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	c.streams = slices.DeleteFunc(c.streams, func(one *streamtest.Stream) bool { return one == s })
}

// Reopen ends all watches as if the conversation was closed and opened again, and puts
// events into the log meanwhile.
func (c *feed) Reopen(bodies ...event.Body) {
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
func (c *feed) Streams() int {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	return len(c.streams)
}

func (c *feed) Close() error { return nil }
