package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/streamtest"
)

// backend is an agent of a few lines behind the seam. What a message says is
// what happens: "fail" ends in an error, "wait" runs until the test lets it go
// on or interrupts it, "full" finds room at the second try, everything else is answered with "re: …". What a script of package
// daemontest cannot say is done to its log from outside: a turn of another client, a status,
// the death of the server. A message is done when Send returns.
type backend struct {
	mu      sync.Mutex
	convs   map[string]*conv
	runs    int      // user messages that started a run
	asked   []string // what they said
	openErr error
	fixed   bool          // Switch is not supported
	slow    bool          // Open takes as long as its context
	obeys   time.Duration // how long an interrupt takes
	room    int           // how many runs it has room for; 0: no limit is known
	slots   int           // how many runs a pool is meant for
	opened  []agentapi.OpenRequest
	remove  func(context.Context, string) error // before Remove; may be nil
}

func newBackend() *backend { return &backend{convs: make(map[string]*conv)} }

func (b *backend) Status(context.Context) agentapi.Status               { return agentapi.Status{} }
func (b *backend) Profiles(context.Context) ([]agentapi.Profile, error) { return nil, nil }
func (b *backend) Close() error                                         { return nil }

// Room implements [agentapi.Limited].
func (b *backend) Room() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.room
}

// Members implements [agentapi.Pooled].
func (b *backend) Members() []agentapi.Member { return nil }

// Slots implements [agentapi.Pooled].
func (b *backend) Slots() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slots
}

func (b *backend) setSlots(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slots = n
}

func (b *backend) setRemove(f func(context.Context, string) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove = f
}

func (b *backend) setRoom(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room = n
}

func (b *backend) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if b.slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = append(b.opened, req)
	if b.openErr != nil {
		return nil, b.openErr
	}
	if c := b.convs[req.ID]; c != nil {
		return handle{c, false}, nil
	}
	if req.Existing {
		return nil, &agentapi.Error{Kind: agentapi.ErrConversationNotFound}
	}
	c := &conv{b: b, id: req.ID, profile: req.Profile, system: req.System, status: event.Idle}
	b.convs[req.ID] = c
	return handle{c, true}, nil
}

func (b *backend) About(_ context.Context, id string) (agentapi.About, error) {
	return agentapi.About{ID: id}, nil
}

func (b *backend) Extensions(context.Context, string) (agentapi.Extensions, error) {
	return agentapi.Extensions{}, nil
}

func (b *backend) Events(context.Context, string, agentapi.EventQuery) (agentapi.EventPage, error) {
	return agentapi.EventPage{}, nil
}

func (b *backend) Remove(ctx context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.remove != nil {
		if err := b.remove(ctx, id); err != nil {
			return err
		}
	}
	delete(b.convs, id)
	return nil
}

func (b *backend) counts() (runs, convs int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs, len(b.convs)
}

// sent counts the messages by what they said.
func (b *backend) sent() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := make(map[string]int)
	for _, text := range b.asked {
		counts[text]++
	}
	return counts
}

func (b *backend) conv(id string) *conv {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.convs[id]
}

// conv is a conversation with its log.
type conv struct {
	b               *backend
	id              string
	profile, system string

	mu      sync.Mutex
	log     []event.Event
	status  event.Status
	streams []*streamtest.Stream
	texts   []string // user messages
	asks    bool     // the last one has no run yet
	stops   int      // interrupts of a run
	napping int      // the number of the run that naps
}

type handle struct {
	*conv
	created bool
}

func (h handle) Info() agentapi.Info {
	return agentapi.Info{ID: h.id, Created: h.created, Profile: h.profile, SystemKnown: true, System: h.system}
}

func (h handle) Close() error { return nil }

func (h handle) State(context.Context) (event.State, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return event.State{Status: h.status}, nil
}

func (h handle) Decide(context.Context, agentapi.Decision) error { return nil }

func (h handle) Condense(context.Context) (agentapi.Condensed, error) {
	return agentapi.Condensed{}, nil
}

func (h handle) Confirm(context.Context, agentapi.Confirmation) error { return nil }

func (h handle) Switch(_ context.Context, profile string) error {
	if h.b.fixed {
		return &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "fixed"}
	}
	h.profile = profile
	return nil
}

func (h handle) Fork(_ context.Context, req agentapi.ForkRequest) (agentapi.Conversation, error) {
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	if h.b.fixed {
		return nil, &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "fixed"}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &conv{b: h.b, id: req.ID, profile: h.profile, system: h.system, status: event.Idle, log: slices.Clone(h.log), texts: slices.Clone(h.texts)}
	for i, e := range c.log {
		if e.ID == req.From {
			c.log = c.log[:i+1]
			break
		}
	}
	h.b.convs[req.ID] = c
	return handle{c, true}, nil
}

func (c *conv) Watch(_ context.Context, after string) (agentapi.Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := streamtest.New(c.leave)
	s.Push(c.state())
	if after != "" {
		seen := after == agentapi.FromStart
		for _, e := range c.log {
			if seen {
				s.Push(e)
			}
			seen = seen || e.ID == after
		}
		s.Push(c.state())
	}
	c.streams = append(c.streams, s)
	return s, nil
}

func (c *conv) Send(ctx context.Context, m agentapi.Message) error {
	if err := c.Append(ctx, m); err != nil {
		return err
	}
	return c.Start(ctx)
}

// Append adds a message to the log and starts nothing.
func (c *conv) Append(_ context.Context, m agentapi.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = append(c.texts, m.Text)
	c.publish(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: m.Content()}})
	c.asks = true
	return nil
}

// Start starts the run that answers what was appended, if there is something that no run has
// answered.
func (c *conv) Start(context.Context) error {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asks || c.status == event.Running {
		return nil
	}
	text := c.texts[len(c.texts)-1]
	if strings.HasPrefix(text, "full") {
		return &agentapi.Error{Kind: agentapi.ErrFull, Err: &agentapi.FullError{Stored: true, Again: c.startAgain, Err: errFull}}
	}
	return c.begin(text)
}

var errFull = errors.New("no room")

// startAgain tries twice to start a run that found no room.
func (c *conv) startAgain(ctx context.Context, before func(context.Context) error) error {
	for range 2 {
		if err := before(ctx); err != nil {
			return err
		}
	}
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begin(c.texts[len(c.texts)-1])
}

// begin begins the run of a message. The caller holds both locks.
func (c *conv) begin(text string) error {
	c.asks = false
	c.b.runs++
	c.b.asked = append(c.b.asked, text)
	return c.answers(text, c.b.runs)
}

// answers does what a message says, in the run of this number. The caller holds c.mu.
func (c *conv) answers(text string, number int) error {
	c.set(event.Running)
	switch {
	case strings.HasPrefix(text, "wait"):
		piece := "partly"
		c.publish(event.SourceAgent, &event.Delta{Content: &piece})
	case strings.HasPrefix(text, "nap"):
		var ms int
		if _, err := fmt.Sscanf(text, "nap %d", &ms); err != nil {
			return err
		}
		c.napping = number
		time.AfterFunc(time.Duration(ms)*time.Millisecond, func() { c.wake(number, text) })
	case strings.HasSuffix(text, "long"):
		c.answer(strings.Repeat("x", 1<<20))
	case strings.HasSuffix(text, "many"):
		piece := strings.Repeat("0123456789", 100)
		for range 1000 {
			c.publish(event.SourceAgent, &event.Delta{Content: &piece})
		}
		c.answer(strings.Repeat(piece, 1000))
	case strings.HasPrefix(text, "fail"):
		c.publish(event.SourceEnvironment, &event.ConversationError{Code: "LLMAuthenticationError", Detail: "no"})
		c.end(event.Failed)
	default:
		c.answer("re: " + text)
	}
	return nil
}

// wake ends a run that naps, if it is still that one.
func (c *conv) wake(number int, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == event.Running && c.napping == number {
		c.answer(fmt.Sprintf("run %d: %s", number, text))
	}
}

// dies leaves the first events of the log, as a server that died does, and the status
// of another turn. Who watched hears nothing.
func (c *conv) dies(events int, s event.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams = nil
	c.log, c.status = c.log[:events], s
}

// other is a turn of another client.
func (c *conv) other(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.publish(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: agentapi.Message{Text: text}.Content()}})
	c.set(event.Running)
	c.answer("re: " + text)
}

// tell appends a status.
func (c *conv) tell(s event.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(s)
}

// letGo ends a run that waits.
func (c *conv) letGo() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer("partly done")
}

func (c *conv) answer(s string) {
	c.publish(event.SourceAgent, &event.Message{LLMMessage: event.LLMMessage{Role: "assistant", Content: []event.Content{event.Text(s)}}})
	c.end(event.Finished)
}

func (c *conv) Interrupt(context.Context) error {
	time.Sleep(c.b.obeys)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == event.Running {
		c.stops++
		c.publish(event.SourceUser, &event.Interrupt{})
		c.end(event.Paused)
	}
	return nil
}

func (c *conv) interrupted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stops
}

func (c *conv) end(s event.Status) {
	c.set(s)
	e := c.state()
	for _, st := range c.streams {
		st.Push(e)
	}
}

func (c *conv) set(s event.Status) {
	c.status = s
	c.publish(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyStatus, Value: json.RawMessage(`"` + s + `"`)})
}

func (c *conv) publish(source string, b event.Body) {
	e := event.New(fmt.Sprintf("%s-%d", c.id, len(c.log)), "", source, "", b)
	if e.Persisted() {
		c.log = append(c.log, e)
	}
	for _, s := range c.streams {
		s.Push(e)
	}
}

func (c *conv) state() event.Event {
	st := event.State{ID: c.id, Status: c.status}
	if n := len(c.log); n > 0 {
		st.LeafEventID = c.log[n-1].ID
	}
	value, err := json.Marshal(st)
	if err != nil {
		panic(err)
	}
	return event.New("state", "", event.SourceEnvironment, "", &event.StateUpdate{Key: event.KeyFullState, Value: value})
}

// leave takes out a stream that was closed.
func (c *conv) leave(s *streamtest.Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams = slices.DeleteFunc(c.streams, func(one *streamtest.Stream) bool { return one == s })
}
