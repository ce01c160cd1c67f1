package fakeserver

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/uuid"
)

// conversation is what a real server keeps in a directory, and the run that
// may be going on.
type conversation struct {
	id        string
	server    *Server
	workspace string
	policy    policy          // which actions wait for a confirmation
	analyzer  json.RawMessage // rates them; null: none does

	// turn is the lock that a step holds while a tool works; what changes the
	// conversation, and snapshots for new sockets, wait for it.
	turn chan struct{}

	mu          sync.Mutex
	life        *life // nil while the server is dead
	log         []event.Event
	places      map[string]int // event id to its index in log
	leaf        string
	lastUser    string
	ready       bool // the agent was set up: a message came
	status      event.Status
	tags        map[string]string
	agent       map[string]any // as in the server's answers
	llm         llm
	llms        map[string]llm // by usage id: the first one stays
	stats       map[string]event.Metrics
	pending     []event.Event // actions that wait for a confirmation
	subscribers map[subscriber]struct{}
	run         *run  // nil when none goes on
	rerun       bool  // a message came while a run went on
	goal        *goal // nil: none is pursued
	saved       map[string]any
}

// run is one run of the agent.
type run struct {
	cancel  context.CancelFunc
	done    chan struct{}
	stopped bool // by an interrupt
}

// llm is a model with its key.
type llm struct {
	Model    string `json:"model"`
	BaseURL  string `json:"base_url"`
	Key      string `json:"api_key"`
	UsageID  string `json:"usage_id"`
	Stream   bool   `json:"stream"`
	listened bool   // deltas can be published
	// uncounted: switched to before the agent was set up. The real one counts no
	// tokens of such an LLM.
	uncounted bool
}

func (c *conversation) hold(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *conversation) release() { <-c.turn }

// append puts an event into the log and publishes it. It is called with mu
// held. A server that is dead writes nothing.
func (c *conversation) append(source string, body event.Body) event.Event {
	return c.appendAs(uuid.New(), source, body)
}

// appendAs appends an event that has its id already.
func (c *conversation) appendAs(id, source string, body event.Body) event.Event {
	parent := c.leaf
	if c.server.version < 1031 {
		parent = ""
	}
	e := event.New(id, stamp(), source, parent, body)
	if c.life == nil {
		return e
	}
	if _, update := body.(*event.StateUpdate); !update {
		c.leaf = e.ID
	}
	c.places[e.ID] = len(c.log)
	c.log = append(c.log, e)
	c.publish(e)
	return e
}

// publish sends an event to all subscribers. The caller holds mu.
func (c *conversation) publish(e event.Event) {
	seq, stored := c.places[e.ID]
	if !stored {
		seq = -1
	}
	for s := range c.subscribers {
		s.publish(e, seq)
	}
}

// update notes a new value of the state. It is called with mu held.
func (c *conversation) update(key string, value any) {
	c.append(event.SourceEnvironment, &event.StateUpdate{Key: key, Value: encode(value)})
}

// become changes the status. It is called with mu held.
func (c *conversation) become(status event.Status) {
	if c.status == status {
		return
	}
	c.status = status
	c.update(event.KeyStatus, status)
}

// snapshot is called with mu held.
func (c *conversation) snapshot() event.Event {
	return event.New(uuid.New(), stamp(), event.SourceEnvironment, "",
		&event.StateUpdate{Key: event.KeyFullState, Value: encode(c.describe())})
}

// describe encodes the conversation as the API shows it. The caller holds mu.
func (c *conversation) describe() map[string]any {
	d := map[string]any{
		"id": c.id, "agent": c.agent, "workspace": map[string]any{"working_dir": c.workspace, "kind": "LocalWorkspace"},
		"execution_status": c.status, "tags": maps.Clone(c.tags),
		"stats":               map[string]any{"usage_to_metrics": maps.Clone(c.stats)},
		"created_at":          "2026-11-21T10:00:00.000000Z",
		"confirmation_policy": c.policy, "security_analyzer": c.analyzer,
	}
	if c.lastUser != "" {
		d["last_user_message_id"] = c.lastUser
	}
	if c.leaf != "" && c.server.version >= 1031 {
		d["leaf_event_id"] = c.leaf
	}
	return d
}

// save writes the state that GET answers. A real server does so between
// steps only. It is called with mu held.
func (c *conversation) save() { c.saved = c.describe() }

// send appends a message of the user, and starts a run if asked to. It reports
// whether there was room for the run.
func (c *conversation) send(ctx context.Context, m event.LLMMessage, start bool) (room bool, err error) {
	if err := c.hold(ctx); err != nil {
		return false, err
	}
	defer c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastUser == "" {
		c.append(event.SourceAgent, c.systemPrompt())
	}
	c.ready = true
	if c.status == event.Finished || c.status == event.Stuck {
		c.become(event.Idle)
	}
	e := c.append(event.SourceUser, &event.Message{LLMMessage: m, ActivatedSkills: []string{}, ExtendedContent: []event.Content{}})
	c.lastUser = e.ID
	c.update("last_user_message_id", e.ID)
	c.save()
	if start && c.run != nil {
		// It may be over but for its last words: then it runs again, as in the real one.
		c.rerun = true
	}
	return !start || c.start(), nil
}

// start starts a run, unless one goes on, and reports whether there was room for
// it. It is called with mu held.
func (c *conversation) start() (room bool) {
	if c.run != nil || c.life == nil {
		return true
	}
	if !c.server.runs.enter() {
		return false
	}
	c.begin()
	return true
}

// begin starts a run that has room. It is called with mu held.
func (c *conversation) begin() {
	ctx, cancel := context.WithCancel(c.life.ctx)
	r := &run{cancel: cancel, done: make(chan struct{})}
	c.run = r
	c.life.wg.Go(func() {
		defer cancel()
		defer close(r.done)
		c.work(ctx, r)
	})
}

// interrupt stops the run at once and waits for its end.
func (c *conversation) interrupt(ctx context.Context) {
	c.mu.Lock()
	r := c.run
	if r == nil {
		c.mu.Unlock()
		c.pause(ctx)
		return
	}
	r.stopped = true
	r.cancel()
	c.mu.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.publish(c.snapshot())
}

// end stops the run and the goal, and lets go of the sockets without a word.
func (c *conversation) end() {
	c.mu.Lock()
	if c.goal != nil {
		c.goal.cancel()
	}
	r := c.run
	if r != nil {
		r.stopped = true
		r.cancel()
	}
	c.mu.Unlock()
	if r != nil {
		<-r.done
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers = map[subscriber]struct{}{}
}

// pause lets the run stop after its step.
func (c *conversation) pause(ctx context.Context) {
	if c.hold(ctx) != nil {
		return
	}
	defer c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status == event.Running || c.status == event.Idle {
		c.become(event.Paused)
		c.append(event.SourceUser, &event.Pause{})
	}
	c.publish(c.snapshot())
}

// decide answers what waits for a confirmation. It reports whether there was room
// for the run.
func (c *conversation) decide(ctx context.Context, accept bool, reason string) (room bool, err error) {
	if err := c.hold(ctx); err != nil {
		return false, err
	}
	defer c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	if accept {
		return c.start(), nil
	}
	if c.status == event.Waiting {
		c.become(event.Idle)
	}
	for _, e := range c.pending {
		a, _ := e.Body.(*event.Action)
		c.append(event.SourceEnvironment, &event.UserReject{
			ToolName: a.ToolName, ToolCallID: a.ToolCallID, RejectionReason: reason, RejectionSource: "user", ActionID: e.ID,
		})
	}
	c.pending = nil
	c.save()
	return true, nil
}

// die ends the conversation's part of the process: its run and its subscribers.
func (c *conversation) die() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.life = nil
	c.run, c.rerun, c.goal = nil, false, nil
	c.subscribers = map[subscriber]struct{}{}
}

// recover takes the conversation over at the start of a server. A run that was under
// way has failed.
func (c *conversation) recover(l *life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.life = l
	c.turn = make(chan struct{}, 1)
	if c.status == event.Running {
		c.become(event.Failed)
		c.failOpenCalls("A restart occurred while this tool was in progress.")
	}
	c.reconcile()
	c.save()
}

// failOpenCalls answers the calls that have no result. It is called with mu held.
func (c *conversation) failOpenCalls(why string) {
	open := map[string]*event.Action{}
	var order []string
	for _, e := range c.log {
		switch b := e.Body.(type) {
		case *event.Action:
			open[b.ToolCallID] = b
			order = append(order, b.ToolCallID)
		case *event.Observation:
			delete(open, b.ToolCallID)
		case *event.AgentError:
			delete(open, b.ToolCallID)
		case *event.UserReject:
			delete(open, b.ToolCallID)
		}
	}
	for _, id := range order {
		if a, ok := open[id]; ok {
			c.append(event.SourceAgent, &event.AgentError{
				ToolName: a.ToolName, ToolCallID: id, Error: why, Classification: c.classify("agent_action", true, "retry"),
			})
		}
	}
}

func (c *conversation) classify(kind string, retryable bool, action string) *event.Classification {
	if c.server.version < 1040 {
		return nil
	}
	return &event.Classification{Kind: kind, Retryable: retryable, UserAction: action}
}

// stamp is the server's local time, as it stamps events.
func stamp() string { return time.Now().Format("2006-01-02T15:04:05.000000") }

// encode is the JSON of what this package made, which always has one.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
