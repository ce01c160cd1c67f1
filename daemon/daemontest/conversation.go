package daemontest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/streamtest"
)

// conversation is a log, who watches it, and the run that writes it.
type conversation struct {
	b    *Backend
	req  agentapi.OpenRequest
	life context.Context
	stop context.CancelFunc

	mu      sync.Mutex
	log     []event.Event
	streams map[*streamtest.Stream]struct{}
	status  event.Status
	usage   event.TokenUsage
	cost    float64
	profile string
	confirm agentapi.Confirmation
	next    int
	end     context.CancelFunc // of the run; nil without one
	rest    []Step             // what a confirmation lets go on
}

func newConversation(b *Backend, req agentapi.OpenRequest) *conversation {
	c := &conversation{b: b, req: req, status: event.Idle, profile: req.Profile, streams: make(map[*streamtest.Stream]struct{})}
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

func (c *conversation) cancel() { c.stop() }

func (c *conversation) about(created bool) agentapi.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := agentapi.Info{ID: c.req.ID, Created: created, Profile: c.profile, SystemKnown: true, System: c.req.System, Workspace: c.req.Workspace, ReadOnly: c.req.ReadOnly}
	if c.b.OwnModel {
		info.Profile, info.OwnModel = "", true
	}
	return info
}

// publish appends an event, or only shows it, and wakes who watches. The
// caller holds c.mu.
func (c *conversation) publish(source string, body event.Body) {
	c.next++
	e := event.New(strconv.Itoa(c.next), "2026-11-21T00:00:00.000000", source, "", body)
	if e.Persisted() {
		c.log = append(c.log, e)
	}
	for s := range c.streams {
		s.Push(e)
	}
}

func (c *conversation) setStatus(s event.Status) {
	c.status = s
	c.publish(event.SourceEnvironment, &event.StateUpdate{Key: event.KeyStatus, Value: encode(s)})
}

func (c *conversation) state() event.State {
	usage := c.usage
	return event.State{
		ID: c.req.ID, Status: c.status, LeafEventID: lastID(c.log), ConfirmationPolicy: c.policy(),
		Stats: event.Stats{UsageToMetrics: map[string]event.Metrics{"agent": {AccumulatedCost: c.cost, Usage: &usage}}},
	}
}

func (c *conversation) snapshot() event.Event {
	return event.New("", "", event.SourceEnvironment, "", &event.StateUpdate{Key: event.KeyFullState, Value: encode(c.state())})
}

func lastID(log []event.Event) string {
	if len(log) == 0 {
		return ""
	}
	return log[len(log)-1].ID
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("daemontest: %v", err)) // structs of our own only
	}
	return data
}

// begin starts a run. The caller holds c.mu.
func (c *conversation) begin(steps []Step) {
	ctx, cancel := context.WithCancel(c.life)
	c.end = cancel
	c.setStatus(event.Running)
	c.b.wg.Go(func() { // ends with the script, an interrupt, or Close
		defer cancel()
		r := &Run{c: c, ctx: ctx}
		for i, step := range steps {
			if !step(r) {
				c.finish(r, steps[i+1:])
				return
			}
		}
		c.finish(r, nil)
	})
}

// finish ends a run as its last step, or an interrupt, left it.
func (c *conversation) finish(r *Run, rest []Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = nil
	if r.vanished {
		return
	}
	if r.ctx.Err() != nil {
		c.publish(event.SourceUser, &event.Interrupt{})
		r.status = event.Paused
	}
	if r.status == "" {
		r.status = event.Finished
	}
	if r.status == event.Waiting {
		c.rest = rest
	}
	c.usage.PromptTokens += 100
	c.usage.CompletionTokens += 20
	c.usage.CacheReadTokens += 40
	c.usage.ReasoningTokens += 5
	c.setStatus(r.status)
	for s := range c.streams {
		s.Push(c.snapshot())
	}
}

// handle is an [agentapi.Conversation].
type handle struct {
	*conversation
	info agentapi.Info
}

// Info implements [agentapi.Conversation].
func (h *handle) Info() agentapi.Info { return h.info }

// State implements [agentapi.Conversation].
func (h *handle) State(context.Context) (event.State, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state(), nil
}

// Watch implements [agentapi.Conversation].
func (h *handle) Watch(_ context.Context, after string) (agentapi.Stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := streamtest.New(h.leave)
	s.Push(h.snapshot())
	if after != "" {
		found := after == agentapi.FromStart
		for _, e := range h.log {
			if found {
				s.Push(e)
			}
			found = found || e.ID == after
		}
		s.Push(h.snapshot())
	}
	h.streams[s] = struct{}{}
	return s, nil
}

// leave takes out a stream that was closed.
func (c *conversation) leave(s *streamtest.Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.streams, s)
}

// Send implements [agentapi.Conversation].
func (h *handle) Send(_ context.Context, m agentapi.Message) error {
	h.b.mu.Lock()
	err := h.b.send
	if err == nil {
		h.b.prompts = append(h.b.prompts, m)
	}
	h.b.mu.Unlock()
	if err != nil {
		return err
	}
	steps := []Step{Finish("ok")}
	if h.b.Script != nil {
		steps = h.b.Script(m.Text)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.b.Refuse != "" {
		h.publish(event.SourceHook, &event.HookExecution{HookEventType: "UserPromptSubmit", Blocked: true, Stderr: h.b.Refuse, MessageID: strconv.Itoa(h.next + 2)})
		steps = []Step{End(event.Finished)}
	}
	h.publish(event.SourceUser, &event.Message{LLMMessage: event.LLMMessage{Role: "user", Content: m.Content()}})
	h.begin(steps)
	return nil
}

// Decide implements [agentapi.Conversation].
func (h *handle) Decide(_ context.Context, d agentapi.Decision) error {
	h.b.mu.Lock()
	h.b.decided = append(h.b.decided, d)
	h.b.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !d.Accept {
		h.setStatus(event.Idle)
		return nil
	}
	h.begin(h.rest)
	return nil
}

// Interrupt implements [agentapi.Conversation].
func (h *handle) Interrupt(context.Context) error {
	h.b.mu.Lock()
	h.b.stopped++
	h.b.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end != nil {
		h.end()
	}
	return nil
}

// Switch implements [agentapi.Conversation].
func (h *handle) Switch(_ context.Context, profile string) error {
	if h.b.NoSwitch {
		return &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "This agent-server cannot change the model of a conversation."}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.profile = profile
	return nil
}

// policy is the confirmation policy. The caller holds c.mu.
func (c *conversation) policy() json.RawMessage {
	if c.confirm == "" {
		return json.RawMessage(cmp.Or(c.b.Policy, agentapi.PolicyNever))
	}
	return c.confirm.Policy()
}

// Confirm implements [agentapi.Conversation]. The script decides what waits.
func (h *handle) Confirm(_ context.Context, mode agentapi.Confirmation) error {
	if h.b.NoConfirm {
		return &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "This agent-server has no confirmation modes."}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.confirm = mode
	return nil
}

// Condense implements [agentapi.Conversation].
func (h *handle) Condense(ctx context.Context) (agentapi.Condensed, error) {
	if h.b.Condense == nil {
		return agentapi.Condensed{}, nil
	}
	h.mu.Lock()
	h.cost += h.b.Condensing
	h.mu.Unlock()
	return h.b.Condense(ctx)
}

// Close implements [agentapi.Conversation].
func (h *handle) Close() error { return nil }
